"""A fit as a model: its predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._types import Design, Vector
from ..problems._input import check_offset
from ..rows import Array

if TYPE_CHECKING:
    from .result import Result


def scores(result: Result, X: Design, offset: Vector | None = None) -> Array:
    """x . w + intercept for each row, a column for each class of a softmax."""
    width = result.w.shape[0]
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != width:
        raise ValueError(
            f"predict: X has shape {X.shape}, must have {width} columns as in the fit; give the "
            "same columns in the same order."
        )
    offset = check_offset("predict", offset, (X.shape[0], *result.w.shape[1:]))
    return np.asarray(X @ result.w + result.intercept + (0.0 if offset is None else offset))


def predict(result: Result, X: Design, offset: Vector | None = None) -> Array:
    """Labels of classes; means of counts and amounts; else the scores themselves."""
    z, loss, classes = scores(result, X, offset), result.loss, result.classes
    if classes is not None:
        places = z.argmax(axis=1) if z.ndim == 2 else (z > 0.0).astype(np.intp)
        return np.asarray(np.asarray(classes)[places])
    return np.asarray(np.exp(z)) if loss is not None and loss.log_link else z


def predict_proba(result: Result, X: Design, offset: Vector | None = None) -> Array:
    """A column for each class."""
    loss = result.loss
    if result.classes is None or loss is None or loss.model != "likelihood":
        name = None if loss is None else loss.name
        raise ValueError(
            f"predict_proba: the loss {name!r} has no probabilities of classes, must be 'logistic' "
            "or 'softmax'; use predict."
        )
    from scipy.special import expit, softmax

    z = scores(result, X, offset)
    return np.asarray(softmax(z, axis=1)) if z.ndim == 2 else np.column_stack([expit(-z), expit(z)])
