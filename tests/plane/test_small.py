"""Newton's method for small data: the plane's minimum, and what each step promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import Problem, minimize
from bocce.engines import Goal
from bocce.losses.softmax import Softmax
from bocce.plane.small import NewtonBySums, SmallLimits, SmallNewton

LOSSES = ["squared", "logistic", "softmax", "huber", "poisson", "squared_hinge"]


def problem(loss, n=60, d=4, seed=0, weights=False, intercept=True, l2=0.01):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    z = X @ rng.standard_normal(d) + rng.logistic(size=n)
    targets = {
        "squared": z, "huber": z, "logistic": z > 0, "squared_hinge": z > 0,
        "softmax": np.digitize(z, [-1.0, 0.5, 2.0]),
        "poisson": rng.poisson(np.exp(0.3 * z / max(1.0, np.sqrt(d / 4)))),
    }  # fmt: skip
    c = rng.uniform(0.5, 2.0, n) if weights else None
    return Problem(X, targets[loss], loss, l2, sample_weight=c, intercept=intercept)


def minimum(p, steps=12):
    """Where the steps end."""
    newton = SmallNewton(p)
    at = newton.look(np.zeros(p.shape))
    for _ in range(steps):
        at = newton.step(at) or at
    return at.w


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_minimum_is_that_of_the_plane(loss, weights):
    p = problem(loss, weights=weights)
    assert SmallNewton.suits(p)
    w = minimum(p)
    result = minimize(p, "plane", tol=1e-12, metric="hessian" if w.ndim == 1 else "newton-cg")
    there = p.join_intercept(result.w, result.intercept)
    if loss == "softmax":  # where only differences count, the mean of the intercepts stays zero
        assert abs(w[-1].mean()) < 1e-12
        w, there = (v - v.mean(axis=1, keepdims=True) for v in (w, there))
    np.testing.assert_allclose(w, there, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
@pytest.mark.parametrize("shape", [(40, 90), (90, 700)])  # in float64, and in float32
def test_with_few_rows_steps_are_newton_steps_of_all_columns(loss, weights, shape):
    p = problem(loss, *shape, weights=weights, l2=0.1)
    newton = SmallNewton(p)
    assert newton.row_space is not None
    assert SmallNewton.suits(p)
    at = newton.look(np.full(p.shape, 0.01))
    newton.step(at)
    H = newton.hessian(at) + np.diag(newton.row_space.ridge)  # the intercept has a tiny ridge
    step, solved = np.linalg.solve(H, at.gradient), newton.metric.solve(at.gradient)
    rounding = 3e-3 if newton.row_space.rough else 1e-9
    np.testing.assert_allclose(solved, step, atol=rounding * np.abs(step).max())


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_with_few_rows_the_minimum_is_that_of_the_plane(loss):
    p = problem(loss, 90, 300, l2=0.1)
    assert SmallNewton(p).row_space is not None
    w, result = minimum(p), minimize(p, "plane", tol=1e-12, metric="rowspace")
    there = p.join_intercept(result.w, result.intercept)
    np.testing.assert_allclose(w, there, rtol=1e-6, atol=1e-8)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), loss=st.sampled_from(LOSSES), far=st.floats(0.0, 5.0))
def test_f_never_rises(seed, loss, far):
    p = problem(loss, seed=seed)
    newton = SmallNewton(p)
    at = newton.look(np.full(p.shape, far))
    for _ in range(10):
        there = newton.step(at)
        if there is None:
            break
        assert there.value <= at.value + at.slack
        assert there.value == pytest.approx(p.value(there.w), rel=1e-12)
        np.testing.assert_allclose(there.gradient, p.gradient(there.w), rtol=1e-9, atol=1e-12)
        at = there


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_hessian_is_the_derivative_of_the_gradient(loss, weights):
    p = problem(loss, weights=weights)
    newton = SmallNewton(p)
    w = 0.1 * np.random.default_rng(1).standard_normal(p.shape)
    ridges = np.tile(newton.ridges, newton.outputs)
    H = newton.hessian(newton.look(w)) + np.diag(ridges)
    step = np.random.default_rng(2).standard_normal(p.shape)
    change = (p.gradient(w + 1e-6 * step) - p.gradient(w - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose(H @ step.T.reshape(-1), change.T.reshape(-1), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("weights", [False, True])
def test_sums_over_the_rows_give_the_same_points_as_the_rows(weights):
    p = problem("squared", weights=weights)
    w = np.random.default_rng(1).standard_normal(p.shape)
    by_rows, by_sums = SmallNewton(p).look(w), NewtonBySums(p).look(w)
    assert by_sums.value == pytest.approx(by_rows.value, rel=1e-12)
    assert (np.abs(by_sums.gradient - by_rows.gradient) <= 2.0 * by_sums.error).all()


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_steps_with_a_kept_hessian_converge_linearly(loss):
    """Near w* a step multiplies the error by I - H_0^-1 H*, so the gradient by its largest
    eigenvalue in the end."""
    p = problem(loss, n=400, d=12)
    newton = SmallNewton(p)
    newton.relative_price = 1e9  # a second Hessian never pays
    at = newton.look(np.zeros(p.shape))
    ridges = np.diag(np.tile(newton.ridges, newton.outputs))
    H = [newton.hessian(newton.look(w)) + ridges for w in (at.w, minimum(p))]
    shares = np.linalg.eigvals(np.linalg.pinv(H[0], rcond=1e-9) @ H[1]).real
    rate = np.abs(1.0 - shares[shares > 1e-9]).max()
    for _ in range(24):
        before, at = at, newton.step(at, Goal(remaining=1e-4))
        assert at.value <= before.value + before.slack
    assert newton.steps == newton.taken == 24
    shrank = np.linalg.norm(at.gradient) / np.linalg.norm(before.gradient)
    assert rate < 1.0
    assert shrank == pytest.approx(rate, rel=0.02)


def test_what_is_not_small_or_could_run_away_is_left_to_the_plane():
    assert not SmallNewton.suits(problem("logistic"), SmallLimits(price=1.0))
    assert not SmallNewton.suits(problem("logistic", l2=0.0))
    assert SmallNewton.suits(problem("squared", l2=0.0))
    newton = SmallNewton(problem("logistic"))
    with np.errstate(all="ignore"):
        assert newton.step(newton.look(np.full(5, 1e200))) is None


@pytest.mark.parametrize("classes", [3, 40])
def test_the_largest_score_of_each_row(classes):
    z = np.random.default_rng(0).standard_normal((7, classes))
    p = Softmax().bend(z + 1e4, np.zeros(7, dtype=int))
    np.testing.assert_allclose(p, Softmax().bend(z, np.zeros(7, dtype=int)), rtol=1e-9)
