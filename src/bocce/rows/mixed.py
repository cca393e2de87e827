"""Products of float32 rows with float64 vectors, summed in float64, without a copy of the rows.

A product of a matrix and a vector waits for memory, so half the bytes take about half the time, and
float64 sums cost nothing more: the results are as exact as those of rows in float64. (BLAS has no
such product; to convert blocks takes longer than to multiply them.) The readable twins are
``X.astype(np.float64) @ w`` and ``X.astype(np.float64).T @ c``; tests/rows/test_mixed.py compares
them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .._compiled import on_disk
from .._types import Array

# Sums may be reordered and contracted, but NaN and infinity keep their meaning.
OPTIONS: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}, "nogil": True}
# Rows that are added to the sum at once, so that the sum is read and written less often.
ADDED_AT_ONCE = 4
SUM_NUMBERS = 2048  # numbers of the sum that stay in the level-1 cache meanwhile


def suits(X: Array, factor: Array) -> bool:
    """Are these float32 rows in one piece, by rows or by columns, and is the factor a vector?"""
    in_one_piece = X.flags.c_contiguous or X.flags.f_contiguous
    single = X.dtype == np.float32 and factor.dtype == np.float64
    return bool(single and in_one_piece and factor.size == len(factor))


def times(X: Array, w: Array) -> Array:
    """X w, in float64.

    >>> times(np.array([[0.5, 1.0], [2.0, 4.0]], dtype=np.float32), np.array([1.0, 0.25]))
    array([0.75, 3.  ])
    """
    product = np.empty(X.shape[0])
    flat = np.ascontiguousarray(w.reshape(-1))
    if X.flags.c_contiguous:
        _kernels()[0](X, flat, product)
    else:
        _kernels()[1](X.T, flat, product)
    return product.reshape(X.shape[:1] + w.shape[1:])


def combine(X: Array, c: Array) -> Array:
    """X^T c, in float64."""
    return times(X.T, c)


def _inner(X: Array, w: Array, product: Array) -> None:
    """Sums along rows."""
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * w[j]
        product[i] = total


def _outer(X: Array, c: Array, total: Array) -> None:
    """The sum of c_i times row i."""
    # Indices that count from 0 are known not to be negative, so that the loops are vectorised.
    n, d = X.shape
    together = n - n % ADDED_AT_ONCE
    total[:] = 0.0
    for start in range(0, d, SUM_NUMBERS):
        part = total[start : start + SUM_NUMBERS]
        for i in range(0, together, ADDED_AT_ONCE):
            c0 = c[i]
            c1 = c[i + 1]
            c2 = c[i + 2]
            c3 = c[i + 3]
            x0 = X[i, start : start + SUM_NUMBERS]
            x1 = X[i + 1, start : start + SUM_NUMBERS]
            x2 = X[i + 2, start : start + SUM_NUMBERS]
            x3 = X[i + 3, start : start + SUM_NUMBERS]
            for j in range(part.size):
                part[j] += c0 * x0[j] + c1 * x1[j] + c2 * x2[j] + c3 * x3[j]
        for i in range(together, n):
            c0 = c[i]
            x0 = X[i, start : start + SUM_NUMBERS]
            for j in range(part.size):
                part[j] += c0 * x0[j]


@cache
def _kernels() -> tuple[Any, Any]:
    """Compiled with the first product."""
    return on_disk(_inner, **OPTIONS), on_disk(_outer, **OPTIONS)
