"""The one update on sparse rows without touching the columns that a batch leaves alone.

Momentum and l2 change every coordinate at each step, but all in the same linear way. So keep

    (w, v) = C (p, q)        one 2 x 2 matrix C for all coordinates

and a step multiplies C by  M = [[1 - alpha l2, beta'], [-alpha l2, beta']],
beta' = beta - alpha l2 theta, then adds the sparse part to the touched (p, q) through C^-1.
The sum of the iterates, where it is wanted, is  tally + E (p, q)  with one row E for all: E gathers
the first row of C, and a touched coordinate takes from its tally what its change would add to the
past.
Where a column has an l2 of its own (an intercept has none), it is touched as well, with the
difference.
C is folded back into (p, q) when it becomes ill-conditioned (always where beta' = 0: a restart),
at records, and at every multiple of GRAIN steps, so that cutting a run there changes no bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .entry import SPARSE, Entry
from .loop import DIVERGED, DONE, due, measure, record_here
from .loss import slope as slope_of
from .stream import draw, forget

GRAIN = 1024
WORST_CONDITION = 1e5
MOST_ODD = 8  # columns with an l2 of their own
PAYS_BELOW = 0.3  # touched entries a step, as a share of d


@njit(**SPARSE)
def _fold(pair, c, tally, e):
    """(p, q) <- C (p, q) and C <- I: afterwards they are (w, v), and the tally is whole."""
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
def _slopes(rows, source, start, count, e0, e1, pair, slopes):
    """The slope of each row of the batch at e0 p + e1 q; false when one is not finite."""
    data, indices, indptr, y, weight, offset, loss = rows
    size2 = 0.0
    for i in range(count):
        a = np.uint64(source[start + i])
        t = 0.0 if offset.size == 0 else offset[a]
        for q in range(indptr[a], indptr[a + np.uint64(1)]):
            j = indices[q]
            t += data[q] * (e0 * pair[j, 0] + e1 * pair[j, 1])
        slopes[i] = slope_of(loss, t, y[a])
        if weight.size > 0:
            slopes[i] *= weight[a]
        size2 += slopes[i] * slopes[i]
    return np.isfinite(size2)


@njit(**SPARSE)
def _ill(c):
    norm2 = c[0] * c[0] + c[1] * c[1] + c[2] * c[2] + c[3] * c[3]
    return norm2 > WORST_CONDITION * abs(c[0] * c[3] - c[1] * c[2])


@njit(**SPARSE)
def _touch(pair, tally, j, change, to_p, to_q, past):
    """Add ``change`` to w_j (and v_j), through C^-1."""
    pair[j, 0] += to_p * change
    pair[j, 1] += to_q * change
    if tally.size > 0:
        tally[j] -= past * change


def _advance(rows, objective, stream, table, point, record, k, row, stop, pair, slopes, pulls):
    """Steps k .. stop-1; the same contract as ``loop.advance``."""
    # one l2 for all columns
    d = objective.d
    l2 = objective.ridge[0]
    b = stream.b
    T = table.alpha.size
    c = np.array([1.0, 0.0, 0.0, 1.0])
    e = np.zeros(2)
    tally = point.tally
    averaging = tally.size > 0
    for j in range(d):
        pair[j, 0] = point.w[j]
        pair[j, 1] = point.v[j]
    verdict = DONE
    while k < stop:
        alpha = table.alpha[row]
        beta = table.beta[row]
        theta = table.theta[row]
        recording = due(record, k)
        if recording or k % GRAIN == 0:
            _fold(pair, c, tally, e)
        if recording:
            for j in range(d):
                point.at[j] = pair[j, 0]
            value, grad2 = measure(rows, objective, point.at, point.total, record.per_unit)
            verdict = record_here(record, k, value, grad2)
            if verdict != DONE:
                break
        source, start, count = draw(stream, k)
        e0 = c[0] + theta * c[2]
        e1 = c[1] + theta * c[3]
        fine = _slopes(rows, source, start, count, e0, e1, pair, slopes)
        forget(stream, count)
        if not fine:
            verdict = DIVERGED
            break
        for i in range(objective.odd.size):
            j = objective.odd[i]
            pulls[i] = (objective.ridge[j] - l2) * (e0 * pair[j, 0] + e1 * pair[j, 1])
        shrink = alpha * l2
        carry = beta - alpha * l2 * theta
        at_rest = beta == 0.0 and theta == 0.0
        if at_rest and row + 1 < T and table.beta[row + 1] == 0.0 and table.theta[row + 1] == 0.0:
            # nobody will read the velocity: leave it as it is, and w needs no fold
            c[0] *= 1.0 - shrink
            c[1] *= 1.0 - shrink
            to_v = 0.0
        else:
            c2 = carry * c[2] - shrink * c[0]
            c3 = carry * c[3] - shrink * c[1]
            c[0], c[1], c[2], c[3] = c[0] + c2, c[1] + c3, c2, c3
            to_v = 1.0
        if _ill(c) or (averaging and abs(c[0]) < 0.1):  # E (p, q) would cancel in the tally
            _fold(pair, c, tally, e)
        det = c[0] * c[3] - c[1] * c[2]
        to_p = (c[3] - to_v * c[1]) / det
        to_q = (to_v * c[0] - c[2]) / det
        past = e[0] * to_p + e[1] * to_q if averaging else 0.0
        for i in range(count):
            a = np.uint64(source[start + i])
            scale = -alpha * slopes[i] / b
            for q in range(rows.indptr[a], rows.indptr[a + np.uint64(1)]):
                _touch(pair, tally, rows.indices[q], scale * rows.data[q], to_p, to_q, past)
        for i in range(objective.odd.size):
            _touch(pair, tally, objective.odd[i], -alpha * pulls[i], to_p, to_q, past)
        e[0] += c[0]
        e[1] += c[1]
        k += 1
        row += 1
    _fold(pair, c, tally, e)
    for j in range(d):
        point.w[j] = pair[j, 0]
        point.v[j] = pair[j, 1]
    return k, verdict


advance_scaled = Entry(_advance, options=SPARSE)
