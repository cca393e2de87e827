"""Penalties that people mean: standardised columns, factors by column, and a warning."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bocce
from bocce.problems import Frame
from bocce.run import scaling
from bocce.sklearn import (
    HeavyBallClassifier,
    HeavyBallClassifierCV,
    HeavyBallRegressor,
    HeavyBallRegressorCV,
)
from refusal import refused

SIZES = np.array([1.0, 1e-4, 1e3])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)) * SIZES + [0.0, 1.0, -5.0]
    score = (X - X.mean(axis=0)) / SIZES @ [1.0, 1.0, 0.3]
    return X, score + rng.standard_normal(400), score + rng.logistic(size=400) > 0


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_standardize_is_a_scaler_in_front(rows, storage, weighted):
    X, y, label = rows
    c = np.arange(400) % 3 + 1.0 if weighted else None
    total = 400.0 if c is None else c.sum()
    how = {"standardscaler__sample_weight": c}
    ridge = make_pipeline(StandardScaler(), Ridge(alpha=0.1 * total)).fit(
        X, y, ridge__sample_weight=c, **how
    )
    ours = HeavyBallRegressor(l2=0.1, standardize=True, tol=1e-10).fit(storage(X), y, c)
    np.testing.assert_allclose(ours.predict(X), ridge.predict(X), rtol=1e-6, atol=1e-6)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(C=10 / total, tol=1e-10)).fit(
        X, label, logisticregression__sample_weight=c, **how
    )
    model = HeavyBallClassifier(l2=0.1, standardize=True, tol=1e-10).fit(storage(X), label, c)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_factors_by_column(rows):
    """A factor 0 frees a column: the fit of the others' residuals on it is least squares."""
    X, y, _ = rows
    model = HeavyBallRegressor(l2=10.0, penalty=[1.0, 0.0, 1e5], tol=1e-10).fit(X, y)
    residual = y - model.predict(X)
    centred = X - X.mean(axis=0)
    gradient = centred.T @ residual / 400
    np.testing.assert_allclose(gradient[1] / SIZES[1], 0.0, atol=1e-8)
    np.testing.assert_allclose(
        gradient[[0, 2]], 10.0 * np.array([1.0, 1e5]) * model.coef_[[0, 2]], rtol=1e-6
    )
    refused(
        lambda: HeavyBallRegressor(penalty=[1.0]).fit(X, y),
        ValueError,
        r"HeavyBallRegressor: penalty has shape \(1,\), must be \(3,\) as X has 3 columns; give "
        r"one number a column\.",
    )


def test_a_penalty_that_hides_a_small_column_is_said(rows):
    X, y, label = rows
    for model, targets in ((HeavyBallRegressor(), y), (HeavyBallClassifier(), label)):
        with pytest.warns(UserWarning, match=r"l2=0\.0001 holds back the coefficient of x1: .*"):
            model.fit(X, targets)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.set_params(standardize=True).fit(X, targets)
            model.set_params(standardize=False, l2=0.0).fit(X, targets)


def test_a_small_column_that_means_nothing_is_not_mentioned():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2)) * [1.0, 1e-5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HeavyBallRegressor().fit(X, X[:, 0] + rng.standard_normal(300))


@pytest.mark.parametrize("weighted", [False, True])
def test_what_the_warning_rests_on_is_the_same_from_sums_and_from_rows(rows, weighted):
    X, y, _ = rows
    c = np.linspace(0.5, 1.5, len(y)) if weighted else None
    p = bocce.LeastSquares(X, y, l2=1e-4, intercept=True, sample_weight=c)
    frame = Frame.of(p)
    inner = frame.problem(p)
    assert scaling._facts_by_sums(inner, np.zeros(4)) is None  # they are not known yet
    inner.sums  # noqa: B018
    for w in (np.zeros(4), p.minimiser()):
        u = frame.into(w)
        for ours, theirs in zip(scaling._facts_by_sums(inner, u), scaling._facts(inner, u)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10)
        assert scaling.held_back(inner, u, scale=frame.scale) == scaling.held_back(p, w)
    assert scaling.held_back(p, p.minimiser()) == [1]


@pytest.mark.parametrize("kind", [HeavyBallRegressorCV, HeavyBallClassifierCV])
def test_cross_validation_takes_both(rows, kind):
    X, y, label = rows
    target = y if kind is HeavyBallRegressorCV else label
    how = {"l2s": [1.0, 1e-2, 1e-4], "cv": 3, "tol": 1e-7, "penalty": [1.0, 2.0, 0.0]}
    one = kind(standardize=True, **how).fit(X, target)
    other = kind(standardize=True, **how).fit(X / SIZES, target)
    np.testing.assert_allclose(one.scores_, other.scores_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(one.coef_ * SIZES, other.coef_, rtol=1e-4, atol=1e-6)
    assert kind(**{**how, "penalty": None}).fit(X / SIZES, target).l2_ in how["l2s"]
