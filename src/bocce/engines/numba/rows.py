"""Sums of row gradients, compiled: dense rows (two shapes), rows in other units, and CSR rows.

``accumulate`` adds slope_i x_i over a list of rows into ``g`` and returns the sum of the losses
where asked. The kinds of rows are named tuples that hold their loss; Numba picks the body by their
types, so one loop (``loop.py``) serves them all; it is compiled for each kind of rows and each
loss. ``problems`` holds the readable twin. ``weight`` holds the weights of the rows, or nothing
where all are 1; ``offset`` what is added to their scores, or nothing (always so for the squared
loss, whose targets have it).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload

from ...rows import Array
from .entry import FAST
from .loss import slope as slope_of
from .loss import value as value_of

ROWS_TOGETHER = 64  # rows whose slopes are taken together, where a slope is dear


class DenseRows(NamedTuple):
    """Dense rows, perhaps padded copies.

    ``folded``: y is part of the copy, as one more column behind the others where the loss is
    quadratic (w holds -1 there), as the sign of the row where it depends on y z alone.
    ``link``: a number added to every x_i . w, and room for the sum of the slopes.
    """

    X: Array
    y: Array
    weight: Array
    offset: Array
    link: Array
    folded: bool
    loss: Any


class ScaledRows(NamedTuple):
    """Rows (x - centre) * scale and perhaps ``unit`` behind, made of x as they are summed."""

    rows: DenseRows
    centre: Array
    scale: Array
    unit: float
    at: Array  # scratch, as long as a row x
    sums: Array

    @property
    def loss(self) -> Any:
        return self.rows.loss


class SparseRows(NamedTuple):
    data: Array
    indices: Array
    indptr: Array
    y: Array
    weight: Array
    offset: Array
    loss: Any


@njit
def _row(source, listed, i):
    if listed:
        return np.uint64(source[i])
    return np.uint64(i)


def accumulate(rows, source, start, count, listed, w, g, want_loss):
    """g = sum of slope_i x_i over rows source[start:start+count] (or start.. when not listed)."""
    raise NotImplementedError  # compiled bodies below


@overload(accumulate, jit_options={"fastmath": FAST, "error_model": "numpy"})
def _accumulate(rows, source, start, count, listed, w, g, want_loss):
    kind = rows.instance_class
    if kind is DenseRows:
        loss = rows.types[rows.fields.index("loss")].instance_class
        if loss.quadratic:
            return _fused_rows
        return _blocked_rows
    return {ScaledRows: _scaled_rows, SparseRows: _sparse_rows}[kind]


@njit(fastmath=FAST)
def _half_squares(weight, a, b, c, d, ta, tb, tc, td):
    if weight.size == 0:
        return 0.5 * (ta * ta + tb * tb + tc * tc + td * td)
    pair = weight[a] * ta * ta + weight[b] * tb * tb
    return 0.5 * (pair + weight[c] * tc * tc + weight[d] * td * td)


def _fused_rows(rows, source, start, count, listed, w, g, want_loss):
    """The squared loss, four rows at a time: on 10,000 x 20, 0.6 of the time of blocks."""
    X, y, weight, _, link, folded, _ = rows
    p = X.shape[1]
    for j in range(p):
        g[j] = 0.0
    loss = 0.0
    slopes = 0.0
    stop = start + count
    whole = start + count - count % 4
    for i in range(start, whole, 4):
        a = _row(source, listed, i)
        b = _row(source, listed, i + 1)
        c = _row(source, listed, i + 2)
        d = _row(source, listed, i + 3)
        ta = tb = tc = td = link[0]
        for j in range(p):
            wj = w[j]
            ta += X[a, j] * wj
            tb += X[b, j] * wj
            tc += X[c, j] * wj
            td += X[d, j] * wj
        if not folded:
            ta -= y[a]
            tb -= y[b]
            tc -= y[c]
            td -= y[d]
        if want_loss:
            loss += _half_squares(weight, a, b, c, d, ta, tb, tc, td)
        if weight.size > 0:
            ta *= weight[a]
            tb *= weight[b]
            tc *= weight[c]
            td *= weight[d]
        slopes += (ta + tb) + (tc + td)
        for j in range(p):
            g[j] += ta * X[a, j] + tb * X[b, j] + tc * X[c, j] + td * X[d, j]
    for i in range(whole, stop):
        a = _row(source, listed, i)
        ta = link[0]
        for j in range(p):
            ta += X[a, j] * w[j]
        if not folded:
            ta -= y[a]
        if want_loss:
            loss += _half_squares(weight, a, a, a, a, ta, 0.0, 0.0, 0.0)
        if weight.size > 0:
            ta *= weight[a]
        slopes += ta
        for j in range(p):
            g[j] += ta * X[a, j]
    link[1] = slopes
    return loss


def _blocked_rows(rows, source, start, count, listed, w, g, want_loss):
    """Any loss, 64 rows at a time, so that the slopes are a loop of their own that vectorises."""
    X, y, weight, offset, link, folded, loss = rows
    p = X.shape[1]
    for j in range(p):
        g[j] = 0.0
    total = 0.0
    slopes = 0.0
    stop = start + count
    score = np.empty(ROWS_TOGETHER)
    target = np.ones(ROWS_TOGETHER, dtype=y.dtype)
    slope = np.empty(ROWS_TOGETHER)
    for first in range(start, stop, ROWS_TOGETHER):
        size = min(ROWS_TOGETHER, stop - first)
        for i in range(size):
            a = _row(source, listed, first + i)
            t = link[0]
            for j in range(p):
                t += X[a, j] * w[j]
            score[i] = t
        if offset.size > 0:
            for i in range(size):
                score[i] += offset[_row(source, listed, first + i)]
        if not folded:
            for i in range(size):
                target[i] = y[_row(source, listed, first + i)]
        for i in range(size):
            slope[i] = slope_of(loss, score[i], target[i])
        if want_loss:
            for i in range(size):
                one = value_of(loss, score[i], target[i])
                if weight.size == 0:
                    total += one
                else:
                    total += one * weight[_row(source, listed, first + i)]
        if weight.size > 0:
            for i in range(size):
                slope[i] *= weight[_row(source, listed, first + i)]
        for i in range(size):
            slopes += slope[i]
        whole = size - size % 4
        for i in range(0, whole, 4):
            a = _row(source, listed, first + i)
            b = _row(source, listed, first + i + 1)
            c = _row(source, listed, first + i + 2)
            d = _row(source, listed, first + i + 3)
            sa = slope[i]
            sb = slope[i + 1]
            sc = slope[i + 2]
            sd = slope[i + 3]
            for j in range(p):
                g[j] += sa * X[a, j] + sb * X[b, j] + sc * X[c, j] + sd * X[d, j]
        for i in range(whole, size):
            a = _row(source, listed, first + i)
            for j in range(p):
                g[j] += slope[i] * X[a, j]
    link[1] = slopes
    return total


@njit(fastmath=FAST)
def unscaled(rows, w):
    """w for the rows x as they lie, into ``at``; returns what is to be added to every x . at."""
    _, centre, scale, unit, at, _ = rows
    d = centre.size
    offset = unit * w[d] if w.size > d else 0.0
    for j in range(d):
        at[j] = scale[j] * w[j]
        offset -= centre[j] * at[j]
    return offset


@njit(fastmath=FAST)
def rescaled(rows, total, g):
    """g from ``sums``, a sum of rows x as they lie whose factors add up to ``total``."""
    _, centre, scale, unit, _, sums = rows
    d = centre.size
    for j in range(d):
        g[j] = scale[j] * (sums[j] - centre[j] * total)
    if g.size > d:
        g[d] = unit * total


def _scaled_rows(rows, source, start, count, listed, w, g, want_loss):
    inner = rows.rows
    inner.link[0] = unscaled(rows, w)
    loss = accumulate(inner, source, start, count, listed, rows.at, rows.sums, want_loss)
    rescaled(rows, inner.link[1], g)
    return loss


def _sparse_rows(rows, source, start, count, listed, w, g, want_loss):
    data, indices, indptr, y, weight, offset, loss = rows
    for j in range(g.size):
        g[j] = 0.0
    total = 0.0
    for i in range(start, start + count):
        a = _row(source, listed, i)
        t = 0.0 if offset.size == 0 else offset[a]
        for q in range(indptr[a], indptr[a + np.uint64(1)]):
            t += data[q] * w[indices[q]]
        one = 1.0 if weight.size == 0 else weight[a]
        slope = one * slope_of(loss, t, y[a])
        if want_loss:
            total += one * value_of(loss, t, y[a])
        for q in range(indptr[a], indptr[a + np.uint64(1)]):
            g[indices[q]] += slope * data[q]
    return total
