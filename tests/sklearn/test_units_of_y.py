"""Huber's and the quantile loss in every unit of y, of estimators and minimize."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss

import bocce
from bocce.losses import Huber, Quantile
from bocce.losses.residuals import NORMAL, Residuals
from bocce.sklearn import HeavyBallRegressor, HeavyBallRegressorCV
from refusal import refused


def rows(seed=0, n=400, noise=1.0, heavy=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    errors = rng.standard_t(2, n) if heavy else rng.standard_normal(n)
    return X, X @ [1.0, -2.0, 0.5] + 3.0 + noise * errors


def robust_scale(model, X, y):
    """1.483 times the median size of the residuals."""
    return 1.482602218505602 * np.median(np.abs(y - model.predict(X)))


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("noise", [1.0, 0.01, 1e-4])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_the_quantile_loss_is_the_pinball_loss_in_every_unit(unit, noise, level):
    X, y = rows(noise=noise, heavy=level == 0.5)
    best = QuantileRegressor(quantile=level, alpha=0.0).fit(X, y)
    least = unit * mean_pinball_loss(y, best.predict(X), alpha=level)
    model = HeavyBallRegressor(loss="quantile", quantile=level).fit(X, unit * y)
    guess = model.predict(X)
    assert mean_pinball_loss(unit * y, guess, alpha=level) <= 1.01 * least
    assert abs(np.mean(unit * y < guess) - level) <= 1 / y.size + 0.01


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    power=st.integers(-6, 6),
    loss=st.sampled_from(["huber", "quantile"]),
)
def test_predictions_have_the_unit_of_y(seed, power, loss):
    X, y = rows(seed, n=60, heavy=True)
    unit = 10.0**power
    model = HeavyBallRegressor(l2=1e-3, loss=loss)
    once = model.fit(X, y).predict(X)
    again = model.fit(X, unit * y).predict(X)
    np.testing.assert_allclose(again / unit, once, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_delta_of_huber_is_a_multiple_of_the_scale_of_its_own_residuals(intercept):
    X, y = rows(heavy=True)
    y = y if intercept else y - 3.0
    model = HeavyBallRegressor(l2=0.0, loss="huber", fit_intercept=intercept).fit(X, y)
    assert model.delta_ == pytest.approx(1.345 * robust_scale(model, X, y), rel=0.02)
    given_ = HeavyBallRegressor(l2=0.0, loss="huber", delta=model.delta_, fit_intercept=intercept)
    np.testing.assert_allclose(model.coef_, given_.fit(X, y).coef_, rtol=1e-6)


def test_a_number_that_is_given_is_kept():
    X, y = rows()
    assert HeavyBallRegressor(loss="huber", delta=0.3).fit(X, y).delta_ == 0.3
    assert HeavyBallRegressor(loss="quantile", smoothing=0.3).fit(X, y).smoothing_ == 0.3
    assert bocce.losses.loss_of("test", "huber") == Huber(1.0)
    assert bocce.losses.loss_of("test", "quantile") == Quantile(0.5, 0.1)


@pytest.mark.parametrize("loss", ["huber", "quantile"])
def test_outputs_have_their_own_scales(loss):
    X, y = rows(heavy=True)
    both = HeavyBallRegressor(l2=0.0, loss=loss).fit(X, np.column_stack([y, 1e4 * y]))
    one = HeavyBallRegressor(l2=0.0, loss=loss).fit(X, y)
    np.testing.assert_allclose(both.coef_, [one.coef_, 1e4 * one.coef_], rtol=1e-5)
    found = both.delta_ if loss == "huber" else both.smoothing_
    assert found[1] == pytest.approx(1e4 * found[0], rel=1e-5)


@pytest.mark.parametrize("loss", ["huber", "quantile"])
def test_weights_are_repetitions_and_offsets_are_subtracted(loss):
    X, y = rows(n=80, heavy=True)
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, y.size)
    model = HeavyBallRegressor(l2=1e-3, loss=loss)
    weighted = model.fit(X, y, sample_weight=counts).coef_
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).coef_
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)
    offset = rng.standard_normal(y.size)
    moved = model.fit(X, y + offset, offset=offset).coef_
    np.testing.assert_allclose(moved, model.fit(X, y).coef_, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-5, 1e5])
@pytest.mark.parametrize("loss", ["huber", "quantile"])
def test_cross_validation_chooses_the_same_penalty_in_every_unit(unit, loss):
    X, y = rows(n=60, noise=3.0, heavy=True)
    model = HeavyBallRegressorCV(l2s=[10.0, 1.0, 1e-2], loss=loss, cv=3)
    once = model.fit(X, y)
    l2, scores = once.l2_, once.scores_
    again = model.fit(X, unit * y)
    assert again.l2_ == l2
    np.testing.assert_allclose(again.scores_, scores, rtol=1e-4)


@pytest.mark.parametrize("loss", [Huber(None), Quantile(0.8, None)])
@pytest.mark.parametrize("tol", [1e-8, "auto"])
def test_minimize_finds_the_same_loss_as_an_estimator(loss, tol):
    X, y = rows(heavy=True)
    unit = 1e-3
    r = bocce.minimize(bocce.Problem(X, unit * y, loss, intercept=True), tol=tol)
    keywords = {"loss": "huber"} if loss.name == "huber" else {"loss": "quantile", "quantile": 0.8}
    model = HeavyBallRegressor(l2=0.0, **keywords).fit(X, unit * y)
    found = r.loss.delta if loss.name == "huber" else r.loss.smoothing
    there = model.delta_ if loss.name == "huber" else model.smoothing_
    assert r.status == "converged"
    assert found == pytest.approx(there, rel=0.02)
    assert repr(r.loss) in r.message
    np.testing.assert_allclose(r.w, model.coef_, rtol=1e-2)


def test_what_cannot_adapt_says_so():
    X, y = rows(n=40)
    p = bocce.Problem(X, y, Huber(None))
    rule = r"minimize: huber with a parameter that is None must have a number where T, .*; run .*"
    refused(lambda: bocce.minimize(p, "shb", T=10), ValueError, rule)
    rule = r"path: huber with a parameter that is None must have a number, .*; take the loss .*"
    refused(lambda: bocce.path(p, [1.0]), ValueError, rule)
    rule = r"test: loss=Huber\(delta=None\) has a parameter that is None, must have .*; minimize .*"
    refused(lambda: bocce.losses.loss_of("test", Huber(None)), ValueError, rule)


def test_targets_that_are_predicted_exactly_have_any_scale():
    X, y = rows(noise=0.0)
    for loss, level in (("huber", 0.5), ("quantile", 0.5), ("quantile", 0.9)):
        for target in (y, 0.0 * y, 0.0 * y + 5.0):
            model = HeavyBallRegressor(l2=0.0, loss=loss, quantile=level).fit(X, target)
            np.testing.assert_allclose(model.predict(X), target, atol=1e-3)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-10, 10), st.integers(1, 3)), min_size=1, max_size=20))
def test_weighted_scales_are_those_of_repeated_rows(pairs):
    values = np.array([value for value, _ in pairs])
    counts = np.array([count for _, count in pairs])
    weighted = Residuals(values, counts.astype(float))
    repeated = Residuals(np.repeat(values, counts))
    assert weighted.scale == repeated.scale
    sizes = np.sort(np.abs(repeated.values))
    middle, upper = (sizes[int(np.ceil(q * sizes.size)) - 1] for q in (0.5, 0.75))
    assert repeated.scale == max(NORMAL * middle, 1e-3 * upper)
