"""Standard errors against closed forms and simulation, and bounds on the optimisation error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.inference import infer
from refusal import refused

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
    assert np.isfinite(found.standard_errors).all() or np.isnan(found.dispersion)


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
