"""Standard errors against closed forms and simulation, and bounds on the optimisation error."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.inference import infer
from bocce.run.coefficients import coefficients
from pairwise import pairwise
from refusal import refused
from tables_on_disk import parts_on_disk

LOSSES = ["squared", "logistic", "poisson", "gamma", "quantile", "huber", "squared_hinge"]


def data(loss, n=200, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 100.0, 0.01][:d] + [0.0, 1e4, 5.0][:d]
    eta = (X - X.mean(axis=0)) / X.std(axis=0) @ np.array([0.5, -0.3, 0.2])[:d]
    y = {
        "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
        "gamma": lambda: rng.gamma(3.0, np.exp(eta) / 3.0),
        "softmax": lambda: np.argmax(np.outer(eta, [1, 0, -1]) + rng.gumbel(size=(n, 3)), axis=1),
    }.get(loss, lambda: eta + 0.5 * rng.standard_normal(n))()
    return X, y > 0 if loss in ("logistic", "squared_hinge") else y


def fit(loss, l2=0.01, tol=1e-11, **how):
    X, y = data(loss, **how)
    p = bocce.Problem(X, y, loss, l2, intercept=True)
    r = bocce.minimize(p, tol=tol)
    return p, p.join_intercept(r.w, r.intercept)


def test_least_squares_is_the_textbook():
    X, y = data("squared")
    p = bocce.LeastSquares(X, y, intercept=True)
    found = infer(p, p.minimiser())
    A = np.column_stack([X - X.mean(axis=0), np.ones(len(y))])
    residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    sigma2 = residual @ residual / (len(y) - 4)
    expected = np.sqrt(sigma2 * np.diag(np.linalg.inv(A.T @ A)))
    np.testing.assert_allclose(found.standard_errors[:3], expected[:3], rtol=1e-9)
    assert found.dispersion == pytest.approx(sigma2, rel=1e-9)


@pytest.mark.parametrize("loss", [*LOSSES, "softmax"])
def test_the_sandwich_is_the_influence_of_each_row(loss):
    """K^-1 S K^-1 by definition, from gradients and finite differences of them."""
    X, y = data(loss)
    p = bocce.Problem((X - X.mean(axis=0)) / X.std(axis=0), y, loss, 0.01, intercept=True)
    r = bocce.minimize(p, tol=1e-11)
    w = p.join_intercept(r.w, r.intercept)
    n, size = p.n, w.size
    rows = np.stack([p.gradient(w, [i]).reshape(-1) for i in range(n)])
    pull = (p.ridges * w.T).T.reshape(-1)
    scores = rows - pull
    units = infer(p, w, "sandwich").standard_errors.reshape(-1)
    K = np.empty((size, size))
    for j in range(size):
        step = np.zeros(size)
        step[j] = 1e-5 * units[j]
        ahead, back = (p.gradient(w + s * step.reshape(w.shape)) for s in (1.0, -1.0))
        K[:, j] = (ahead - back).reshape(-1) / (2.0 * step[j])
    scale = np.outer(units, units)
    inverse = np.linalg.pinv(K * scale, rcond=1e-7) * scale
    expected = inverse @ (scores.T @ scores / n**2) @ inverse
    if loss == "softmax":  # classes relative to their mean
        apart = np.kron(np.eye(size // 3), np.eye(3) - 1.0 / 3.0)
        expected = apart @ expected @ apart
    shown = np.sqrt(np.diag(expected)) / units
    if loss == "huber":  # the Hessian jumps where a row crosses a kink
        assert np.abs(shown - 1.0).max() < 0.2
    else:
        np.testing.assert_allclose(shown, 1.0, rtol=2e-2 if loss == "squared_hinge" else 1e-3)


@pytest.mark.parametrize("kind", ["model", "sandwich"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "softmax"])
def test_a_weight_is_a_row_repeated(loss, kind):
    X, y = data(loss, n=60)
    k = np.arange(60) % 3 + 1
    weighted = bocce.Problem(X, y, loss, 0.01, intercept=True, sample_weight=k)
    repeated = bocce.Problem(np.repeat(X, k, axis=0), np.repeat(y, k), loss, 0.01, intercept=True)
    r = bocce.minimize(weighted, tol=1e-11)
    w = weighted.join_intercept(r.w, r.intercept)
    a = infer(weighted, w, kind, count=k.sum())
    b = infer(repeated, w, kind)
    np.testing.assert_allclose(a.covariance, b.covariance, rtol=1e-6, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    loss=st.sampled_from([*LOSSES, "softmax"]),
    seed=st.integers(0, 100),
    distance=st.floats(1e-9, 0.3),
    l2=st.sampled_from([1e-4, 1e-2, 1.0]),
)
def test_the_minimiser_is_within_the_bound(loss, seed, distance, l2):
    """From a point beside it, in a random direction of random length."""
    p, best = fit(loss, l2=l2, tol=1e-13, n=80, seed=seed)
    errors = infer(p, best, "sandwich").standard_errors
    rng = np.random.default_rng(seed)
    off = distance * errors * rng.standard_normal(best.shape)
    if loss == "softmax":
        off[-1] -= off[-1].mean()  # f does not depend on the sum of intercepts
    found = infer(p, best + off, "sandwich")
    slack = 1e-6 * errors
    assert (np.abs(off) <= found.error * (1.0 + 1e-6) + slack).all()


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_near_the_minimiser_the_bound_is_finite_and_small(loss):
    p, w = fit(loss, tol=1e-12)
    found = infer(p, w)
    assert (found.error < 1e-4 * found.standard_errors).all()


def test_without_enough_rows_there_are_no_intervals():
    X, y = data("squared", n=3, d=3)
    p = bocce.LeastSquares(np.hstack([X, X]), y, l2=0.1, intercept=True)
    found = infer(p, p.minimiser())
    assert np.isnan(found.spread[:6]).all()
    assert np.isnan(found.standard_errors[:6]).all()
    assert np.isfinite(found.covariance).all() or np.isnan(found.dispersion)


def test_what_cannot_be_had_is_refused():
    p, w = fit("squared_hinge")
    refused(
        lambda: infer(p, w),
        ValueError,
        r"infer: kind='model' needs a loss with a probability model, squared_hinge has none; use "
        r"kind='sandwich'\.",
    )
    wide = bocce.LeastSquares(np.ones((2, 4000)), np.ones(2), l2=1.0)
    refused(
        lambda: infer(wide, np.zeros(4000)),
        ValueError,
        r"infer: the fit has 4000 variables, must have at most 3000 for standard errors.*",
    )


@pytest.mark.parametrize("kind", ["model", "sandwich"])
@pytest.mark.parametrize("loss", [*LOSSES, "softmax"])
def test_data_in_parts_have_the_same_errors(loss, kind, tmp_path):
    """With columns far from 0 and a penalty in their units."""
    X, y = data(loss)
    file = parts_on_disk(tmp_path / "rows.arrow", X, y.astype(float), 37)
    how = {"l2": 0.01, "standardize": True, "intercept": True}
    here, there = bocce.Problem(X, y, loss, **how), bocce.Problem(file, None, loss, **how)
    fit = bocce.minimize(here, tol=1e-6)
    w = here.join_intercept(fit.w, fit.intercept)
    w = w + 1e-3 * infer(here, w, "sandwich").standard_errors  # a gradient that is no rounding
    kind = "sandwich" if loss == "squared_hinge" else kind
    one, other = infer(here, w, kind), infer(there, w, kind)
    for name in ("standard_errors", "spread", "error", "dispersion"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-6)


def test_softmax_on_many_columns_is_the_sum_over_rows():
    """Off the diagonal the weights of a Gram matrix are negative."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40))
    y = np.argmax(X[:, :3] + rng.gumbel(size=(300, 3)), axis=1)
    p = bocce.Problem(X, y, "softmax", 0.1)
    w = bocce.minimize(p, tol=1e-8).w
    z = X @ w
    shares = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    H = sum(np.kron(np.outer(x, x), np.diag(s) - np.outer(s, s)) for x, s in zip(X, shares))
    K = np.linalg.inv(H + 300 * 0.1 * np.eye(120))
    apart = np.kron(np.eye(40), np.eye(3) - 1.0 / 3.0)
    expected = np.sqrt(np.diag(apart @ K @ H @ K @ apart)).reshape(40, 3)
    np.testing.assert_allclose(infer(p, w).standard_errors, expected, rtol=1e-9)


def test_nothing_is_proved_where_no_row_holds_a_coefficient():
    """Huber's loss without curvature along a column: only rows beyond the kink have entries."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(200), np.r_[[1.0, 2.0, 1.0], np.zeros(197)]])
    y = X[:, 0] + 0.1 * rng.standard_normal(200) + np.r_[np.full(3, 50.0), np.zeros(197)]
    p = bocce.Problem(X, y, "huber", intercept=True)
    fit = bocce.minimize(bocce.Problem(X[:, :1], y, "huber", intercept=True), tol=1e-12)
    found = infer(p, [fit.w[0], 0.0, fit.intercept], "sandwich")
    assert np.isinf(found.error).all()


# -- what the data do not determine ----------------------------------------------------------------


def degenerate(kind, seed):
    """Six columns, which of them depend on one another, and a word that the summary says."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 6)) + 0.5
    if kind == "copy":
        X[:, 4] = -3.0 * X[:, 1]
        return X, [1, 4], "is a copy of x1, times"
    if kind == "constant":
        X[:, 2] = 1.7
        return X, [2, 6], "x2 is constant"
    if kind == "zero":
        X[:, 3] = 0.0
        return X, [3], "x3 is zero in every row"
    if kind == "combination":
        X[:, 5] = X[:, 0] - 2.0 * X[:, 3]
        return X, [0, 3, 5], "x5 is a combination of x0 and x3"
    if kind == "groups":
        X[:, 1:4] = np.arange(150)[:, None] % 3 == np.arange(3)
        return X, [1, 2, 3, 6], "x3 is a combination of x1, x2 and intercept"
    return X, [], ""


@settings(max_examples=60, deadline=None)
@given(
    loss=st.sampled_from([*LOSSES, "softmax"]),
    kind=st.sampled_from(["copy", "constant", "zero", "combination", "groups", "none"]),
    units=st.lists(st.integers(-8, 8), min_size=6, max_size=6),
    l2=st.sampled_from([0.0, 0.0, 1e-3]),
    seed=st.integers(0, 1000),
)
def test_rank_does_not_depend_on_units(loss, kind, units, l2, seed):
    """What the data do not determine has no number in any column of the summary, and a name."""
    X, dependent, said = degenerate(kind, seed)
    rng = np.random.default_rng(seed)
    eta = 0.3 * (X[:, 0] + X[:, 5]) - 0.3
    y = {
        "poisson": lambda: rng.poisson(np.exp(eta)),
        "gamma": lambda: rng.gamma(3.0, np.exp(eta) / 3.0),
        "softmax": lambda: np.argmax(np.outer(eta, [1, 0, -1]) + rng.gumbel(size=(150, 3)), axis=1),
    }.get(loss, lambda: eta + rng.logistic(size=150))()
    if loss in ("logistic", "squared_hinge"):
        y = y > 0
    X = X * 10.0 ** np.array(units)
    p = bocce.Problem(X, y, loss, l2, intercept=True)
    r = bocce.minimize(p, tol=1e-5)
    table = coefficients(p, r, kind="sandwich" if loss == "squared_hinge" else "model")
    assert "std_error" in table.columns, table.notes
    missing = np.isin(np.arange(len(table.names)) % 7, dependent)
    for name in table.columns.keys() - {"coef"}:
        np.testing.assert_array_equal(np.isnan(table[name]), missing, err_msg=name)
    assert said in str(table)
    assert ("the data alone do not determine" in str(table)) == (kind != "none")


@pairwise(
    loss=["squared", "logistic", "poisson", "huber"],
    power=[-300, -200, -160, -30, -24, 100, 155, 160, 300],
    sparse=[False, True],
)
def test_columns_of_any_size_have_standard_errors(loss, power, sparse):
    """Beside a column of size 1: w X is the same, whatever the unit."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((200, 2))
    eta = Z @ [0.5, -0.4]
    y = {"poisson": rng.poisson(np.exp(eta)), "logistic": eta + rng.logistic(size=200) > 0}
    y = y.get(loss, eta + rng.standard_normal(200))
    size = 10.0**power
    X = Z * [size, 1.0]
    usual = bocce.Problem(Z, y, loss, intercept=True)
    p = bocce.Problem(sp.csr_array(X) if sparse else X, y, loss, intercept=True)
    w = bocce.minimize(usual, tol=1e-10)
    r = bocce.minimize(p, tol="auto")
    assert "(proved)" in r.message
    assert r.w[0] * size == pytest.approx(w.w[0], rel=0.05)
    units = np.array([size, 1.0, 1.0])
    errors = infer(p, p.join_intercept(r.w, r.intercept)).standard_errors * units
    expected = infer(usual, usual.join_intercept(w.w, w.intercept)).standard_errors
    np.testing.assert_allclose(errors, expected, rtol=0.05)


WEIGHTS = {"none": lambda n: None, "counts": lambda n: np.arange(n) % 4 + 1.0}
WEIGHTS["wild"] = lambda n: np.geomspace(1e-3, 1e3, n)


@settings(max_examples=60, deadline=None)
@given(
    loss=st.sampled_from([*LOSSES, "softmax"]),
    weights=st.sampled_from(sorted(WEIGHTS)),
    intercept=st.booleans(),
    standardize=st.booleans(),
    sizes=st.lists(st.integers(-5, 5), min_size=3, max_size=3),
    l2=st.sampled_from([1e-6, 1e-3, 1.0]),
    seed=st.integers(0, 50),
    offset=st.booleans(),
)
def test_tol_auto_is_kept(loss, weights, intercept, standardize, sizes, l2, seed, offset):
    """Where a run says that every coefficient is certain, a far more exact run agrees."""
    X, y = data(loss, n=80, seed=seed)
    X = (X - [0.0, 1e4, 5.0]) / [1.0, 100.0, 0.01] * 10.0 ** np.array(sizes)
    how = {"intercept": intercept, "standardize": standardize}
    if offset and loss != "softmax":
        how["offset"] = 0.3 * np.sin(np.arange(80.0))
    p = bocce.Problem(X, y, loss, l2, sample_weight=WEIGHTS[weights](80), **how)
    fit = bocce.minimize(p, tol="auto")
    if "(proved)" not in fit.message:
        return
    w = p.join_intercept(fit.w, fit.intercept)
    kind = "sandwich" if loss == "squared_hinge" else "model"
    found = infer(p, w, kind)
    exact = bocce.minimize(p, tol=1e-14, w0=w)
    off = w - p.join_intercept(exact.w, exact.intercept)
    if loss == "softmax":  # only differences of classes count
        off -= off.mean(axis=1, keepdims=True)
    assert (np.abs(off) <= 0.01 * found.standard_errors + 1e-9 * np.abs(w)).all()


@pytest.mark.slow
@pytest.mark.parametrize("l2", [0.0, 0.02])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "gamma"])
def test_intervals_cover_the_truth_95_times_in_100(loss, l2):
    """4,000 draws: 95 % +- 1 % (three standard errors), with a penalty as without."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 2))
    truth, count, draws = np.array([0.5, -0.3]), np.zeros(2), 4000
    eta = X @ truth + 0.2
    for _ in range(draws):
        y = {
            "squared": lambda: eta + rng.standard_normal(400),
            "logistic": lambda: eta + rng.logistic(size=400) > 0,
            "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
            "gamma": lambda: rng.gamma(3.0, np.exp(eta) / 3.0),
        }[loss]()
        p = bocce.Problem(X, y, loss, l2, intercept=True)
        r = bocce.minimize(p, tol=1e-6)
        found = infer(p, p.join_intercept(r.w, r.intercept))
        count += np.abs(found.centre[:2] - truth) <= 1.959964 * found.spread[:2]
    assert np.abs(count / draws - 0.95).max() <= 0.0104
