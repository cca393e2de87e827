"""Scores of a fit, against scikit-learn's; rows that come in parts count the same."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    d2_tweedie_score,
    r2_score,
)

import bocce
from bocce.run.score import Score

LOSSES = sorted(bocce.losses.REGISTRY)


def fitted(loss, n=120):
    """A fit that makes mistakes, and rows to score."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 3))
    z = X @ [1.0, -0.5, 0.2]
    kind = bocce.losses.REGISTRY[loss]
    if kind.multi_output:
        y = np.array(["a", "b", "c"])[np.digitize(z + rng.standard_normal(n), [-0.5, 0.5])]
    elif kind.margin:
        y = np.where(z + rng.standard_normal(n) > 0.0, "yes", "no")
    else:
        y = rng.poisson(np.exp(z)) + (loss == "gamma") if kind.log_link else z + rng.normal(size=n)
    p = bocce.Problem(X, y, loss, 0.1, intercept=True)
    return bocce.minimize(p, tol=1e-6), X, y, rng.uniform(0.5, 2.0, n)


def expected(result, X, y, weight):
    found = result.predict(X)
    if result.classes is not None:
        return accuracy_score(y, found, sample_weight=weight)
    if result.loss.log_link:
        power = {"poisson": 1, "gamma": 2}[result.loss.name]
        return d2_tweedie_score(y, found, sample_weight=weight, power=power)
    return r2_score(y, found, sample_weight=weight)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_score_is_scikit_learn_s_and_parts_add_up(loss):
    result, X, y, weight = fitted(loss)
    for c in (None, weight):
        whole, parts = Score(result), Score(result)
        whole.add(X, y, c)
        for rows in (slice(0, 7), slice(7, 60), slice(60, None)):
            parts.add(X[rows], y[rows], None if c is None else c[rows])
        assert whole.value == pytest.approx(expected(result, X, y, c), rel=1e-10)
        assert parts.value == pytest.approx(whole.value, rel=1e-10)
        assert parts.n == len(y)


@pytest.mark.parametrize("loss", sorted(set(LOSSES) - {"softmax"}))
def test_an_offset_counts_as_a_feature_would(loss):
    result, X, y, _ = fitted(loss)
    fewer = replace(result, w=result.w[:2])
    with_offset, plain = Score(fewer), Score(result)
    with_offset.add(X[:, :2], y, offset=X[:, 2] * result.w[2])
    plain.add(X, y)
    assert with_offset.value == pytest.approx(plain.value, rel=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_classes_are_counted_by_weight(loss):
    result, X, y, weight = fitted(loss)
    score = Score(result)
    score.add(X[:50], y[:50], weight[:50])
    score.add(X[50:], y[50:], weight[50:])
    table = confusion_matrix(y, result.predict(X), sample_weight=weight)
    assert score.value == pytest.approx(np.trace(table) / table.sum())
    assert score.baseline == pytest.approx(table.sum(axis=1).max() / table.sum())


def test_targets_that_are_all_alike_have_no_r2():
    result, X, _, _ = fitted("squared")
    score = Score(result)
    score.add(X, np.ones(len(X)))
    assert np.isnan(score.value)
