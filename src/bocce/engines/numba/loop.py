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
NEARLY = 10  # of so many rows one is left out, or fewer
LARGEST = np.finfo(np.float64).max  # comparisons, for reordering may fold np.isfinite to True


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
def record_here(record, k, value, grad2):
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


def _advance(rows, objective, stream, table, point, record, k, row, stop, kept):
    """Steps k .. stop-1, by the table's rows from ``row`` on.

    Returns (k reached, DONE | DIVERGED | CONVERGED).

    With more than half the rows in a batch, those left out are taken from the sum over all rows
    where that sum is cheap: by the Gram matrix, or because nearly all rows are in the batch. (A
    step must not depend on whether it is recorded, but a record then costs next to nothing.)
    """
    n = objective.n
    b = stream.b
    d = objective.d
    ridge = objective.ridge
    w = point.w
    v = point.v
    at = point.at
    g = point.g
    total = point.total
    averaging = point.tally.size > 0
    leave_out = 2 * b > n
    while k < stop:
        alpha = table.alpha[row]
        beta = table.beta[row]
        theta = table.theta[row]
        have_total = False
        if due(record, k):
            for j in range(d):
                at[j] = w[j]
            value, grad2 = measure(rows, objective, at, total, record.per_unit)
            verdict = record_here(record, k, value, grad2)
            if verdict != DONE:
                return k, verdict
            have_total = True
        for j in range(d):
            at[j] = w[j] + theta * v[j]
        source, start, count = draw(stream, k)
        subtract = leave_out and (objective.has_gram or NEARLY * count <= n)
        if leave_out and not subtract:
            size = 0
            for i in range(n):
                kept[size] = i
                size += 1 - stream.seen[i]
            accumulate(rows, kept, 0, b, True, at, g, False)
        else:
            accumulate(rows, source, start, count, True, at, g, False)
        if subtract:
            if not have_total or theta != 0.0:
                total_gradient(rows, objective, at, total, False)
            for j in range(d):
                g[j] = total[j] - g[j]
        forget(stream, count)
        grad2 = 0.0
        for j in range(d):
            g[j] = g[j] / b + ridge[j] * at[j]
            grad2 += (g[j] * record.per_unit) * (g[j] * record.per_unit)
        if not grad2 <= LARGEST:
            return k, DIVERGED
        for j in range(d):
            v[j] = beta * v[j] - alpha * g[j]
            w[j] += v[j]
        if averaging:
            for j in range(d):
                point.tally[j] += w[j]
        k += 1
        row += 1
    return k, DONE


advance = Entry(_advance)
