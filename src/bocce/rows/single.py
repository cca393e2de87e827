"""Sums over float32 rows: products in float32 within a block of rows, sums of blocks in float64.

This takes half the time of float64, for twice as many numbers fit into a register. A term of such a
sum goes through ``ROUNDINGS`` roundings of float32 and those of the block; a rounding of float32 is
as large as ``COARSER`` roundings of float64, which is how ``Moments.rough`` counts them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .._compiled import on_disk
from .._threads import threads_for
from .._types import Array
from .limits import LIMITS, RowLimits
from .moments import Moments

COARSER = 1 << 29  # the unit roundoff of float32 over that of float64
ROUNDINGS = 8  # of a term: centre (twice), root of the weight (twice each), target, product
LEAST_SQUARE = 1e-30  # of a mean square; squares of smaller numbers vanish in float32


def pays(X: Array, limits: RowLimits = LIMITS) -> bool:
    """Are these enough rows in float32?"""
    return bool(X.dtype == np.float32 and X.size >= limits.summed_single)


def rows_of_block(n: int, columns: int, limits: RowLimits) -> int:
    """How many rows are summed in float32."""
    return min(n, max(limits.single_rows, limits.single_numbers // (columns + 2)))


def single_moments(
    X: Array,
    centre: Array,
    unit: float,
    y: Array,
    weights: Array | None,
    limits: RowLimits = LIMITS,
) -> Moments | None:
    """The sums of the rows x - centre, with ``unit`` behind each where it is not 0. None where
    squares may vanish or overflow in float32, or the centre is no float32."""
    n, columns = X.shape
    step = rows_of_block(n, columns, limits)
    shift = centre.astype(np.float32)
    if not np.array_equal(centre, shift):
        return None
    share = np.ones(n) if weights is None else weights
    with np.errstate(over="ignore", invalid="ignore"):  # float64 answers
        total = _squares(X, shift, y, share, step)
    squares = total.diagonal()[:columns]
    if not np.isfinite(total[:, : columns + 1]).all():
        return None
    small = ~(squares > LEAST_SQUARE * n)
    if small.any() and (X[:, small] != shift[small]).any():
        return None
    d = columns + (unit > 0.0)
    H = np.ascontiguousarray(total[:d, :d])
    b = total[columns + 1, :d].copy()
    if unit > 0.0:
        H[-1, :-1] *= unit
        H[:-1, -1] = H[-1, :-1]
        H[-1, -1] = unit**2 * float(share.sum())
        b[-1] = unit * float(share @ y)
    H /= n
    rough = COARSER * (step + ROUNDINGS) + n // limits.single_rows + 1
    return Moments(H, b / n, float((share * y) @ y) / n, 2, rough, n=n, unit=unit)


def _squares(X: Array, shift: Array, y: Array, weights: Array, step: int) -> Array:
    """sum_i c_i r_i r_i^T, where r_i is x_i - shift and behind it 1 and y_i; ``step`` rows at a
    time."""
    n, columns = X.shape
    width = columns + 2
    roots = np.sqrt(weights).astype(np.float32)
    targets = y.astype(np.float32)
    room = np.empty((step, width), dtype=np.float32)
    total = np.zeros((width, width))
    lay = _kernel()
    for start in range(0, n, step):
        x = room[: min(step, n - start)]
        lay(X, start, shift, targets, roots, x)
        with threads_for(0.25 * x.size * width):  # the upper triangle, twice as fast
            total += x.T @ x
    return total


def _lay(X: Array, start: int, shift: Array, y: Array, roots: Array, room: Array) -> None:
    """The rows r_i from ``start`` on, times the roots of their weights, into ``room``."""
    columns = shift.size
    for k in range(room.shape[0]):
        root = roots[start + k]
        x = X[start + k]
        laid = room[k]
        for j in range(columns):
            laid[j] = root * (x[j] - shift[j])
        laid[columns] = root
        laid[columns + 1] = root * y[start + k]


@cache
def _kernel() -> Any:
    """Compiled with the first sums."""
    return on_disk(_lay, nogil=True)
