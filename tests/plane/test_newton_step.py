"""Where each step has its own Hessian, the plane is Newton's line."""

import numpy as np
import pytest

import plane_problems as given
from bocce.plane import PlaneRun
from bocce.plane.plane import NEWTON, SLOW

CLASSES = (given.Logistic(), given.SquaredHinge())
LOSSES = (*CLASSES, given.Poisson())


def small_problem(loss, seed=0, ridge=1e-3, weighted=False, noise=1.0):
    """So few rows and columns that the Hessian is taken at every step."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 4))
    y = X @ rng.standard_normal(4) + noise * rng.standard_normal(120)
    if loss in CLASSES:
        y = np.where(y > 0.0, 1.0, -1.0)
    elif loss == given.Poisson():
        y = np.round(np.exp(np.clip(y, -3.0, 2.0)))
    weight = rng.uniform(0.5, 2.0, 120) if weighted else None
    return given.problem(X, y, loss, ridge, weight)


def hessian(p, w):
    bends = p.loss.bend(p.rows.X @ w, p.y)
    bends = bends if p.weight is None else bends * p.weight
    return p.rows.X.T @ (bends[:, None] * p.rows.X) / p.n + p.ridge * np.eye(w.size)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_each_step_is_along_newtons_line_to_where_f_is_nearly_least(loss, noise, weighted):
    p = small_problem(loss, noise=noise, weighted=weighted)
    run, compared = PlaneRun(p, np.zeros(4)), 0
    first = run.norm
    while run.norm > 1e-6 * first:  # where f still falls by more than rounding
        w, slow = run.w.copy(), run.gradient_ratio > SLOW
        d = -np.linalg.solve(hessian(p, w), given.gradient(p, w))
        slope, value = given.gradient(p, w) @ d, run.value
        run.step()
        if not slow:
            t = (run.w - w) @ d / (d @ d)
            np.testing.assert_allclose(run.w - w, t * d, rtol=1e-8, atol=1e-8 * t * abs(d).max())
            assert abs(given.gradient(p, run.w) @ d) <= -1.001 * NEWTON * slope
            assert run.value < value
            compared += 1
    assert compared >= 3


def test_one_product_and_one_sweep_where_full_length_will_do():
    p = small_problem(given.Logistic(), ridge=1.0)
    run = PlaneRun(p, np.zeros(4))
    products, sweeps = run.products, run.evaluations
    run.step()
    assert (run.products, run.evaluations) == (products + 2, sweeps + 1)


def test_a_trial_that_overflows_is_cut():
    X = np.array([[800.0], [1.0], [-1.0]])
    p = given.problem(X, [1.0, 5.0, 0.0], given.Poisson(), 1e-9)
    run = PlaneRun(p, np.array([-1.0]))
    before, tried = run.value, run.evaluations
    for _ in range(8):
        run.step()
        assert run.value <= before + run.slack
        before = run.value
    assert run.evaluations > tried + 8
    assert np.isfinite(run.w).all()


def test_separable_classes_run_away_along_newtons_line_too():
    p = small_problem(given.Logistic(), ridge=0.0, noise=0.0)
    run = PlaneRun(p, np.zeros(4))
    verdicts = [run.step() for _ in range(60)]
    assert next(filter(None, verdicts)) == "unbounded"
