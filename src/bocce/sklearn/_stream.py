"""``partial_fit`` of the squared loss: all that ridge regression needs to know of the rows seen.

With weights c_i of sum W, rows x_i and targets y_i about their weighted mean m, that is the
triangular factor R of the matrix with the rows sqrt(c_i) ((x_i, y_i) - m):

    R^T R = sum_i c_i ((x_i, y_i) - m)((x_i, y_i) - m)^T.

Two sets of rows make one whose factor is that of R_1, R_2 and the row sqrt(W_1 W_2/W) (m_1 - m_2),
stacked. So no sum is taken about a point far from its rows, and no condition number is squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from ..problems._input import CONSTANT_DEVIATION, check_penalty
from ..rows import Array

MOST_COLUMNS = 1024  # of X: the factor has a number for each pair of them
FLAT_COLUMN = 1e-12  # of the longest column, all scaled alike: what is shorter is rounding


@dataclass(frozen=True)
class RowsSeen:
    """What is known of rows (x, y); two sets of rows add up to one."""

    count: int
    weight: float
    mean: Array  # (d + q,)
    factor: Array  # (d + q or fewer, d + q)

    @classmethod
    def of(cls, rows: Array, c: Array) -> RowsSeen:
        """Of rows with weights c."""
        weight = float(c.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            mean = c @ rows / weight
            mean = mean + c @ (rows - mean) / weight  # The first mean is rounded.
            return cls(len(rows), weight, mean, triangle(np.sqrt(c)[:, None] * (rows - mean)))

    def __add__(self, other: RowsSeen) -> RowsSeen:
        weight = self.weight + other.weight
        share = other.weight / weight
        apart = other.mean - self.mean
        between = math.sqrt(self.weight * share) * apart
        factor = triangle(np.vstack([self.factor, other.factor, between]))
        return RowsSeen(self.count + other.count, weight, self.mean + share * apart, factor)

    def about_zero(self) -> Array:
        """The factor of the rows as they are."""
        return triangle(np.vstack([self.factor, math.sqrt(self.weight) * self.mean]))


def triangle(rows: Array) -> Array:
    """R of the decomposition of rows into an orthogonal and a triangular matrix.

    >>> float(abs(triangle(np.array([[3.0], [4.0]]))[0, 0]).round(12))
    5.0
    """
    if not np.isfinite(rows).all():
        raise ValueError(
            "partial_fit: sums over X and y overflow, must be finite; divide X and y by a constant."
        )
    return np.linalg.qr(rows, mode="r")


def solution(model: Any, seen: RowsSeen, d: int) -> tuple[Array, Array, Array]:
    """Coefficients (q, d), intercepts and objectives (q,) with the estimator's penalty."""
    centred = bool(model.fit_intercept)
    R = seen.factor if centred else seen.about_zero()
    ridge = model.l2 * _factors(model, seen, d)
    penalty = np.zeros((d, R.shape[1]))
    np.fill_diagonal(penalty, np.sqrt(seen.weight * ridge))
    R = triangle(np.vstack([R, penalty]))
    A = R[:, :d]
    size = np.sqrt(np.square(A / _largest(A)).sum(axis=0)) * _largest(A)
    size[size == 0.0] = 1.0
    w = lstsq(A / size, R[:, d:], cond=FLAT_COLUMN, lapack_driver="gelsy")[0] / size[:, None]
    missed = R[:, d:] - A @ w
    values = 0.5 * np.square(missed).sum(axis=0) / seen.weight
    coef = w.T
    if centred:
        return coef, seen.mean[d:] - coef @ seen.mean[:d], values
    return coef, np.zeros(len(coef)), values


def _largest(A: Array) -> Any:
    """The largest number of each column, 1 where all are zero: its square may overflow."""
    largest = np.abs(A).max(axis=0)
    return np.where(largest > 0.0, largest, 1.0)


def _factors(model: Any, seen: RowsSeen, d: int) -> Array:
    """What l2 is multiplied by, column by column."""
    factors = check_penalty(type(model).__name__, model.penalty, d)
    factors = np.ones(d) if factors is None else factors
    if not model.standardize:
        return factors
    variance = np.square(seen.factor[:, :d]).sum(axis=0) / seen.weight
    varies = variance > np.square(CONSTANT_DEVIATION * seen.mean[:d])
    return factors * np.where(varies, variance, 1.0)


def take_in(model: Any, X: Any, y: Array, weights: Array | None) -> None:
    """Take in a chunk, and set what a fit sets; nothing changes where sums overflow."""
    d = X.shape[1]
    if d > MOST_COLUMNS:
        raise ValueError(
            f"partial_fit: X has {d} columns, must have at most {MOST_COLUMNS}, because a number "
            "is kept for each pair; use fit on all rows, or SGDRegressor for streams."
        )
    Y = y.reshape(len(y), -1)
    dense = X.toarray() if sp.issparse(X) else X
    c = np.ones(len(Y)) if weights is None else weights
    chunk = RowsSeen.of(np.column_stack([np.asarray(dense, dtype=np.float64), Y]), c)
    before: RowsSeen | None = getattr(model, "_stream", None)
    if before is not None and before.mean.size != chunk.mean.size:
        raise ValueError(
            f"partial_fit: y has {Y.shape[1]} outputs, must have "
            f"{before.mean.size - d} as at the first call; start with a clone."
        )
    seen = chunk if before is None else before + chunk
    coef, intercept, values = solution(model, seen, d)
    for name, value in model._fitted(coef, intercept, X).items():
        setattr(model, name, value)
    _publish(model, values, seen.count, first=before is None)
    model._stream = seen
    model._seen = None


def _publish(model: Any, values: Array, rows: int, first: bool) -> None:
    """Set ``history_``, ``n_iter_`` and ``plan_``: they go on from call to call."""
    calls = 1 if first else model.n_iter_ + 1
    count = values.size
    now = {
        "iteration": np.full(count, calls),
        "passes": np.full(count, float(calls)),
        "value": values,
        "gradient_norm": np.zeros(count),
        "output": np.arange(count),
    }
    if not first:
        now = {name: np.append(model.history_[name], value) for name, value in now.items()}
    model.history_ = now
    model.n_iter_ = calls
    model.plan_ = (
        f"A stream of {calls} chunks and {rows:,} rows: their sums are kept, and coef_ "
        "is the exact ridge regression on all of them."
    )
