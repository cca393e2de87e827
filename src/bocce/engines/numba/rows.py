"""Sums of row gradients, compiled: dense rows, CSR rows, and dense rows in other units.

``accumulate`` adds slope_i x_i over a list of rows into ``g``, a block of rows at a time: their
scores, then their slopes, in a loop of its own that vectorises, then their sum, while the block is
in the cache. Rows are named tuples that hold their loss; Numba picks the bodies by their types, so
one loop (``loop.py``) serves them all; it is compiled for each kind of rows and each loss.
``problems`` holds the readable twin.

Numba counts references to arrays, at some 5 ns each, in a function that calls another one. So what
runs for each block is inlined, or is a loop over arrays that calls nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload

from ...rows import Array
from .entry import FAST, SPARSE
from .loss import slope as slope_of
from .loss import value as value_of

ROWS_TOGETHER = 64  # A block has at most so many rows.
SCORED_TOGETHER = 8  # The scores of so many dense rows are computed in one loop over the columns.
# A block of dense rows has about so many numbers, which the innermost cache holds beside w and g:
# on 2,000 x 300 a sum over 1,000 rows takes 0.92 of the time that it takes with blocks of 64 rows.
NUMBERS_TOGETHER = 4096
ONE = np.uint64(1)


class CsrArrays(NamedTuple):
    """The arrays of a CSR matrix, the last two unsigned; ``line`` numbers lie in a cache line."""

    data: Array
    indices: Array
    indptr: Array
    line: np.uint64


class KernelRows(NamedTuple):
    """Rows with their targets, and room for one number of each row of a block.

    ``X``: a dense array or ``CsrArrays``. ``weight`` has the weights of the rows, or nothing where
    all are 1; ``offset`` what is added to their scores, or nothing (always so for the squared loss,
    whose targets have it). ``block``: the numbers of the rows. ``link``: a number added to every
    x_i . w, and room for the sum of the slopes.
    """

    X: Any
    y: Array
    weight: Array
    offset: Array
    loss: Any
    block: Array
    score: Array
    target: Array
    slope: Array
    link: Array


class ScaledRows(NamedTuple):
    """Rows (x - centre) * scale and perhaps ``unit`` behind, made of x as they are summed."""

    rows: KernelRows
    centre: Array
    scale: Array
    unit: float
    at: Array  # scratch, as long as a row x
    sums: Array

    @property
    def loss(self) -> Any:
        return self.rows.loss


# -- rows of a block -------------------------------------------------------------------------------


def rows_together(X):
    """How many rows a block has."""
    raise NotImplementedError  # compiled bodies below


def scores(X, block, size, w, shift, score):
    """score_i = x_i . w + shift for the first rows of a block."""
    raise NotImplementedError


def add_rows(X, block, size, factor, g):
    """g += factor_i x_i for the same rows."""
    raise NotImplementedError


@overload(rows_together, inline="always")
def _rows_together(X):
    if isinstance(X, types.Array):
        return lambda X: max(SCORED_TOGETHER, min(ROWS_TOGETHER, NUMBERS_TOGETHER // X.shape[1]))
    return lambda X: ROWS_TOGETHER


@overload(scores, inline="always")
def _scores(X, block, size, w, shift, score):
    if isinstance(X, types.Array):
        return _dense_scores
    return _csr_scores


@overload(add_rows, inline="always")
def _add_rows(X, block, size, factor, g):
    if isinstance(X, types.Array):
        return _add_dense
    return _add_csr


@njit(inline="always")
def _four_rows(block, i):
    a = np.uint64(block[i])
    b = np.uint64(block[i + 1])
    c = np.uint64(block[i + 2])
    d = np.uint64(block[i + 3])
    return a, b, c, d


def _dense_scores(X, block, size, w, shift, score):
    """Eight rows at a time, so that many are on their way from memory."""
    p = X.shape[1]
    together = size - size % SCORED_TOGETHER
    for i in range(0, together, SCORED_TOGETHER):
        a, b, c, d = _four_rows(block, i)
        e, f, g, h = _four_rows(block, i + 4)
        ta = tb = tc = td = te = tf = tg = th = shift
        for j in range(p):
            wj = w[j]
            ta += X[a, j] * wj
            tb += X[b, j] * wj
            tc += X[c, j] * wj
            td += X[d, j] * wj
            te += X[e, j] * wj
            tf += X[f, j] * wj
            tg += X[g, j] * wj
            th += X[h, j] * wj
        score[i] = ta
        score[i + 1] = tb
        score[i + 2] = tc
        score[i + 3] = td
        score[i + 4] = te
        score[i + 5] = tf
        score[i + 6] = tg
        score[i + 7] = th
    for i in range(together, size):
        a = np.uint64(block[i])
        ta = shift
        for j in range(p):
            ta += X[a, j] * w[j]
        score[i] = ta


def _add_dense(X, block, size, factor, g):
    """Four rows at a time, so that g is read and written once for four."""
    p = X.shape[1]
    together = size - size % 4
    for i in range(0, together, 4):
        a, b, c, d = _four_rows(block, i)
        fa = factor[i]
        fb = factor[i + 1]
        fc = factor[i + 2]
        fd = factor[i + 3]
        for j in range(p):
            g[j] += fa * X[a, j] + fb * X[b, j] + fc * X[c, j] + fd * X[d, j]
    for i in range(together, size):
        a = np.uint64(block[i])
        fa = factor[i]
        for j in range(p):
            g[j] += fa * X[a, j]


@njit(**SPARSE)
def fetch(data, indices, indptr, line, block, size):
    """Read a number of each cache line of the rows, so that the next loop waits for no memory.

    The lines of many rows are then on their way at once; in the sums a row would wait for the row
    before. Returns a number that nobody needs, so that the compiler does not leave the reads out.
    """
    read = 0.0
    for i in range(size):
        a = np.uint64(block[i])
        for q in range(indptr[a], indptr[a + ONE], line):
            read += data[q]
            read += indices[q]
    return read


@njit(**SPARSE)
def _products(data, indices, indptr, block, size, w, shift, score):
    for i in range(size):
        a = np.uint64(block[i])
        t = shift
        for q in range(indptr[a], indptr[a + ONE]):
            t += data[q] * w[indices[q]]
        score[i] = t


@njit(**SPARSE)
def _add_products(data, indices, indptr, block, size, factor, g):
    for i in range(size):
        a = np.uint64(block[i])
        one = factor[i]
        for q in range(indptr[a], indptr[a + ONE]):
            g[indices[q]] += one * data[q]


def _csr_scores(X, block, size, w, shift, score):
    data, indices, indptr, line = X
    for first in range(0, size, ROWS_TOGETHER):
        count = min(size - first, ROWS_TOGETHER)
        some = block[first : first + count]
        made = score[first : first + count]
        made[0] = fetch(data, indices, indptr, line, some, count)
        _products(data, indices, indptr, some, count, w, shift, made)


def _add_csr(X, block, size, factor, g):
    data, indices, indptr, _ = X
    _add_products(data, indices, indptr, block, size, factor, g)


@njit(inline="always")
def block_slopes(y, weight, offset, loss, block, size, score, target, slope):
    """The weighted slopes of a block of rows, whose scores get their offsets."""
    if offset.size > 0:
        for i in range(size):
            score[i] += offset[np.uint64(block[i])]
    for i in range(size):
        target[i] = y[np.uint64(block[i])]
    for i in range(size):
        slope[i] = slope_of(loss, score[i], target[i])
    if weight.size > 0:
        for i in range(size):
            slope[i] *= weight[np.uint64(block[i])]


@njit(inline="always")
def _block_losses(weight, loss, block, size, score, target):
    total = 0.0
    for i in range(size):
        one = value_of(loss, score[i], target[i])
        if weight.size > 0:
            one *= weight[block[i]]
        total += one
    return total


# -- sums over many rows ---------------------------------------------------------------------------


def accumulate(rows, source, start, count, listed, w, g, want_loss):
    """g = sum of slope_i x_i over rows source[start:start+count] (or start.. when not listed).

    Returns the sum of the losses, where it is wanted.
    """
    raise NotImplementedError  # compiled bodies below


@overload(accumulate, jit_options={"fastmath": FAST, "error_model": "numpy"})
def _accumulate(rows, source, start, count, listed, w, g, want_loss):
    if rows.instance_class is ScaledRows:
        return _sum_scaled
    return _sum_rows


def _sum_rows(rows, source, start, count, listed, w, g, want_loss):
    X, y, weight, offset, loss, block, score, target, slope, link = rows
    for j in range(g.size):
        g[j] = 0.0
    total = 0.0
    slopes = 0.0
    stop = start + count
    together = rows_together(X)
    for first in range(start, stop, together):
        size = min(together, stop - first)
        for i in range(size):
            block[i] = source[first + i] if listed else first + i
        scores(X, block, size, w, link[0], score)
        block_slopes(y, weight, offset, loss, block, size, score, target, slope)
        if want_loss:
            total += _block_losses(weight, loss, block, size, score, target)
        for i in range(size):
            slopes += slope[i]
        add_rows(X, block, size, slope, g)
    link[1] = slopes
    return total


def _sum_scaled(rows, source, start, count, listed, w, g, want_loss):
    inner = rows.rows
    inner.link[0] = unscaled(rows, w)
    total = accumulate(inner, source, start, count, listed, rows.at, rows.sums, want_loss)
    rescaled(rows, inner.link[1], g)
    return total


@njit(fastmath=FAST)
def unscaled(rows, w):
    """w for the rows x as they lie, into ``at``; returns what is to be added to every x . at."""
    _, centre, scale, unit, at, _ = rows
    d = centre.size
    shift = unit * w[d] if w.size > d else 0.0
    for j in range(d):
        at[j] = scale[j] * w[j]
        shift -= centre[j] * at[j]
    return shift


@njit(fastmath=FAST)
def rescaled(rows, total, g):
    """g from ``sums``, a sum of rows x as they lie whose factors add up to ``total``."""
    _, centre, scale, unit, _, sums = rows
    d = centre.size
    for j in range(d):
        g[j] = scale[j] * (sums[j] - centre[j] * total)
    if g.size > d:
        g[d] = unit * total
