"""What is asked of rows, targets, weights and penalties before any work is done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp


def check_design(where: str, X: Any) -> Any:
    if sp.issparse(X):
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()  # summing works in place, and the arrays are the caller's
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise TypeError(
            f"{where}: X has dtype {X.dtype}, must be numeric; convert it with "
            "X.astype(float) first."
        )
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2:
        raise ValueError(
            f"{where}: X has shape {X.shape}, must have two dimensions (rows, columns); "
            "reshape a single feature with X.reshape(-1, 1)."
        )
    n, d = X.shape
    if n < 1 or d < 1:
        raise ValueError(
            f"{where}: X has shape {X.shape}, must have at least one row and one column; "
            "check how the data were read."
        )
    return X


def check_finite(
    where: str, name: str, blocks: Iterator[np.ndarray], indptr: np.ndarray | None = None
) -> None:
    """Every number of the rows in ``blocks``, or of the stored entries that ``indptr`` cuts up."""
    start = 0
    for block in blocks:
        with np.errstate(over="ignore", invalid="ignore"):
            quick = np.isfinite(block.sum(dtype=np.float64))
        if not quick and not np.isfinite(block).all():  # a sum may overflow on its own
            at = int(np.argmax(~np.isfinite(block.reshape(block.shape[0], -1)).all(axis=1)))
            row = start + at if indptr is None else np.searchsorted(indptr, at, side="right") - 1
            raise ValueError(
                f"{where}: {name} has NaN or infinity (first at row {row}), must be "
                "finite; remove or impute such rows."
            )
        start += block.shape[0]


def _vector(where: str, name: str, values: Any, size: int, each: str) -> np.ndarray:
    """``values`` as float64, one for each ``each`` of X."""
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (size,):
        raise ValueError(
            f"{where}: {name} has shape {vector.shape}, must be ({size},) as X has {size} "
            f"{each}s; give one number a {each}."
        )
    return vector


def check_weights(where: str, weights: Any, n: int) -> np.ndarray | None:
    """Weights of the rows, divided by their mean; None stays None."""
    if weights is None:
        return None
    weights = _vector(where, "sample_weight", weights, n, "row")
    wrong = ~(np.isfinite(weights) & (weights > 0.0))
    if wrong.any():
        raise ValueError(
            f"{where}: sample_weight has the value {weights[wrong][0]}, must be finite and > 0; "
            "leave out rows of weight 0."
        )
    return np.asarray(weights / weights.mean())


def check_penalty(where: str, penalty: Any, d: int) -> np.ndarray | None:
    """Factors of l2 for each column; None (all ones) stays None."""
    if penalty is None:
        return None
    penalty = _vector(where, "penalty", penalty, d, "column")
    if not (np.isfinite(penalty).all() and penalty.min() >= 0.0):
        raise ValueError(
            f"{where}: penalty has negative or infinite entries, must be finite and >= 0; "
            "0 leaves a column alone."
        )
    return penalty
