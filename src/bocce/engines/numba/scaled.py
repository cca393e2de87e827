"""The one update on sparse rows without touching the columns that a batch leaves alone.

Momentum and l2 change every coordinate at each step, but all in the same linear way. So keep

    (w, v) = C (p, q)        one 2 x 2 matrix C for all coordinates

and a step multiplies C by  M = [[1 - alpha l2, beta'], [-alpha l2, beta']],
beta' = beta - alpha l2 theta, then adds the sparse part to the touched (p, q) through C^-1.
The sum of the iterates, where it is wanted, is  tally + E (p, q)  with one row E for all: E gathers
the first row of C, and from the tally of a touched coordinate its change times past E is
subtracted.
Where a column has an l2 of its own (an intercept has none), it is touched as well, with the
difference.
C is folded back into (p, q) when it becomes ill-conditioned (always where beta' = 0: a restart),
at records, and at every multiple of GRAIN steps, so that cutting a run there changes no bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...rows import Array
from .entry import SPARSE, Entry
from .loop import DIVERGED, DONE, due, record_here
from .rows import ONE, ROWS_TOGETHER, block_slopes, fetch
from .stream import draw, forget

GRAIN = 1024
WORST_CONDITION = 1e5
LEAST_WEIGHT = 0.1  # With a smaller weight of p in w, the sum of the iterates would cancel.
MOST_ODD = 8  # So many columns may have an l2 of their own.
# The share of d that the touched entries of a step may be: above it every coordinate is changed.
PAYS_BELOW = 0.3


class ScaledForm(NamedTuple):
    """(p, q) of each coordinate, the matrix C by rows, and E; room for slopes of a batch.

    ``changes`` has room for the changes of the columns with an l2 of their own.
    """

    pair: Array
    c: Array
    e: Array
    slopes: Array
    changes: Array


class Touch(NamedTuple):
    """What a change of w_j (and v_j) adds to p, to q, and through E to the past of the tally."""

    to_p: float
    to_q: float
    past: float


def make_form(d: int, b: int) -> ScaledForm:
    """Room for the form of d coordinates and batches of b rows."""
    pair = np.zeros((d, 2))
    return ScaledForm(pair, np.zeros(4), np.zeros(2), np.zeros(b), np.zeros(MOST_ODD))


@njit(**SPARSE)
def _begin(pair, c, e, w, v):
    """(p, q) = (w, v), and C = I."""
    for j in range(w.size):
        pair[j, 0] = w[j]
        pair[j, 1] = v[j]
    c[0] = c[3] = 1.0
    c[1] = c[2] = 0.0
    e[0] = e[1] = 0.0


@njit(**SPARSE)
def _fold(pair, c, e, tally):
    """(p, q) <- C (p, q) and C <- I: afterwards they are (w, v), and the tally is complete."""
    for j in range(tally.size):
        tally[j] += e[0] * pair[j, 0] + e[1] * pair[j, 1]
    e[0] = e[1] = 0.0
    for j in range(pair.shape[0]):
        p = pair[j, 0]
        q = pair[j, 1]
        pair[j, 0] = c[0] * p + c[1] * q
        pair[j, 1] = c[2] * p + c[3] * q
    c[0] = c[3] = 1.0
    c[1] = c[2] = 0.0


@njit(**SPARSE)
def _end(pair, w, v):
    """w and v from (p, q), after a fold."""
    for j in range(w.size):
        w[j] = pair[j, 0]
        v[j] = pair[j, 1]


@njit(**SPARSE)
def _slopes(rows, batch, pair, e0, e1, slopes):
    """The slope of each row of the batch at e0 p + e1 q; false when one is not finite."""
    X, y, weight, offset, loss, _, score, target, slope, _ = rows
    data, indices, indptr, line = X
    size2 = 0.0
    for first in range(0, batch.size, ROWS_TOGETHER):
        block = batch[first : first + ROWS_TOGETHER]
        size = block.size
        score[0] = fetch(data, indices, indptr, line, block, size)
        for i in range(size):
            a = np.uint64(block[i])
            t = 0.0
            for q in range(indptr[a], indptr[a + ONE]):
                j = indices[q]
                t += data[q] * (e0 * pair[j, 0] + e1 * pair[j, 1])
            score[i] = t
        block_slopes(y, weight, offset, loss, block, size, score, target, slope)
        for i in range(size):
            slopes[first + i] = slope[i]
            size2 += slope[i] * slope[i]
    return np.isfinite(size2)


@njit(**SPARSE)
def _ill(c):
    norm2 = c[0] * c[0] + c[1] * c[1] + c[2] * c[2] + c[3] * c[3]
    return norm2 > WORST_CONDITION * abs(c[0] * c[3] - c[1] * c[2])


@njit(**SPARSE)
def _rests(beta, theta, row):
    """Do this step and the next leave the velocity unread?"""
    if row + 1 >= beta.size:
        return False
    now = beta[row] == 0.0 and theta[row] == 0.0
    return now and beta[row + 1] == 0.0 and theta[row + 1] == 0.0


@njit(**SPARSE)
def _turn(c, shrink, beta, theta, row):
    """Multiply C by the step's M; returns whether the run rests, so that v stays as it is."""
    if _rests(beta, theta, row):  # w needs no fold
        c[0] *= 1.0 - shrink
        c[1] *= 1.0 - shrink
        return True
    carry = beta[row] - shrink * theta[row]
    c[2] = carry * c[2] - shrink * c[0]
    c[3] = carry * c[3] - shrink * c[1]
    c[0] += c[2]
    c[1] += c[3]
    return False


@njit(**SPARSE)
def _through(c, e, rests):
    """How a change of w gets through C^-1."""
    to_v = 0.0 if rests else 1.0
    det = c[0] * c[3] - c[1] * c[2]
    to_p = (c[3] - to_v * c[1]) / det
    to_q = (to_v * c[0] - c[2]) / det
    return Touch(to_p, to_q, e[0] * to_p + e[1] * to_q)


@njit(**SPARSE)
def _touch(pair, tally, j, change, touch):
    """Add ``change`` to w_j (and v_j)."""
    pair[j, 0] += touch.to_p * change
    pair[j, 1] += touch.to_q * change
    if tally.size > 0:
        tally[j] -= touch.past * change


@njit(**SPARSE)
def _add_rows(data, indices, indptr, batch, slopes, scale, touch, pair, tally):
    """Add scale times the sum of slope_i x_i over the batch to w (and v)."""
    for i in range(batch.size):
        a = np.uint64(batch[i])
        factor = scale * slopes[i]
        for q in range(indptr[a], indptr[a + ONE]):
            _touch(pair, tally, indices[q], factor * data[q], touch)


@njit(**SPARSE)
def _odd_changes(odd, ridge, alpha, pair, e0, e1, changes):
    """What l2 beyond that of column 0 changes in the columns with an l2 of their own."""
    for i in range(odd.size):
        j = odd[i]
        beyond = ridge[j] - ridge[0]
        changes[i] = -alpha * beyond * (e0 * pair[j, 0] + e1 * pair[j, 1])


@njit(**SPARSE)
def _add_odd(odd, changes, touch, pair, tally):
    for i in range(odd.size):
        _touch(pair, tally, odd[i], changes[i], touch)


@njit(**SPARSE)
def _gather(c, e):
    """Count the new iterate in."""
    e[0] += c[0]
    e[1] += c[1]


def _advance(rows, objective, stream, table, point, record, k, row, stop, form):
    """Steps k .. stop-1; the same contract as ``loop.advance``."""
    w, v, _, _, _, tally = point
    _, _, ridge, odd, _, _, _, _ = objective
    pair, c, e, slopes, changes = form
    data, indices, indptr, _ = rows.X
    alpha, beta, theta = table
    verdict = DONE
    _begin(pair, c, e, w, v)
    while k < stop:
        recorded = due(record, k)
        if recorded or k % GRAIN == 0:
            _fold(pair, c, e, tally)
        if recorded:
            _end(pair, w, v)
            verdict = record_here(rows, objective, point, record, k)
            if verdict != DONE:
                break
        source, start, count = draw(stream, k)
        batch = source[start : start + count]
        e0 = c[0] + theta[row] * c[2]
        e1 = c[1] + theta[row] * c[3]
        fine = _slopes(rows, batch, pair, e0, e1, slopes)
        forget(stream, count)
        if not fine:
            verdict = DIVERGED
            break
        _odd_changes(odd, ridge, alpha[row], pair, e0, e1, changes)
        rests = _turn(c, alpha[row] * ridge[0], beta, theta, row)
        if _ill(c) or (tally.size > 0 and abs(c[0]) < LEAST_WEIGHT):
            _fold(pair, c, e, tally)
        touch = _through(c, e, rests)
        scale = -alpha[row] / stream.b
        _add_rows(data, indices, indptr, batch, slopes, scale, touch, pair, tally)
        _add_odd(odd, changes, touch, pair, tally)
        _gather(c, e)
        k += 1
        row += 1
    _fold(pair, c, e, tally)
    _end(pair, w, v)
    return k, verdict


advance_scaled = Entry(_advance, options=SPARSE)
