"""What stands for missing values: the mean or the median of a column's other values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Array


def centres(X: Array, how: str, columns: Sequence[str]) -> list[float]:
    """The "mean" or "median" of the values that each column has.

    >>> centres(np.array([[1.0, 4.0], [np.nan, 5.0], [3.0, 9.0]]), "median", ["a", "b"])
    [2.0, 5.0]
    """
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        name = columns[int(np.argmax(empty))]
        raise ValueError(
            f"impute={how} needs values, and column {name!r} has none in the fitted rows; leave it "
            f"out with exclude={name}."
        )
    wide = X.astype(np.float64, copy=False)
    found = np.nanmean(wide, axis=0) if how == "mean" else np.nanmedian(wide, axis=0)
    return [float(value) for value in found]


def fill(X: Array, values: Sequence[float]) -> Array:
    """X with these values, one a column, in the place of NaN."""
    return np.where(np.isnan(X), np.asarray(values, dtype=X.dtype), X)
