"""Newton's step along its own line: that of the textbook, and nothing happens where it fails."""

import math

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import given as drawn
from hypothesis import strategies as st

import plane_problems as given
from bocce.plane import Plane
from bocce.plane import newton_step as full
from bocce.plane.newton_step import LineSearch

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


def newtons_step(p, w):
    """The readable twin: every point from w alone, no scores kept. None where it fails."""
    d = -np.linalg.solve(hessian(p, w), given.gradient(p, w))
    first = given.gradient(p, w) @ d
    t, low, high = 1.0, (0.0, first), None
    for _ in range(full.TRIES):
        slope = given.gradient(p, w + t * d) @ d
        if abs(slope) <= -full.NEAR * first and given.value(p, w + t * d) < given.value(p, w):
            return w + t * d
        if slope > 0.0:
            high = (t, slope)
        else:
            low = (t, slope)
        if high is not None:
            t = low[0] + (high[0] - low[0]) * low[1] / (low[1] - high[1])
        else:
            t = min(t - slope / (d @ hessian(p, w + t * d) @ d), full.LONGER * t)
    return None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_each_step_is_the_textbooks(loss, noise, weighted):
    p = small_problem(loss, noise=noise, weighted=weighted)
    run, compared = Plane(p, np.zeros(4)), 0
    first = run.norm
    while run.norm > 1e-6 * first:  # where f still falls by more than rounding
        there = newtons_step(p, run.w.copy())
        run.step()
        if there is not None:
            np.testing.assert_allclose(run.w, there, rtol=1e-8, atol=1e-10)
            compared += 1
    assert compared >= 3
    assert run.directions.n_stored == 0 or compared < run.k


def test_one_product_and_one_sweep_where_full_length_will_do():
    p = small_problem(given.Logistic(), ridge=1.0)
    run = Plane(p, np.zeros(4))
    products, sweeps = run.products, run.evaluations
    run.step()
    assert (run.products, run.evaluations) == (products + 2, sweeps + 1)


@pytest.mark.parametrize("loss", [*LOSSES, given.Huber(0.1)], ids=lambda loss: type(loss).__name__)
def test_where_it_fails_the_plane_goes_on_as_if_it_had_not_been_tried(loss, monkeypatch):
    p = small_problem(loss)
    tried, never = Plane(p, np.zeros(4)), Plane(p, np.zeros(4))
    monkeypatch.setattr(full, "NEAR", -1.0)  # which no slope meets
    for _ in range(5):
        one = tried.step()
        with monkeypatch.context() as patch:
            patch.setattr(Plane, "_newton_step", lambda plane: None)
            other = never.step()
        assert (tried.w == never.w).all()
        assert (one.value, one.predicted) == (other.value, other.predicted)
    assert tried.evaluations > never.evaluations


def test_a_trial_that_overflows_is_left_to_the_plane(monkeypatch):
    came = []

    newton_step = Plane._newton_step

    def watched(run):
        came.append(newton_step(run))
        return came[-1]

    monkeypatch.setattr(Plane, "_newton_step", watched)
    X = np.array([[800.0], [1.0], [-1.0]])
    p = given.problem(X, [1.0, 5.0, 0.0], given.Poisson(), 1e-9)
    run = Plane(p, np.array([-1.0]))
    before = run.value
    for _ in range(8):
        step = run.step()
        assert step.value <= before + run.slack
        before = step.value
    assert came[0] is None
    assert np.isfinite(run.w).all()


def test_separable_classes_run_away_along_newtons_line_too():
    p = small_problem(given.Logistic(), ridge=0.0, noise=0.0)
    run = Plane(p, np.zeros(4))
    verdicts = [run.step().verdict for _ in range(60)]
    assert next(filter(None, verdicts)) == "unbounded"


# -- the line -------------------------------------------------------------------------------------


@drawn(
    zero=st.floats(1e-3, 1e3),
    power=st.floats(0.3, 3.0),
    curved=st.booleans(),
)
def test_the_line_closes_in_on_the_zero_of_any_rising_slope(zero, power, curved):
    def slope(t):
        x = t / zero - 1.0
        return math.copysign(abs(x) ** power, x)

    line, t = LineSearch(slope(0.0)), 1.0
    for _ in range(12):
        here = slope(t)
        assume(abs(here) > 1e-9)
        curvature = power * abs(t / zero - 1.0) ** (power - 1.0) / zero if curved else 0.0
        wider = line.high[0] - line.low[0]
        t = line.next(t, here, curvature)
        assert line.low[0] < zero < line.high[0]
        assert line.low[0] < t < line.high[0]
        assert line.high[0] - line.low[0] < wider or wider == math.inf


def test_on_a_straight_slope_the_next_point_is_the_zero():
    assert LineSearch(-2.0).next(1.0, -1.0, 1.0) == 2.0  # by Newton's method
    assert LineSearch(-2.0).next(3.0, 1.0, 0.0) == 2.0  # between two points
    assert LineSearch(-2.0).next(1.0, -1.9, 0.1) == full.LONGER  # not as far as that
