"""Streams of counts and amounts, and penalties in streams."""

import pickle

import numpy as np
import pytest

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from refusal import refused

SIZES = np.array([1.0, 1e-2, 1e3])


def rows(loss, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * SIZES + [0.0, 1.0, 5.0]
    exposure = rng.uniform(0.5, 3.0, n)
    mean = exposure * np.exp((X - [0.0, 1.0, 5.0]) / SIZES @ [0.5, -0.3, 0.0] + 0.3)
    y = rng.poisson(mean).astype(float) if loss == "poisson" else rng.gamma(2.0, mean / 2.0)
    return X, y, np.log(exposure), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_first_chunk_is_a_fit(loss, standardize, intercept):
    X, y, offset, c = rows(loss, n=300)
    how = {"l2": 1e-3, "loss": loss, "standardize": standardize, "fit_intercept": intercept}
    stream = HeavyBallRegressor(**how, penalty=[1.0, 0.0, 2.0])
    stream.partial_fit(X, y, sample_weight=c, offset=offset)
    whole = HeavyBallRegressor(**how, penalty=[1.0, 0.0, 2.0], tol=1e-12).fit(X, y, c, offset)
    np.testing.assert_allclose(stream.coef_ * SIZES, whole.coef_ * SIZES, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(stream.intercept_, whole.intercept_, rtol=1e-6)
    assert stream.history_["value"][-1] == pytest.approx(whole.history_["value"][-1], rel=1e-9)


@pytest.mark.filterwarnings("ignore:.* holds back the coefficient")
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_stream_is_close_to_the_fit_on_all_rows_seen(loss):
    """Within a fifth of a standard error after 40 chunks of 100 rows."""
    X, y, offset, c = rows(loss)
    stream = HeavyBallRegressor(l2=1e-6, loss=loss)
    for chunk in np.array_split(np.arange(len(y)), 40):
        stream.partial_fit(X[chunk], y[chunk], sample_weight=c[chunk], offset=offset[chunk])
        stream = pickle.loads(pickle.dumps(stream))
    whole = HeavyBallRegressor(l2=1e-6, loss=loss, tol=1e-12).fit(X, y, c, offset)
    off = np.append(stream.coef_ - whole.coef_, stream.intercept_ - whole.intercept_)
    assert (np.abs(off) <= 0.2 * whole.standard_errors_).all()
    value = whole.history_["value"][-1]
    assert stream.history_["value"][-1] == pytest.approx(value, rel=1e-3)
    assert (stream.n_iter_, stream.history_["value"].size) == (40, 40)
    assert "renewable estimation" in stream.plan_


def test_fit_begins_anew():
    X, y, _, _ = rows("poisson", n=400)
    model = HeavyBallRegressor(loss="poisson", standardize=True).partial_fit(X[:200], y[:200])
    model.fit(X, y).partial_fit(X[200:], y[200:])
    fresh = HeavyBallRegressor(loss="poisson", standardize=True).partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(model.coef_, fresh.coef_, rtol=1e-9)


def test_too_many_columns_are_refused():
    refused(
        lambda: HeavyBallRegressor(loss="poisson").partial_fit(np.ones((2, 2000)), [1.0, 2.0]),
        ValueError,
        r"partial_fit: loss='poisson' keeps a matrix of all pairs of columns, and X has 2000, must "
        r"have at most 1024; leave columns out, or use fit\.",
    )


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [None, [1.0, 0.0, 3.0]])
def test_exact_streams_have_the_penalty_of_a_fit(intercept, penalty):
    X, y, offset, c = rows("poisson", n=500)
    how = {"l2": 0.1, "standardize": True, "penalty": penalty, "fit_intercept": intercept}
    stream = HeavyBallRegressor(**how)
    for chunk in np.array_split(np.arange(500), 4):
        stream.partial_fit(X[chunk], y[chunk], sample_weight=c[chunk], offset=offset[chunk])
    whole = HeavyBallRegressor(**how, tol=1e-12).fit(X, y, c, offset)
    np.testing.assert_allclose(stream.coef_ * SIZES, whole.coef_ * SIZES, rtol=1e-6, atol=1e-8)
    assert stream.history_["value"][-1] == pytest.approx(whole.history_["value"][-1], rel=1e-8)


def test_exact_streams_are_fits_whatever_the_sizes_of_columns():
    rng = np.random.default_rng(0)
    sizes = np.geomspace(1e-4, 1e4, 8)
    X = rng.standard_normal((400, 8)) * sizes
    y = X @ (1.0 / sizes) + rng.standard_normal(400)
    stream = HeavyBallRegressor()
    for chunk in np.array_split(np.arange(400), 5):
        stream.partial_fit(X[chunk], y[chunk])
    with pytest.warns(UserWarning, match="holds back the coefficient"):
        whole = HeavyBallRegressor(tol=1e-12).fit(X, y)
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-9)


def test_steps_keep_the_units_of_the_first_chunk():
    X, y, _, _ = rows("poisson", n=600)
    label = y > np.median(y)
    stream = HeavyBallClassifier(l2=0.1, standardize=True, random_state=0)
    stream.partial_fit(X[:300], label[:300], classes=[False, True])
    before = stream._stream.penalty.copy()
    stream.partial_fit(10.0 * X[300:], label[300:])
    np.testing.assert_array_equal(stream._stream.penalty, before)
    np.testing.assert_allclose(before[:3], X[:300].var(axis=0), rtol=1e-9)
