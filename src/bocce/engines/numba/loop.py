"""The one update, compiled: a table of steps, a stream of batches, rows, and a record.

``reference.py`` is its readable twin; tests compare them at every step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...rows import Array
from .entry import KERNEL, Entry
from .rows import accumulate
from .stream import draw, forget

DONE = 0
DIVERGED = 1
CONVERGED = 2
NEARLY = 10  # Nearly all rows are in a batch that leaves out at most one of so many rows.
# Numbers are compared with it, for reordering may fold np.isfinite to True.
LARGEST = np.finfo(np.float64).max


class KernelTable(NamedTuple):
    alpha: Array
    beta: Array
    theta: Array


class KernelObjective(NamedTuple):
    """Sizes, l2 of each column, and where it exists the Gram form of the squared loss.

    That is f = w.Gw/2 - c.w + y2/2. ``odd`` lists the columns whose l2 is not that of column 0.
    """

    n: int
    d: int
    ridge: Array
    odd: Array
    gram: Array
    moment: Array
    y2: float
    has_gram: bool


class KernelPoint(NamedTuple):
    """w_k and v_k = w_k - w_{k-1}, with scratch: the evaluation point and two sums.

    ``tally`` gathers the iterates, for an average; of length 0 it gathers nothing.
    """

    w: Array
    v: Array
    at: Array
    g: Array
    total: Array
    tally: Array


class KernelRecord(NamedTuple):
    """What is measured: at steps ``when``, from place ``cursor[0]`` on."""

    when: Array
    grad2: Array
    value: Array
    cursor: Array
    limit2: float
    goal2: float
    per_unit: float  # 1/unit: a power of two, so that multiplying rounds nothing


@njit(**KERNEL)
def total_gradient(rows, objective, at, total, want_loss):
    """total = sum over all rows of slope_i x_i; returns the mean loss, if wanted.

    The sum is the same, to the bit, whether the loss is wanted or not (a test compares them): a run
    may be cut between a record and its step.
    """
    n = objective.n
    d = objective.d
    if not objective.has_gram:
        return accumulate(rows, objective.odd, 0, n, False, at, total, want_loss) / n
    quadratic = 0.0
    linear = 0.0
    for i in range(d):
        s = 0.0
        for j in range(d):
            s += objective.gram[i, j] * at[j]
        quadratic += at[i] * s
        linear += at[i] * objective.moment[i]
        total[i] = n * (s - objective.moment[i])
    loss = 0.5 * quadratic - linear + 0.5 * objective.y2
    return 0.0 if loss < 0.0 else loss  # rounding, where the data are fitted exactly


@njit(**KERNEL)
def measure(rows, objective, at, total, per_unit):
    """(value, squared gradient norm times per_unit^2); ``total`` is left as the row sum."""
    mean_loss = total_gradient(rows, objective, at, total, True)
    n = objective.n
    ridge = objective.ridge
    grad2 = 0.0
    penalty = 0.0
    for j in range(objective.d):
        gj = (total[j] / n + ridge[j] * at[j]) * per_unit
        grad2 += gj * gj
        penalty += ridge[j] * at[j] * at[j]
    return mean_loss + 0.5 * penalty, grad2


def _measure_rows(rows, objective, at, total, per_unit):
    return measure(rows, objective, at, total, per_unit)


measure_rows = Entry(_measure_rows)


@njit(**KERNEL)
def keep(record, value, grad2):
    """Keep a measurement and judge it."""
    i = record.cursor[0]
    if not (abs(value) <= LARGEST and grad2 <= record.limit2):
        return DIVERGED
    record.value[i] = value
    record.grad2[i] = grad2
    record.cursor[0] = i + 1
    if grad2 <= record.goal2:
        return CONVERGED
    return DONE


@njit(**KERNEL)
def due(record, k):
    i = record.cursor[0]
    return i < record.when.size and record.when[i] == k


@njit(**KERNEL)
def record_here(rows, objective, point, record, k):
    """Measure at w, keep the measurement and judge it; ``total`` is left as the row sum at w."""
    for j in range(objective.d):
        point.at[j] = point.w[j]
    value, grad2 = measure(rows, objective, point.at, point.total, record.per_unit)
    return keep(record, value, grad2)


@njit(**KERNEL)
def _list_others(drawn, listed):
    """List the rows that are not drawn."""
    size = 0
    for i in range(drawn.size):
        listed[size] = i
        size += 1 - drawn[i]


@njit(**KERNEL)
def _subtract(g, total):
    for j in range(g.size):
        g[j] = total[j] - g[j]


@njit(**KERNEL)
def move_ahead(w, v, theta, at):
    """The point at which the gradient is taken."""
    for j in range(w.size):
        at[j] = w[j] + theta * v[j]


@njit(**KERNEL)
def _mean_gradient(ridge, at, b, per_unit, g):
    """Make the gradient of the sum g over b rows; returns its squared norm times per_unit^2."""
    grad2 = 0.0
    for j in range(g.size):
        g[j] = g[j] / b + ridge[j] * at[j]
        grad2 += (g[j] * per_unit) * (g[j] * per_unit)
    return grad2


@njit(**KERNEL)
def move(w, v, alpha, beta, g):
    """The update."""
    for j in range(w.size):
        v[j] = beta * v[j] - alpha * g[j]
        w[j] += v[j]


@njit(**KERNEL)
def count_in(w, tally):
    """Add an iterate to the sum of the iterates, where that is wanted."""
    for j in range(tally.size):
        tally[j] += w[j]


def _advance(rows, objective, stream, table, point, record, k, row, stop, listed):
    """Steps k .. stop-1, by the table's rows from ``row`` on.

    Returns (k reached, DONE | DIVERGED | CONVERGED). ``listed`` has room for the rows of a batch.

    With more than half the rows in a batch, those left out are taken from the sum over all rows
    where that sum is cheap: by the Gram matrix, or because nearly all rows are in the batch. (A
    step must not depend on whether it is recorded, but a record then costs next to nothing.)
    """
    w, v, at, g, total, tally = point
    n, _, ridge, _, _, _, _, has_gram = objective
    b = stream.b
    leave_out = 2 * b > n
    while k < stop:
        theta = table.theta[row]
        recorded = due(record, k)
        if recorded:
            verdict = record_here(rows, objective, point, record, k)
            if verdict != DONE:
                return k, verdict
        move_ahead(w, v, theta, at)
        source, start, count = draw(stream, k)
        subtract = leave_out and (has_gram or NEARLY * count <= n)
        if leave_out and not subtract:
            _list_others(stream.seen, listed)
            accumulate(rows, listed, 0, b, True, at, g, False)
        else:
            accumulate(rows, source, start, count, True, at, g, False)
        forget(stream, count)
        if subtract:
            if theta != 0.0 or not recorded:
                total_gradient(rows, objective, at, total, False)
            _subtract(g, total)
        if not _mean_gradient(ridge, at, b, record.per_unit, g) <= LARGEST:
            return k, DIVERGED
        move(w, v, table.alpha[row], table.beta[row], g)
        count_in(w, tally)
        k += 1
        row += 1
    return k, DONE


advance = Entry(_advance)
