"""The Poisson loss, against its definition and scikit-learn's PoissonRegressor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import PoissonRegressor

import bocce
from bocce.losses import Poisson
from bocce.sklearn import HeavyBallRegressor


def counts(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(0.2, 2.0, d)
    return X, rng.poisson(np.exp(0.3 * X @ rng.standard_normal(d) + 1.0)).astype(float)


@given(st.floats(-5.0, 5.0), st.floats(0.0, 50.0))
def test_slope_bend_and_floor(z, y):
    loss, h = Poisson(), 1e-5
    slope = (loss.value(z + h, y) - loss.value(z - h, y)) / (2 * h)
    assert loss.slope(z, y) == pytest.approx(slope, abs=1e-4)
    bend = (loss.slope(z + h, y) - loss.slope(z - h, y)) / (2 * h)
    assert loss.bend(z, y) == pytest.approx(bend, rel=1e-5, abs=1e-5)
    assert loss.value(z, y) >= loss.infimum(y) - 1e-12 * (1.0 + y)


@given(st.floats(1e-3, 1e3))
def test_the_floor_is_met_at_the_log(y):
    assert Poisson().value(np.log(y), y) == pytest.approx(float(Poisson().infimum(y)), abs=1e-9)
    assert Poisson().best_constant(y) == pytest.approx(np.log(y), rel=1e-15, abs=1e-15)


def test_no_count_costs_nothing_in_the_limit():
    assert Poisson().infimum(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]


def test_negative_targets_are_refused():
    with pytest.raises(ValueError, match=r"y has -1, must be >= 0 for the poisson loss"):
        bocce.Problem(np.eye(2), [1.0, -1.0], "poisson")
    with pytest.raises(ValueError, match=r"HeavyBallRegressor: y has -1, must be >= 0"):
        HeavyBallRegressor(loss="poisson").fit(np.eye(2), [1.0, -1.0])


def test_steps_of_a_given_length_are_refused_with_the_remedy():
    p = bocce.Problem(*counts(), "poisson", 0.01)
    with pytest.raises(ValueError, match=r'no bound on its curvature.*use the method "plane"'):
        bocce.minimize(p, "auto", T=100)
    with pytest.raises(ValueError, match="or a line search"):
        bocce.minimize(p, "auto", batch_size=10)


@pytest.mark.parametrize("method", ["auto", "plane"])
def test_runs_on_all_rows_reach_the_minimiser(method):
    p = bocce.Problem(*counts(), "poisson", 0.01, intercept=True)
    r = bocce.minimize(p, method, tol=1e-10)
    assert r.status == "converged"
    np.testing.assert_allclose(p.join_intercept(r.w, r.intercept), p.minimiser(), atol=1e-8)
    assert (np.diff(r.history["value"]) <= 1e-13).all()


def test_a_line_search_comes_near():
    p = bocce.Problem(*counts(), "poisson", 0.01)
    r = bocce.minimize(p, "sgd-sls-exp", T=2000, batch_size=100, record_every=100)
    assert p.value(r.w) - p.value(p.minimiser()) < 1e-2


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_the_estimator_is_poisson_regressor(alpha, intercept):
    X, y = counts()
    model = HeavyBallRegressor(alpha, loss="poisson", tol=1e-10, fit_intercept=intercept)
    model.fit(X, y)
    exact = PoissonRegressor(
        alpha=alpha, solver="newton-cholesky", tol=1e-12, fit_intercept=intercept
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), rtol=1e-6)


def test_exposures_are_weights_of_rates():
    """Counts over exposures e: rates y/e with weights e have the minimiser of an offset log e."""
    X, _ = counts()
    rng = np.random.default_rng(1)
    exposure = rng.uniform(0.2, 5.0, X.shape[0])
    y = rng.poisson(exposure * np.exp(0.3 * X[:, 0])) / exposure
    model = HeavyBallRegressor(1e-3, loss="poisson", tol=1e-10).fit(X, y, sample_weight=exposure)
    exact = PoissonRegressor(alpha=1e-3, solver="newton-cholesky", tol=1e-12)
    exact.fit(X, y, sample_weight=exposure)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-6)
    mean = exposure * model.predict(X)  # of the counts
    slope = X.T @ (mean - exposure * y) / exposure.sum() + 1e-3 * model.coef_
    assert np.abs(slope).max() < 1e-8
