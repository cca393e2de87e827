"""Runs that begin far from the minimum, or whose end rounding hides: issue 25, points 14 to 17."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bocce
from bocce.problems import Frame
from bocce.run.constant import constant, value_at_constant
from bocce.run.stop import PATIENCE
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor, HeavyBallRegressorCV


def far_targets(seed=0, level=20.0, n=100):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, level + X @ [1.0, 2.0, 3.0] + 0.1 * rng.standard_normal(n)


# -- 14: where second derivatives vanish ---------------------------------------------------------


@given(st.integers(0, 10**6), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1e-8, 1e-4]))
def test_huber_finds_its_minimum_wherever_the_targets_lie(seed, level, l2):
    X, y = far_targets(seed, level, 40)
    p = bocce.Problem(X, y, "huber", l2=l2, intercept=True)
    r = bocce.minimize(p, "plane", tol=1e-6)
    assert r.status == "converged"
    near = bocce.Problem(X, y - level, "huber", l2=l2, intercept=True)
    best = near.value(near.minimiser())
    assert p.value(np.append(r.w, r.intercept)) == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("level", [0.0, 20.0, -3e4, 1e8])
def test_the_huber_estimator_and_its_path_leave_zero(level):
    X, y = far_targets(level=level)
    model = HeavyBallRegressor(loss="huber").fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0, 3.0], atol=0.05)
    assert model.intercept_ == pytest.approx(level, abs=0.1)
    p = bocce.Problem(X, y, "huber", intercept=True)
    weak, strong = bocce.path(p, [1e-6, 1e-2])
    np.testing.assert_allclose(weak.w, [1.0, 2.0, 3.0], atol=0.05)
    assert np.linalg.norm(strong.w) < np.linalg.norm(weak.w)


def test_cross_validated_huber_returns_what_it_scored():
    X, y = far_targets()
    model = HeavyBallRegressorCV(loss="huber", l2s=[1e-4, 1e-2]).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("start", [-50.0, -700.0, 5.0])
def test_poisson_comes_back_from_a_far_intercept(start):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((100, 3)), rng.poisson(3.0, 100).astype(float)
    p = bocce.Problem(X, y, "poisson", intercept=True)
    r = bocce.minimize(p, "plane", tol=1e-8, w0=np.array([0.0, 0.0, 0.0, start]))
    assert r.status == "converged"
    np.testing.assert_allclose(np.append(r.w, r.intercept), p.minimiser(), atol=1e-4)


@pytest.mark.parametrize("name", ["huber", "squared", "poisson", "squared_hinge", "logistic"])
def test_the_best_constant_has_hardly_any_slope(name):
    rng = np.random.default_rng(2)
    y = rng.poisson(7.0, 50).astype(float)
    if name in ("squared_hinge", "logistic"):
        y = y > 7.0
    p = bocce.Problem(rng.standard_normal((50, 2)), y, name, intercept=True)
    best = constant(p)
    slopes = [abs(p.slopes(np.full(p.n, z)).mean()) for z in (best, 0.0)]
    assert slopes[0] <= 0.011 * slopes[1]
    assert value_at_constant(p, p) <= p.value(np.zeros(3))


# -- 15: the previous penalty's coefficients -----------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("huge", ["constant", "scales"])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_path_moves_on_where_a_column_is_huge(loss, huge, intercept):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 6))
    z = X @ rng.standard_normal(6) + 0.3 * rng.standard_normal(80)
    if huge == "constant":
        X[:, 0] = 1e8
    else:
        X[:, 0] *= 1e12
    p = bocce.Problem(X, z if loss != "logistic" else z > 0.0, loss, intercept=intercept)
    l2s, last = [1.0, 0.1, 0.01, 1e-3], np.zeros(p.width)
    for l2, r in zip(l2s, bocce.path(p, l2s)):
        u = p.join_intercept(r.w, r.intercept)
        q = p.replace(l2=l2)
        cold = bocce.minimize(q, "plane", tol=1e-12, passes=2000)
        best = min(q.value(u), q.value(p.join_intercept(cold.w, cold.intercept)))
        assert r.status == "converged"
        assert q.value(u) - best <= 0.02 * (q.value(last) - best)
        last = u


# -- 16: the gradient at what is returned --------------------------------------------------------


def exact_gradient(X, slopes, w, l2):
    """In extended precision, with an intercept."""
    wide = X.astype(np.longdouble)
    s = slopes(wide @ w[:-1].astype(np.longdouble) + np.longdouble(w[-1]))
    g = np.append(wide.T @ s / len(X) + l2 * w[:-1], s.mean())
    return float(np.sqrt((g * g).sum()))


@pytest.mark.parametrize("classifies", [False, True])
@pytest.mark.parametrize("away", [0.0, 1e3, 1e5, 1e7])
def test_optimality_is_that_of_the_returned_coefficients(classifies, away):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 4)) + away
    z = (X - away) @ [1.0, 2.0, 3.0, 4.0] + rng.standard_normal(200)
    y = np.where(z > 0.0, 1.0, -1.0) if classifies else z
    kind = HeavyBallClassifier if classifies else HeavyBallRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(l2=1e-3).fit(X, y)

    def slopes(z):
        return -y / (1.0 + np.exp(y * z)) if classifies else z - y

    loss = "logistic" if classifies else "squared"
    p = bocce.Problem(X, y, loss, l2=1e-3, intercept=True)
    flat = np.append(np.zeros(4), constant(p))
    first = min(exact_gradient(X, slopes, w, 1e-3) for w in (flat, np.zeros(5)))
    true = exact_gradient(X, slopes, np.append(model.coef_, model.intercept_), 1e-3) / first
    assert model.optimality_ >= 0.2 * true
    assert model.optimality_ <= 5.0 * true + 1e-12


# -- 17: no work for digits that rounding forbids ------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_small_fits_do_not_spend_passes_on_what_rounding_forbids(seed, monkeypatch):
    looks = []
    from bocce.plane.scores import MemoryScores

    tried = MemoryScores.try_step
    watched = lambda self, c: looks.append(1) or tried(self, c)  # noqa: E731
    monkeypatch.setattr(MemoryScores, "try_step", watched)
    rng = np.random.default_rng([77, seed])
    n, d = int(rng.integers(5, 20)), int(rng.integers(10, 70))
    X = rng.standard_normal((n, d))
    y = 1e8 + X @ rng.standard_normal(d) / d + 0.3 * rng.standard_normal(n)
    loss = "huber" if seed % 3 == 2 else "squared"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HeavyBallRegressor(loss=loss, l2=1e-8).fit(X, y)
    assert model.n_iter_ <= 2 * PATIENCE
    assert len(looks) <= 4000


def test_a_run_beyond_the_tolerance_that_was_asked_for_has_patience_and_no_more():
    stop = bocce.run.stop.Stop(1e-13, Frame(np.zeros(1), np.ones(1), 0.0), first=1.0, required=1e-4)
    assert not stop.out_of_patience(1e-3)
    assert [stop.out_of_patience(1e-5) for _ in range(PATIENCE + 1)] == [False] * PATIENCE + [True]


def test_steps_that_halve_the_gradient_end_where_they_do_so_no_more():
    stop = bocce.run.stop.Stop(1e-13, Frame(np.zeros(1), np.ones(1), 0.0), first=1.0, required=1e-4)
    sizes = [1.0, 0.6, 1e-3, 1e-5, 4e-6, 3e-6]
    ends = [stop.out_of_patience(size, halves=True) for size in sizes]
    assert ends == [False] * 5 + [True]
    assert stop.out_of_patience(1e-6, stalled=True)
    assert not stop.out_of_patience(1e-3, stalled=True)


@pytest.mark.parametrize("size", [1e-28, 1e-80, 1e-130])
@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_an_intercept_beside_columns_that_the_penalty_removes(loss, size):
    """What is left is the fit of a constant."""
    rng = np.random.default_rng(0)
    X = size * rng.standard_normal((60, 4))
    y = rng.poisson(8.0, 60).astype(float)
    result = bocce.minimize(bocce.Problem(X, y, loss, 1e-3, intercept=True), tol=1e-8)
    assert result.status == "converged"
    best = bocce.minimize(bocce.Problem(np.zeros((60, 1)), y, loss, 1e-3, intercept=True), tol=1e-8)
    assert result.intercept == pytest.approx(best.intercept, rel=1e-5)
