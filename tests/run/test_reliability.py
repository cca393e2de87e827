"""Nothing wrong in silence: the attacks that once got through, each with its remedy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import bocce
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor


def labelled(n=2000, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n) > 0


@pytest.mark.parametrize("l2", [1e-5, 1e-2])
@pytest.mark.parametrize("b", [1, 8, 32, 256])
@pytest.mark.parametrize("T", [50, 400])
def test_auto_with_T_never_ends_above_the_start_on_logistic_loss(T, b, l2):
    """No lookahead sized for mu = l2: what is not certified there is not done."""
    X, y = labelled()
    p = bocce.Logistic(X, y, l2=l2)
    r = bocce.minimize(p, T=T, batch_size=b, record_every="auto")
    assert p.value(r.w) <= p.value(np.zeros(20))
    assert not r.schedule.theta.any()


@pytest.mark.parametrize("tol", [1e-6, 1e-8, 1e-10])
def test_tolerances_near_rounding_are_reached(tol):
    """A sum over n rows rounds by more than 1e-14 of f: that is no reason to stop."""
    rng = np.random.default_rng(0)
    X, y = 1.0 * (rng.random((20_000, 20)) < 0.01), rng.random(20_000) < 0.5
    r = bocce.minimize(bocce.Logistic(X, y, l2=1e-6), tol=tol)
    assert r.status == "converged"
    assert r.history["gradient_evaluations"][-1] < 60 * 20_000


def test_one_huge_row_does_not_hide_the_others():
    """The first gradient is that row's: small beside it is not small."""
    X, y = labelled(d=40)
    X[7] *= 1e7
    p = bocce.Logistic(X, y, l2=1e-4, intercept=True)
    model = HeavyBallClassifier(l2=1e-4).fit(X, y)
    best = p.value([*bocce.minimize(p, "plane", tol=1e-12).w.tolist(), 0.0])
    ours = p.value(np.append(model.coef_[0], model.intercept_))
    start = p.value(np.zeros(41))
    assert ours - best < 0.05 * (start - best)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_float32_rows_are_scaled_without_rounding(loss):
    """Inside, columns are multiplied by powers of two: the rows stay the caller's to the bit."""
    rng = np.random.default_rng(3)
    X = sp.random_array((300, 8), density=0.3, rng=rng, data_sampler=rng.standard_normal)
    X = sp.csr_array(X * 10.0 ** np.linspace(-4, 4, 8)).astype(np.float32)
    p = bocce.Problem(X, rng.standard_normal(300), loss, l2=1e-8)
    r = bocce.minimize(p, tol=1e-9)
    first = np.linalg.norm(p.gradient(np.zeros(8)))
    assert r.status == "converged"
    assert np.linalg.norm(p.gradient(r.w)) <= 1.01e-9 * first


def test_a_constant_column_beside_an_intercept_stays_small():
    X, y = labelled(n=260, d=6)
    X[:, 0] = 0.1  # its mean, as computed, is not 0.1 to the bit
    p = bocce.LeastSquares(X, 1.0 * y, intercept=True)
    r = bocce.minimize(p, tol=1e-8)
    assert abs(r.w[0]) < 10.0
    first = np.linalg.norm(p.gradient(np.zeros(7)))
    assert np.linalg.norm(p.gradient(np.append(r.w, r.intercept))) <= 1.01e-8 * first


def test_a_float32_fit_is_judged_after_rounding():
    X, y = labelled()
    with pytest.warns(ConvergenceWarning, match="not tol=1e-12"):
        model = HeavyBallRegressor(tol=1e-12).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == np.float32
    assert 1e-9 < model.optimality_ < 1e-5


@pytest.mark.parametrize("name", ["X", "y"])
def test_masked_entries_are_refused(name):
    X, y = labelled()
    data = {"X": X, "y": y.astype(float)}
    data[name] = np.ma.masked_greater(data[name], 0.5)
    with pytest.raises(ValueError, match=f"{name} is a masked array with masked entries"):
        bocce.LeastSquares(**data)
    whole = np.ma.array(X)
    assert bocce.LeastSquares(whole, y.astype(float)).n == 2000


@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_estimators_refuse_masked_entries(method, name):
    X, y = labelled()
    data = {"X": X, "y": y.astype(float), "sample_weight": np.ones(len(y))}
    data[name] = np.ma.array(data[name], mask=data[name] > 0.5)
    call = getattr(HeavyBallRegressor(), method)
    with pytest.raises(ValueError, match=rf"HeavyBallRegressor: {name} is a masked array"):
        call(**data)
    with pytest.raises(ValueError, match=r"X is a masked array"):
        HeavyBallRegressor().fit(X, y).predict(np.ma.array(X, mask=X > 0.5))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", ["squared_hinge", "huber"])
def test_a_loss_that_is_least_at_finite_scores_has_a_minimiser(loss, seed):
    """Separable classes, no penalty: the squared hinge is 0 from a margin of 1 on."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3)) * 10.0 ** rng.uniform(-6, 6, 3)
    sign = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    X[:, 0] += 1e-3 * sign * np.abs(X[:, 0]).max()
    r = bocce.minimize(bocce.Problem(X, sign, loss), tol=1e-10)
    assert "no finite minimiser" not in r.message
    if loss == "squared_hinge":
        assert r.history["value"][-1] < 1e-8


def test_huge_weights_are_weights():
    X, y = labelled()
    plain = bocce.minimize(bocce.Logistic(X, y, l2=0.1), tol=1e-9).w
    p = bocce.Logistic(X, y, l2=0.1, sample_weight=np.full(2000, 1e308))
    np.testing.assert_allclose(bocce.minimize(p, tol=1e-9).w, plain, rtol=1e-9)


@pytest.mark.parametrize("method", ["auto", "plane", "shb", "auto-shb", "sgd-sls-exp"])
@pytest.mark.parametrize("size", [1e-200, 1e-85, 1e77, 1e160, 1e300])
def test_sizes_that_squares_cannot_hold(method, size):
    """Solved, or refused with the remedy: never a false success, never a raw exception."""
    X, y = labelled(n=100, d=3)
    p = bocce.LeastSquares(size * X, y - 0.5)
    refusal = ""
    try:
        r = bocce.minimize(p, method, T=None if method in ("auto", "plane") else 300, tol=1e-6)
    except ValueError as error:
        refusal = str(error)
    if refusal:
        assert any(word in refusal for word in ("scale", "multiply X", "divide X"))
        return
    assert r.status == "finished" or r.n_iter > 0
    if r.status == "converged":
        exact = np.linalg.lstsq(X, y - 0.5, rcond=None)[0]
        np.testing.assert_allclose(size * r.w, exact, atol=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("size", [1e154, 1e200, 1e300])
def test_sparse_rows_whose_squares_overflow_are_fitted_all_the_same(size, loss, intercept):
    """To the minimum of rows of usual size; with an intercept, beside whose gradient that of the
    columns is all there is, at least below the start."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    z = X[:, 0] + 0.5 * rng.standard_normal(50)
    y = z if loss == "squared" else z > 0.0

    def found(rows):
        p = bocce.Problem(sp.csr_array(rows), y, loss, l2=0.0, intercept=intercept)
        return bocce.minimize(p, tol=1e-6)

    usual, huge = found(X), found(X * size)
    assert np.isfinite(huge.w).all()
    if intercept:
        assert huge.history["value"][-1] < huge.history["value"][0]
        return
    assert huge.status == "converged"
    assert huge.history["value"][-1] == pytest.approx(usual.history["value"][-1], rel=1e-6)


def solved_or_refused(call):
    """What the call gives, or None where it refuses with a remedy; all else is raw."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except ValueError as error:
        said = str(error)
    assert "must" in said
    assert any(word in said for word in ("scale", "multiply X", "divide X", "start nearer"))
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1e-308, 1e-160, 1e139, 1e140, 1e150, 1e200, 1e300])
def test_sizes_in_softmax_plan_path_and_partial_fit(size, sparse):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    z = X[:, 0] + 0.3 * rng.standard_normal(60)
    X = sp.csr_array(size * X) if sparse else size * X
    labels = np.digitize(z, [-0.5, 0.5])
    targets = {"squared": z, "logistic": z > 0.0, "huber": z, "softmax": labels}
    for loss, y in targets.items():
        p = bocce.Problem(X, y, loss, l2=1e-3, intercept=True)
        found = solved_or_refused(lambda p=p: bocce.minimize(p, tol=1e-6))
        assert found is None or np.isfinite(found.w).all()
        solved_or_refused(lambda p=p: str(bocce.plan(p)))
        solved_or_refused(lambda p=p: str(bocce.plan(p, batch_size=5, T=50)))
        solved_or_refused(lambda p=p: bocce.path(p, [1.0, 1e-2]))
    model = HeavyBallRegressor()
    for start in range(0, 60, 20):
        rows = slice(start, start + 20)
        if solved_or_refused(lambda r=rows: model.partial_fit(X[r], z[r])) is not None:
            assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("seed", range(12))
def test_scores_that_have_drifted_are_computed_anew_before_a_tolerance_counts(seed):
    """Huber's loss far from few rows: steps are differences of huge directions, and what they leave
    of the scores is wrong by more than the tolerance, though that is not tight."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((4, 25)), 2e6 * rng.standard_normal(4)
    p = bocce.Problem(X, y, "huber", l2=1e-8, intercept=True)
    r = bocce.minimize(p, tol=1e-5)
    assert r.status == "converged"
    left = np.linalg.norm(p.gradient(np.append(r.w, r.intercept)))
    assert left <= 1.01e-5 * np.linalg.norm(p.gradient(np.zeros(26)))


def test_a_start_that_no_step_improves_is_kept():
    """Rows of 1e-160 and as many of either class: batches alone have a gradient. The guard halves
    steps until kappa is beyond a double, and says so."""
    X = 1e-160 * np.random.default_rng(0).standard_normal((284, 12))
    p = bocce.Logistic(sp.csr_array(X), np.arange(284) % 2 == 0, l2=1.0, intercept=True)
    r = bocce.minimize(p, T=166, batch_size=109, seed=612)
    u = np.append(r.w, r.intercept)
    assert np.isfinite(u).all()
    assert p.value(u) <= p.value(np.zeros(13))


def test_a_start_that_overflows_is_refused():
    X, y = labelled(n=50, d=3)
    p = bocce.LeastSquares(X, 1.0 * y)
    for method in ("plane", "sgd"):
        with pytest.raises(ValueError, match=r"must be finite.* start nearer to"):
            bocce.minimize(p, method, w0=np.full(3, 1e200), tol=1e-3)


READ_ONLY = """
import warnings
import numba, numpy as np, bocce

def njit(*bodies, cache=False, plain=numba.njit, **options):
    if cache:
        raise RuntimeError("cannot cache function: no locator available")  # Numba's words
    return plain(*bodies, **options)

numba.njit = njit
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    p = bocce.LeastSquares(np.eye(3), np.ones(3))
    r = bocce.minimize(p, "sgd", T=30, batch_size=2)
    bocce.minimize(p, "nesterov", T=3, batch_size=3)
print(r.status, sum("cannot be kept on disk" in str(w.message) for w in told))
"""


def test_a_package_that_cannot_be_written_to():
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["finished", "1"], done.stderr


@pytest.mark.parametrize(("loss", "tol"), [("squared", 5e-5), ("logistic", 1e-5), ("huber", 1e-6)])
def test_what_is_returned_decides_whether_a_run_has_converged(loss, tol):
    """Columns whose mean is 5e5 times their spread: the intercept is a sum of huge numbers, whose
    rounding moves all scores. tol refers to the gradient at the best constant prediction."""
    ends = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 5)) + 5e5 * rng.uniform(0.5, 2.0, 5)
        z = (X - X.mean(axis=0)) @ rng.standard_normal(5) + rng.standard_normal(200)
        p = bocce.Problem(X, z > 0.0 if loss == "logistic" else z, loss, l2=1e-3, intercept=True)
        r = bocce.minimize(p, tol=tol)
        first = r.history["grad_norm"][0]
        assert first <= 1.001 * np.linalg.norm(p.gradient(np.zeros(6)))
        ratio = np.linalg.norm(p.gradient(np.append(r.w, r.intercept))) / first
        assert (r.status == "converged") == (ratio <= tol), r.message
        if r.status != "converged":
            missed = f"The gradient norm is {ratio:.3g} times the first, not tol={tol:g}"
            assert missed in r.message
        ends.append(r.status)
    assert "converged" in ends
