"""scikit-learn's own suite, with no expected failure: defaults, and other settings."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from bocce.sklearn import (
    HeavyBallClassifier,
    HeavyBallClassifierCV,
    HeavyBallRegressor,
    HeavyBallRegressorCV,
)

ESTIMATORS = [
    HeavyBallRegressor(),
    HeavyBallRegressor(l2=0.1, method="auto-shb", fit_intercept=False, tol=1e-2),
    HeavyBallRegressor(batch_size=0.3, max_iter=5000, warm_start=True),
    HeavyBallClassifier(),
    HeavyBallClassifier(l2=0.01, method="auto-shb", tol=1e-6),
    HeavyBallClassifier(batch_size=0.3, max_iter=5000, warm_start=True),
    HeavyBallRegressor(loss="poisson"),
    HeavyBallClassifierCV(l2s=3, cv=3),
    HeavyBallRegressorCV(l2s=3, cv=3),
    HeavyBallRegressorCV(l2s=3),
    HeavyBallRegressor(loss="huber"),
]
CHECKS = [
    pytest.param(*pair, id=f"{place}-{pair[1].func.__name__}")
    for place, estimator in enumerate(ESTIMATORS)
    for pair in estimator_checks_generator(estimator)
    if "array_api" not in pair[1].func.__name__  # in test_sklearn_arrays.py
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
