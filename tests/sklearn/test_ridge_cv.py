"""The closed forms of ridge regression along a path: against fits of their own, row by row."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, ShuffleSplit

from bocce.sklearn import HeavyBallRegressorCV, _ridge

L2S = np.array([1.0, 1e-2, 1e-4])


def design(n, d, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    noise = rng.standard_normal(n if outputs is None else (n, outputs))
    w = rng.standard_normal(d if outputs is None else (d, outputs))
    return X, X @ w + 5.0 + noise, rng.uniform(0.5, 2.0, n)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(4, 25),
    d=st.integers(1, 30),
    intercept=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_left_out_predictions_are_those_of_fits_without_the_row(n, d, intercept, weighted, seed):
    X, Y, c = design(n, d, 2, seed)
    c = c if weighted else np.ones(n)
    found = _ridge.CentredRows(X, Y, c, intercept).left_out(L2S)
    for l2, predictions in zip(L2S, found):
        for i in range(n):
            kept = np.arange(n) != i
            alone = Ridge(alpha=l2 * c.sum(), fit_intercept=intercept, solver="svd")
            alone.fit(X[kept], Y[kept], sample_weight=c[kept])
            np.testing.assert_allclose(
                predictions[i], alone.predict(X[i : i + 1])[0], rtol=1e-6, atol=1e-7
            )


@pytest.mark.parametrize("shape", [(60, 7), (25, 60)])
@pytest.mark.parametrize("cv", [KFold(4), ShuffleSplit(3, random_state=0)], ids=["parts", "draws"])
@pytest.mark.parametrize("intercept", [True, False])
def test_scores_of_folds_are_those_of_their_own_fits(shape, cv, intercept):
    X, y, c = design(*shape)
    model = HeavyBallRegressorCV(L2S, cv=cv, fit_intercept=intercept).fit(X, y, sample_weight=c)
    for j, (train, test) in enumerate(cv.split(X)):
        for k, l2 in enumerate(L2S):
            alone = Ridge(alpha=l2 * c[train].sum(), fit_intercept=intercept, solver="svd")
            alone.fit(X[train], y[train], sample_weight=c[train])
            score = alone.score(X[test], y[test], sample_weight=c[test])
            assert model.scores_[j, k] == pytest.approx(score, rel=1e-7, abs=1e-8)
    assert model.l2_ == L2S[np.argmax(model.scores_.mean(axis=0))]


@pytest.mark.parametrize("outputs", [None, 3])
def test_the_default_chooses_as_ridgecv_does(outputs):
    X, y, _ = design(200, 8, outputs)
    ours = HeavyBallRegressorCV(L2S, scoring="neg_mean_squared_error", tol=1e-10).fit(X, y)
    theirs = RidgeCV(L2S * len(X)).fit(X, y)
    assert ours.l2_ * len(X) == pytest.approx(theirs.alpha_)
    assert ours.scores_.max() == pytest.approx(theirs.best_score_, rel=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)


def test_sparse_rows_and_rows_of_weight_zero():
    X, y, c = design(50, 6)
    X[X < 2.0] = 0.0
    c[:10] = 0.0
    a = HeavyBallRegressorCV(L2S).fit(sp.csr_array(X), y, sample_weight=c)
    b = HeavyBallRegressorCV(L2S).fit(X[10:], y[10:], sample_weight=c[10:])
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-9)


def test_where_both_sides_are_long_folds_follow_a_path(monkeypatch):
    X, y, _ = design(60, 7)
    direct = HeavyBallRegressorCV(L2S, cv=4, tol=1e-10).fit(X, y)
    monkeypatch.setattr(_ridge, "MOST_DECOMPOSED", 1)
    path = HeavyBallRegressorCV(L2S, cv=4, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(path.scores_, direct.scores_, atol=1e-6)
    assert HeavyBallRegressorCV(L2S).fit(X, y).scores_.shape == (5, 3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [False, True])
def test_quick_r2_is_scikit_learns(weighted, constant):
    rng = np.random.default_rng(0)
    Y, guesses = rng.standard_normal((20, 2)), [rng.standard_normal((20, 2)) for _ in range(3)]
    Y[:, 0] = 1.0 if constant else Y[:, 0]
    c = rng.uniform(0.5, 2.0, 20) if weighted else None
    expected = [r2_score(Y, guess, sample_weight=c) for guess in guesses]
    np.testing.assert_allclose(_ridge.r2_scores(Y, guesses, c), expected, rtol=1e-12)
