"""partial_fit of the squared loss: the fit of all rows seen, wherever the columns move."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce.rows import FactoredMoments
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from refusal import refused

N, D = 2000, 4


def stream(model, X, y, size=50, **keywords):
    for start in range(0, X.shape[0], size):
        model.partial_fit(X[start : start + size], y[start : start + size], **keywords)
    return model


def least_squares(X, y, l2, intercept):
    """Coefficients and standard errors in long double, by modified Gram-Schmidt done twice."""
    A, b = X.astype(np.longdouble), y.astype(np.longdouble)
    n, d = A.shape
    if intercept:
        A, b = A - A.mean(axis=0), b - b.mean()
    A = np.vstack([A, np.sqrt(np.longdouble(n * l2)) * np.eye(d)])
    b = np.append(b, np.zeros(d))
    Q, R = A.copy(), np.zeros((d, d), dtype=np.longdouble)
    for j in range(d):
        for k in [*range(j), *range(j)]:
            share = Q[:, k] @ Q[:, j]
            R[k, j] += share
            Q[:, j] -= share * Q[:, k]
        R[j, j] = np.sqrt(Q[:, j] @ Q[:, j])
        Q[:, j] /= R[j, j]
    w, right = np.zeros(d, dtype=np.longdouble), Q.T @ b
    for j in reversed(range(d)):
        w[j] = (right[j] - R[j, j + 1 :] @ w[j + 1 :]) / R[j, j]
    noise = float(np.square(b - A @ w).sum() / (n - d))
    inverse = np.linalg.inv(R.astype(float))
    return w.astype(float), np.sqrt(noise * np.square(inverse).sum(axis=1))


def jump(E):
    E[50:] += 1e6


def far_jump(E):
    E[50:] += 1e8


def far(E):
    E += 1e7


def drift(E):
    E += np.linspace(0.0, 1e7, len(E))[:, None]


def walk(E):
    E += 1e5 * np.cumsum(np.random.default_rng(3).standard_normal(E.shape), axis=0)


def collinear(E):
    E[:, 1] = E[:, 0] + 1e-8 * E[:, 1]


def moving_and_collinear(E):
    own = E[:, 1].copy()
    E += 1e3 * np.sin(np.arange(len(E)) / 100)[:, None]
    E[:, 1] = E[:, 0] + 1e-5 * own


def units(E):
    E *= np.geomspace(1e-8, 1e8, E.shape[1])


MOVES = (jump, far_jump, far, drift, walk, collinear, moving_and_collinear, units)


@pytest.mark.filterwarnings("ignore:.* holds back the coefficient")
@pytest.mark.parametrize("l2", [0.0, 1e-4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("move", MOVES)
def test_a_stream_is_the_fit_of_all_its_rows_wherever_its_columns_move(move, intercept, l2):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N, D))
    move(X)
    y = X @ rng.standard_normal(D) / np.abs(X).max() + rng.standard_normal(N)
    w, errors = least_squares(X, y, l2, intercept)
    model = stream(HeavyBallRegressor(l2=l2, fit_intercept=intercept), X, y)
    assert (np.abs(model.coef_ - w) / errors).max() <= 1e-3
    if intercept:
        middle = np.mean(model.predict(X) - y, dtype=np.longdouble)
        assert abs(middle) <= 1e-9 * np.abs(X @ np.abs(w)).max() + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [True, False])
def test_ten_thousand_chunks_lose_nothing(intercept):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((50_000, 3)) + 1e7
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(50_000)
    w, errors = least_squares(X, y, 0.0, intercept)
    model = stream(HeavyBallRegressor(l2=0.0, fit_intercept=intercept), X, y, size=5)
    assert model.n_iter_ == 10_000
    assert (np.abs(model.coef_ - w) / errors).max() <= 1e-3


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 10**6), st.booleans())
def test_sums_of_parts_are_those_of_all_rows(sizes, seed, far_apart):
    """Sums, weight and mean, in whatever order and grouping the parts are added."""
    rng = np.random.default_rng(seed)
    rows = [rng.standard_normal((m, 3)) + far_apart * 1e3 * rng.standard_normal() for m in sizes]
    weights = [rng.integers(1, 4, m).astype(float) for m in sizes]
    parts = [FactoredMoments.of(x[:, :2], x[:, 2:], c) for x, c in zip(rows, weights)]
    left = parts[0]
    for part in parts[1:]:
        left = left + part
    right = parts[-1]
    for part in parts[-2::-1]:
        right = right + part
    X, c = np.concatenate(rows), np.concatenate(weights)
    mean = c @ X / c.sum()
    expected = (c[:, None] * (X - mean)).T @ (X - mean)
    for seen in (left, right):
        assert seen.weight == c.sum()
        np.testing.assert_allclose(seen.mean, mean, rtol=1e-9, atol=1e-9)
        close = {"rtol": 1e-9, "atol": 1e-9 * c.sum()}
        seen = seen.about(seen.mean)
        found = [seen.gram[:2, :2], seen.moment[:2], seen.target2]
        wanted = [expected[:2, :2], expected[:2, 2:], expected[2, 2:]]
        for ours, theirs in zip(found, wanted):
            np.testing.assert_allclose(c.sum() * ours, theirs, **close)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_penalties_offsets_and_sparse_chunks_count_as_in_a_fit(container, standardize):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 3)) * [1.0, 10.0, 0.1]
    X[:100, 1] = 0.0
    y, offset = X[:, 0] + rng.standard_normal((2, 300))
    keywords = {"l2": 0.1, "penalty": [0.0, 1.0, 2.0], "standardize": standardize}
    model = HeavyBallRegressor(**keywords)
    for part in np.array_split(np.arange(300), 6):
        model.partial_fit(container(X[part]), y[part], offset=offset[part])
    whole = HeavyBallRegressor(**keywords, tol=1e-13).fit(X, y, offset=offset)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    assert model.intercept_ == pytest.approx(whole.intercept_, rel=1e-9)


def test_a_pickled_stream_goes_on_where_it_was_and_a_fit_ends_it():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 3)), rng.standard_normal(400)
    whole = stream(HeavyBallRegressor(), X, y)
    half = stream(HeavyBallRegressor(), X[:200], y[:200])
    again = stream(pickle.loads(pickle.dumps(half)), X[200:], y[200:])
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    assert again.plan_ == whole.plan_
    assert again.history_["iteration"].tolist() == list(range(1, 9))
    first = stream(HeavyBallRegressor(), X[:50], y[:50]).coef_
    after = whole.fit(X, y).partial_fit(X[:50], y[:50])
    np.testing.assert_array_equal(after.coef_, first)


def test_copies_of_columns_share_their_coefficient():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X @ [1.0, 2.0] + 0.1 * rng.standard_normal(200)
    model = stream(HeavyBallRegressor(l2=0.0), np.column_stack([X, X[:, 0]]), y)
    alone = stream(HeavyBallRegressor(l2=0.0), X, y)
    assert model.coef_[0] == pytest.approx(model.coef_[2])
    assert model.coef_[0] + model.coef_[2] == pytest.approx(alone.coef_[0])


# -- what may go wrong ----------------------------------------------------------------------------


def test_what_a_stream_cannot_be_is_refused():
    X, y = np.ones((3, 2)), np.arange(3.0)
    rule = r"partial_fit: X has 1025 columns, must have at most 1024, .*; use fit .*"
    refused(lambda: HeavyBallRegressor().partial_fit(np.ones((3, 1025)), y), ValueError, rule)
    rule = (
        r"partial_fit: sums over X and y overflow, must be finite; divide X and y by a constant\."
    )
    huge = np.array([[1e308], [-1e308], [1e308]])
    refused(lambda: HeavyBallRegressor().partial_fit(huge, y), ValueError, rule)
    outputs = HeavyBallRegressor().partial_fit(X, np.column_stack([y, y]))
    rule = r"partial_fit: y has 1 outputs, must have 2 as at the first call; start with a clone\."
    refused(lambda: outputs.partial_fit(X, y), ValueError, rule)
    with pytest.raises(ValueError, match="1 features"):
        outputs.partial_fit(X[:, :1], np.column_stack([y, y]))


@pytest.mark.parametrize(
    ("name", "value"),
    [("loss", "huber"), ("loss", "poisson"), ("method", "shb"), ("batch_size", 5)],
)
def test_what_takes_steps_has_no_partial_fit(name, value):
    model = HeavyBallRegressor(**{name: value})
    assert not hasattr(model, "partial_fit")
    assert not hasattr(HeavyBallClassifier(), "partial_fit")
    with pytest.raises(AttributeError) as found:
        model.partial_fit(np.ones((3, 2)), np.ones(3))
    rule = f"HeavyBallRegressor: {name}={value!r} has no partial_fit, must be "
    assert str(found.value.__cause__).startswith(rule)


def test_a_chunk_that_overflows_changes_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 1)), rng.standard_normal(40)
    model = HeavyBallRegressor().partial_fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"partial_fit: sums over X and y overflow, must be"):
        model.partial_fit(np.array([[1e308], [-1e308], [1e308]]), y[:3])
    assert np.array_equal(model.coef_, before)
    twice = stream(HeavyBallRegressor(), np.vstack([X, X]), np.append(y, y), 40)
    assert np.array_equal(model.partial_fit(X, y).coef_, twice.coef_)
