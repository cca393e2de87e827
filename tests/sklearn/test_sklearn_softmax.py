"""The classifier on three classes or more, and penalties by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold

from bocce.sklearn import (
    HeavyBallClassifier,
    HeavyBallClassifierCV,
    HeavyBallRegressorCV,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* holds back the coefficient")  # they do

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
DIGITS = load_digits(return_X_y=True)


def rival(l2, n, **keywords):
    return LogisticRegression(C=1 / (n * l2), solver="newton-cholesky", tol=1e-12, **keywords)


@pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
@pytest.mark.parametrize("balanced", [None, "balanced"])
@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_multinomial_regression(data, balanced, intercept):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    keywords = {"class_weight": balanced, "fit_intercept": intercept}
    model = HeavyBallClassifier(0.01, **keywords).fit(X, y, sample_weight=weights)
    if balanced:  # as if rows came as often as their weights say
        counts = np.bincount(y, weights)
        keywords["class_weight"] = dict(enumerate(weights.sum() / (3 * counts)))
    total = weights.sum()
    if balanced:
        total = (weights * np.array([*keywords["class_weight"].values()])[y]).sum()
    exact = rival(0.01, total, **keywords).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)
    assert model.decision_function(X).shape == (y.size, 3)
    assert model.intercept_.shape == (3,)


def test_sparse_and_float32_rows_give_the_same_model():
    X, y = IRIS
    X = np.where(X > 3.0, X, 0.0)
    dense = HeavyBallClassifier(1e-3).fit(X, y)
    sparse = HeavyBallClassifier(1e-3).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-7)
    single = HeavyBallClassifier(1e-3).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(dense.coef_, single.coef_, atol=1e-3)


def test_a_warm_start_at_the_minimiser_stays():
    X, y = np.repeat(IRIS[0], 50, axis=0), np.repeat(IRIS[1], 50)  # too many to be tiny
    model = HeavyBallClassifier(0.01, tol=1e-6, warm_start=True).fit(X, y)
    before = model.coef_.copy()
    model.fit(X, y)
    assert model.history_["iteration"].max() == 0
    np.testing.assert_allclose(model.coef_, before, atol=1e-12)


def test_separated_classes_without_a_penalty_are_told():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]).repeat(5, axis=0)
    X = X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
    with pytest.warns(UserWarning, match=r"Set l2 > 0, for example 1e-4"):
        HeavyBallClassifier(0.0).fit(X, np.repeat([0, 1, 2], 5))


# -- penalties by cross-validation ------------------------------------------------------------


def test_the_scores_are_those_of_fits_one_by_one():
    X, y = WINE
    l2s, folds = [1.0, 1e-2, 1e-3], StratifiedKFold(3)
    model = HeavyBallClassifierCV(l2s, cv=folds, scoring="neg_log_loss").fit(X, y)
    for row, (train, test) in zip(model.scores_, folds.split(X, y)):
        for score, l2 in zip(row, l2s):
            one = HeavyBallClassifier(l2).fit(X[train], y[train])
            expected = -log_loss(y[test], one.predict_proba(X[test]))
            assert score == pytest.approx(expected, abs=1e-6)
    assert model.l2_ == l2s[int(model.scores_.mean(axis=0).argmax())]
    refitted = HeavyBallClassifier(model.l2_).fit(X, y)
    np.testing.assert_allclose(model.coef_, refitted.coef_, atol=1e-8)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
def test_a_fold_knows_nothing_of_its_test_rows(loss):
    """Classes that can be separated, and weak penalties: a fit to all rows would have all right."""
    rng = np.random.default_rng(0)
    X = np.cos(DIGITS[0][:400] @ rng.standard_normal((64, 128)) / 20.0)
    y = np.where(rng.random(400) < 0.2, rng.integers(0, 3, 400), DIGITS[1][:400] % 3)
    l2s, folds = [1e-1, 1e-3, 1e-5, 1e-7], KFold(3)
    model = HeavyBallClassifierCV(l2s, cv=folds, loss=loss).fit(X, y)
    whole = HeavyBallClassifier(1e-7, loss=loss).fit(X, y)
    assert whole.score(X, y) > 0.99
    for row, (train, test) in zip(model.scores_, folds.split(X)):
        for score, l2 in zip(row, l2s):
            one = HeavyBallClassifier(l2, loss=loss, tol=1e-9).fit(X[train], y[train])
            assert score == pytest.approx(one.score(X[test], y[test]), abs=0.02)
    assert model.scores_[:, -1].max() < 0.8


def test_regression_scores_are_those_of_ridge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 6))
    y = X @ rng.standard_normal(6) + rng.standard_normal(90)
    l2s, folds = np.array([1e-3, 10.0, 0.1]), KFold(3)
    model = HeavyBallRegressorCV(l2s, cv=folds).fit(X, y)
    for row, (train, test) in zip(model.scores_, folds.split(X)):
        for score, l2 in zip(row, l2s):
            exact = Ridge(alpha=train.size * l2).fit(X[train], y[train])
            assert score == pytest.approx(r2_score(y[test], exact.predict(X[test])), abs=1e-8)
    assert np.array_equal(model.l2s_, l2s)


def test_of_equal_penalties_the_strongest_wins():
    X, y = np.array([[-1.0], [1.0]] * 20), np.array([0, 1] * 20)
    model = HeavyBallClassifierCV([1e-3, 1e-1, 1e-2]).fit(X, y)
    assert (model.scores_ == 1.0).all()
    assert model.l2_ == 1e-1


def test_threads_change_nothing():
    alone = HeavyBallClassifierCV(4, cv=3).fit(*WINE)
    both = HeavyBallClassifierCV(4, cv=3, n_jobs=2).fit(*WINE)
    assert np.array_equal(alone.scores_, both.scores_)


def test_penalties_are_told(capsys):
    HeavyBallClassifierCV(3, cv=3, verbose=1).fit(*IRIS)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == [
        f"[HeavyBallClassifierCV] penalty {j} of 3, l2 = {l2}"
        for j, l2 in enumerate(("10", "0.001", "1e-07"), 1)
    ]


def test_bad_penalties_are_named():
    with pytest.raises(ValueError, match=r"HeavyBallClassifierCV: l2s=-1\.0 must be"):
        HeavyBallClassifierCV([-1.0]).fit(*IRIS)
    assert not hasattr(HeavyBallClassifierCV(), "partial_fit")


def test_the_picture_shows_the_scores():
    pytest.importorskip("matplotlib").use("Agg")
    model = HeavyBallClassifierCV([1.0, 0.1, 0.01], cv=3).fit(*IRIS)
    x, mean = model.plot_path().lines[0].get_data()
    assert x.tolist() == [0.01, 0.1, 1.0]
    np.testing.assert_allclose(mean, model.scores_.mean(axis=0)[::-1])
