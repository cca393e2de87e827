"""Scikit-learn's usual scores of a classifier, without its checks of what has been checked.

A scorer validates rows, labels and probabilities at each call, which on a small fold takes as long
as the fit. The numbers are the same, but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.utils.extmath import safe_sparse_dot

from ..rows import Array

Quick = Callable[[Array, Array], Array]


def accuracies(z: Array, places: Array) -> Array:
    """Is the highest score that of a row's class?"""
    found = z[:, 0] > 0 if z.shape[1] == 1 else z.argmax(axis=1)
    return np.asarray(found == places, dtype=np.float64)


def log_likelihoods(z: Array, places: Array) -> Array:
    """Of the rows, from their scores; no probability is less than the rounding of 1."""
    if z.shape[1] == 1:
        own = log_expit(np.where(places == 1, z[:, 0], -z[:, 0]))
    else:
        own = log_softmax(z, axis=1)[np.arange(len(z)), places]
    eps = np.finfo(np.float64).eps
    return np.clip(own, np.log(eps), np.log1p(-eps))


def quick_score(model: Any, scoring: Any) -> Quick | None:
    """The score of each row, of which scikit-learn's is the mean; None where its own is needed."""
    if scoring in (None, "accuracy"):
        return accuracies
    if scoring == "neg_log_loss" and model.loss == "log_loss":
        return log_likelihoods
    return None


def scored(quick: Quick, model: Any, X: Any, places: Array, weights: Array | None) -> float:
    """The mean over the rows X, of the classes at these places."""
    z = safe_sparse_dot(X, model.coef_.T, dense_output=True) + model.intercept_
    return float(np.average(quick(z, places), weights=weights))
