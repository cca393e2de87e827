"""Functions of the rows of a batch, compiled: what a line search needs beside a gradient.

``accumulate`` (``rows.py``) sums row gradients in one pass and keeps no score. Here a batch's
scores, row sums, slopes and losses are separate functions of (rows, batch, given numbers, made
numbers). The readable twins are ``Rows.times``, ``Rows.combine``, ``Problem.shifted``,
``Problem.slopes`` and ``Problem.losses``.
"""

from __future__ import annotations

from numba import njit
from numba.extending import overload

from .entry import FAST
from .loss import slope as slope_of
from .loss import value as value_of
from .rows import DenseRows, ScaledRows, SparseRows, rescaled, unscaled


def times(rows, batch, w, z):
    """z_i = x_i . w for the rows of the batch."""
    raise NotImplementedError  # compiled bodies below


def combine(rows, batch, factors, g):
    """g = sum of factor_i x_i over the rows of the batch."""
    raise NotImplementedError


@overload(times, jit_options={"fastmath": FAST, "error_model": "numpy"})
def _times(rows, batch, w, z):
    kinds = {DenseRows: _times_dense, ScaledRows: _times_scaled, SparseRows: _times_sparse}
    return kinds[rows.instance_class]


@overload(combine, jit_options={"fastmath": FAST, "error_model": "numpy"})
def _combine(rows, batch, factors, g):
    kinds = {DenseRows: _combine_dense, ScaledRows: _combine_scaled, SparseRows: _combine_sparse}
    return kinds[rows.instance_class]


def _times_dense(rows, batch, w, z):
    X = rows.X
    for i in range(batch.size):
        t = 0.0
        for j in range(X.shape[1]):
            t += X[batch[i], j] * w[j]
        z[i] = t


def _combine_dense(rows, batch, factors, g):
    X = rows.X
    p = X.shape[1]
    for j in range(p):
        g[j] = 0.0
    whole = batch.size - batch.size % 4
    for i in range(0, whole, 4):  # g is read and written once for four rows
        a = batch[i]
        b = batch[i + 1]
        c = batch[i + 2]
        d = batch[i + 3]
        fa = factors[i]
        fb = factors[i + 1]
        fc = factors[i + 2]
        fd = factors[i + 3]
        for j in range(p):
            g[j] += fa * X[a, j] + fb * X[b, j] + fc * X[c, j] + fd * X[d, j]
    for i in range(whole, batch.size):
        for j in range(p):
            g[j] += factors[i] * X[batch[i], j]


def _times_scaled(rows, batch, w, z):
    offset = unscaled(rows, w)
    times(rows.rows, batch, rows.at, z)
    for i in range(batch.size):
        z[i] += offset


def _combine_scaled(rows, batch, factors, g):
    combine(rows.rows, batch, factors, rows.sums)
    total = 0.0
    for i in range(batch.size):
        total += factors[i]
    rescaled(rows, total, g)


def _times_sparse(rows, batch, w, z):
    data = rows.data
    indices = rows.indices
    indptr = rows.indptr
    for i in range(batch.size):
        t = 0.0
        for q in range(indptr[batch[i]], indptr[batch[i] + 1]):
            t += data[q] * w[indices[q]]
        z[i] = t


def _combine_sparse(rows, batch, factors, g):
    data = rows.data
    indices = rows.indices
    indptr = rows.indptr
    for j in range(g.size):
        g[j] = 0.0
    for i in range(batch.size):
        for q in range(indptr[batch[i]], indptr[batch[i] + 1]):
            g[indices[q]] += factors[i] * data[q]


def plain(rows):
    """The rows that hold targets and weights: rows in other units hold those of the caller."""
    raise NotImplementedError


@overload(plain, inline="always")
def _plain(rows):
    if rows.instance_class is ScaledRows:
        return lambda rows: rows.rows
    return lambda rows: rows


@njit(error_model="numpy")
def shift(rows, batch, z):
    """Make scores of the products with w: the offset of each row of the batch is added."""
    held = plain(rows)
    if held.offset.size > 0:
        for i in range(batch.size):
            z[i] += held.offset[batch[i]]


@njit(error_model="numpy")
def slopes(rows, batch, z, made):
    """The weighted slope of each row of the batch at its score."""
    held = plain(rows)
    for i in range(batch.size):
        a = batch[i]
        c = 1.0 if held.weight.size == 0 else held.weight[a]
        made[i] = c * slope_of(held.loss, z[i], held.y[a])


@njit(error_model="numpy")
def values(rows, batch, z, made):
    """The weighted loss of each row of the batch at its score."""
    held = plain(rows)
    for i in range(batch.size):
        a = batch[i]
        c = 1.0 if held.weight.size == 0 else held.weight[a]
        made[i] = c * value_of(held.loss, z[i], held.y[a])
