"""Functions of the rows of a batch, compiled: what a line search needs beside a gradient.

``accumulate`` (``rows.py``) sums row gradients a block at a time and keeps no score. Here a batch's
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
from .rows import ScaledRows, add_rows, rescaled, scores, unscaled


def times(rows, batch, w, z):
    """z_i = x_i . w for the rows of the batch."""
    raise NotImplementedError  # compiled bodies below


def combine(rows, batch, factors, g):
    """g = sum of factor_i x_i over the rows of the batch."""
    raise NotImplementedError


@overload(times, jit_options={"fastmath": FAST, "error_model": "numpy"})
def _times(rows, batch, w, z):
    if rows.instance_class is ScaledRows:
        return _times_scaled
    return _times_rows


@overload(combine, jit_options={"fastmath": FAST, "error_model": "numpy"})
def _combine(rows, batch, factors, g):
    if rows.instance_class is ScaledRows:
        return _combine_scaled
    return _combine_rows


def _times_rows(rows, batch, w, z):
    scores(rows.X, batch, batch.size, w, 0.0, z)


def _combine_rows(rows, batch, factors, g):
    for j in range(g.size):
        g[j] = 0.0
    add_rows(rows.X, batch, batch.size, factors, g)


def _times_scaled(rows, batch, w, z):
    shift = unscaled(rows, w)
    scores(rows.rows.X, batch, batch.size, rows.at, shift, z)


def _combine_scaled(rows, batch, factors, g):
    combine(rows.rows, batch, factors, rows.sums)
    total = 0.0
    for i in range(batch.size):
        total += factors[i]
    rescaled(rows, total, g)


def plain(rows):
    """The rows that hold targets and weights: rows in other units hold the caller's."""
    raise NotImplementedError


@overload(plain, inline="always")
def _plain(rows):
    if rows.instance_class is ScaledRows:
        return lambda rows: rows.rows
    return lambda rows: rows


@njit(error_model="numpy")
def shift(rows, batch, z):
    """Make scores of the products with w: the offset of each row of the batch is added."""
    offset = plain(rows).offset
    if offset.size > 0:
        for i in range(batch.size):
            z[i] += offset[batch[i]]


@njit(error_model="numpy")
def slopes(rows, batch, z, made):
    """The weighted slope of each row of the batch at its score."""
    own = plain(rows)
    y = own.y
    weight = own.weight
    for i in range(batch.size):
        a = batch[i]
        c = 1.0 if weight.size == 0 else weight[a]
        made[i] = c * slope_of(own.loss, z[i], y[a])


@njit(error_model="numpy")
def values(rows, batch, z, made):
    """The weighted loss of each row of the batch at its score."""
    own = plain(rows)
    y = own.y
    weight = own.weight
    for i in range(batch.size):
        a = batch[i]
        c = 1.0 if weight.size == 0 else weight[a]
        made[i] = c * value_of(own.loss, z[i], y[a])
