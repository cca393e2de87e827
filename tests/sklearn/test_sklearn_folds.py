"""Scores of folds: as exact as a score can tell, and the same numbers as scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from bocce.sklearn import HeavyBallClassifier, HeavyBallClassifierCV

L2S, FOLDS = np.geomspace(1e-1, 1e-5, 4), StratifiedKFold(3)


def power_law():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 32)) * np.arange(1, 33) ** -0.5
    z = 3.0 * X @ rng.standard_normal((32, 6)) + rng.gumbel(size=(1500, 6))
    return X, z.argmax(axis=1)


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900], y[:900]


@pytest.mark.parametrize("rows", [power_law, digits])
def test_scores_are_within_a_twentieth_of_their_standard_errors(rows):
    X, y = rows()
    model = HeavyBallClassifierCV(L2S, cv=FOLDS, scoring="neg_log_loss").fit(X, y)
    exact, error = np.empty(model.scores_.shape), np.empty(model.scores_.shape)
    for i, (train, test) in enumerate(FOLDS.split(X, y)):
        for j, l2 in enumerate(L2S):
            one = HeavyBallClassifier(l2, tol=1e-10).fit(X[train], y[train])
            own = log_softmax(one.decision_function(X[test]), axis=1)[np.arange(test.size), y[test]]
            exact[i, j], error[i, j] = own.mean(), own.std() / np.sqrt(test.size)
    assert (np.abs(model.scores_ - exact) <= 0.05 * error).all()
    assert model.l2_ == L2S[exact.mean(axis=0).argmax()]
    finer = HeavyBallClassifierCV(L2S, cv=FOLDS, scoring="neg_log_loss", tol=1e-8).fit(X, y)
    assert (np.abs(finer.scores_ - exact) <= 1e-4 * error).all()
    again = HeavyBallClassifierCV(L2S, cv=FOLDS, scoring="neg_log_loss").fit(X, y)
    assert np.array_equal(again.scores_, model.scores_)


def wide():
    """So many rows and columns that no Hessian is computed."""
    rng = np.random.default_rng(0)
    X = sp.random_array((1100, 2100), density=0.005, rng=rng, format="csr").ceil()
    z = 3.0 * X @ rng.standard_normal((2100, 3)) + rng.gumbel(size=(1100, 3))
    return X, z.argmax(axis=1)


def test_folds_of_wide_data_are_fitted_alone():
    X, y = wide()
    l2s = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]  # with the weakest all fitted rows have losses near 0
    model = HeavyBallClassifierCV(l2s, cv=FOLDS, scoring="neg_log_loss").fit(X, y)
    assert model.optimality_ <= 1e-4
    for i, (train, test) in enumerate(FOLDS.split(X, y)):
        for j, l2 in enumerate(l2s):
            one = HeavyBallClassifier(l2, tol=1e-8).fit(X[train], y[train])
            own = one.predict_log_proba(X[test])[np.arange(test.size), y[test]]
            error = own.std() / np.sqrt(test.size)
            assert abs(model.scores_[i, j] - own.mean()) <= 0.05 * error
    assert model.l2_ == l2s[model.scores_.mean(axis=0).argmax()]


def test_a_class_may_be_missing_from_a_fold_of_wide_data():
    X, y = wide()
    there, absent = np.flatnonzero(y < 2), np.flatnonzero(y == 2)
    folds = [(there, absent), (np.arange(1100), there)]
    model = HeavyBallClassifierCV([1e-1, 1e-2], cv=folds).fit(X, y)
    assert model.scores_[0].tolist() == [0.0, 0.0]
    assert model.coef_.shape == (3, 2100)


def test_rows_of_some_classes_are_left_to_scikit_learn():
    """Its accuracy needs no row of each class."""
    X, y = power_law()
    order = np.argsort(y, kind="stable")
    few = [(np.setdiff1d(order, order[:50]), order[:50])]
    model = HeavyBallClassifierCV([1e-2], cv=few).fit(X, y)
    one = HeavyBallClassifier(1e-2).fit(X[few[0][0]], y[few[0][0]])
    assert model.scores_[0, 0] == pytest.approx(one.score(X[order[:50]], y[order[:50]]), abs=0.02)


def test_a_grid_by_length_ends_two_penalties_after_the_best_score():
    """The scores that were computed are those of the whole grid, and the choice is among them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 30))
    y = X[:, 0] + rng.standard_normal(120) > 0
    short = HeavyBallClassifierCV(10, cv=4, scoring="neg_log_loss").fit(X, y)
    whole = HeavyBallClassifierCV(short.l2s_, cv=4, scoring="neg_log_loss").fit(X, y)
    tried = ~np.isnan(short.scores_).any(axis=0)
    assert 3 <= tried.sum() < 10
    assert np.isnan(short.scores_[:, ~tried]).all()
    np.testing.assert_allclose(short.scores_[:, tried], whole.scores_[:, tried], rtol=1e-6)
    best = int(np.argmax(whole.scores_.mean(axis=0)[tried]))
    assert short.l2_ == short.l2s_[best]
    assert tried.sum() == best + 3
