"""Steps that a rule decides by looking at the batch, compiled.

The rule's own ``decide`` is compiled, found by the rule's type as a loss's functions are
(``loss.py``): nothing here knows how alpha or beta come about. The readable twin is
``reference.py`` with ``problems.Line``; tests compare them at every step.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload, overload_method

from ...rows import Array
from .entry import KERNEL, Entry
from .loop import DIVERGED, DONE, LARGEST, count_in, due, move, move_ahead, record_here
from .products import combine, shift, slopes, times, values
from .stream import take


class Lot(NamedTuple):
    """The rows of a batch, and room for one number of each."""

    batch: Array
    z: Array  # the scores at w
    u: Array  # x_i . g
    slope: Array
    before: Array  # the weighted losses at w
    score: Array  # the scores at w - s g
    after: Array  # the weighted losses there
    weight: Array  # of all rows, or nothing where all are 1


class BatchLine(NamedTuple):
    """``problems.Line`` for a rule: f_B(w), ||g||^2, and what ``decrease`` needs."""

    value: float
    slope2: float
    rows: Any
    quadratic: bool
    lot: Lot
    g: Array
    penalty_slope: float  # (ridge w) . g
    penalty_curvature: float  # (ridge g) . g
    known: Array  # has x_i . g been computed?


def decide(rule, k, memory, line):
    """The rule's three numbers, and what it remembers; compiled below."""
    raise NotImplementedError


@cache
def _with_its_functions(body: Any) -> Any:
    """A function compiled, and with it the plain functions of its module that it names."""
    code = body.__code__
    known = body.__globals__
    called = {name: known.get(name) for name in code.co_names}
    plain = {
        name: _with_its_functions(function)
        for name, function in called.items()
        if isinstance(function, FunctionType) and function is not body
    }
    everything = {**known, **plain}
    own = FunctionType(code, everything, body.__name__, body.__defaults__, body.__closure__)
    return njit(error_model="numpy")(own)  # no reordering: differences would lose digits


@overload(decide, jit_options={"error_model": "numpy"})
def _decide(rule, k, memory, line):
    function = _with_its_functions(rule.instance_class.decide)

    # Numba compares names and annotations of arguments, which are the author's to choose
    def call(rule, k, memory, line):
        return function(rule, k, memory, line)

    return call


@overload_method(types.NamedTuple, "decrease")
def _decrease(line, s):
    if line.instance_class is BatchLine:
        return _decrease_along
    return None


def _decrease_along(line, s):
    """Of the squared loss, f_B along g is known by its slope and its curvature. Of others the
    decrease is a sum of differences, row by row, so that small ones keep their digits."""
    lot = line.lot
    b = line.lot.batch.size
    if not line.known[0]:
        times(line.rows, lot.batch, line.g, lot.u)
        line.known[0] = True
    if line.quadratic:
        curvature = 0.0
        for i in range(b):
            if lot.weight.size == 0:
                c = 1.0
            else:
                c = lot.weight[lot.batch[i]]
            curvature += c * lot.u[i] * lot.u[i]
        return s * line.slope2 - 0.5 * s * s * (curvature / b + line.penalty_curvature)
    for i in range(b):
        lot.score[i] = lot.z[i] - s * lot.u[i]
    values(line.rows, lot.batch, lot.score, lot.after)
    decrease = 0.0
    for i in range(b):
        decrease += lot.before[i] - lot.after[i]
    penalty = s * line.penalty_slope - 0.5 * s * s * line.penalty_curvature
    return decrease / b + penalty


@njit(**KERNEL)
def _gradient(rows, objective, lot, at, g):
    """g of the batch at ``at``; its scores stay in the lot."""
    times(rows, lot.batch, at, lot.z)
    shift(rows, lot.batch, lot.z)
    slopes(rows, lot.batch, lot.z, lot.slope)
    combine(rows, lot.batch, lot.slope, g)
    for j in range(objective.d):
        g[j] = g[j] / lot.batch.size + objective.ridge[j] * at[j]


@njit(**KERNEL)
def _look(rows, objective, quadratic, lot, at, g, known):
    """The line at ``at``, along minus its gradient g."""
    _gradient(rows, objective, lot, at, g)
    values(rows, lot.batch, lot.z, lot.before)
    b = lot.batch.size
    ridge = objective.ridge
    total = 0.0
    for i in range(b):
        total += lot.before[i]
    slope2 = penalty_slope = penalty_curvature = penalty = 0.0
    for j in range(objective.d):
        slope2 += g[j] * g[j]
        penalty_slope += ridge[j] * at[j] * g[j]
        penalty_curvature += ridge[j] * g[j] * g[j]
        penalty += ridge[j] * at[j] * at[j]
    known[0] = False
    value = total / b + 0.5 * penalty
    return BatchLine(
        value, slope2, rows, quadratic, lot, g, penalty_slope, penalty_curvature, known
    )


@njit(**KERNEL)
def _finite(g, per_unit):
    """Is the squared norm of g, times per_unit^2, finite?"""
    grad2 = 0.0
    for j in range(g.size):
        grad2 += (g[j] * per_unit) * (g[j] * per_unit)
    return grad2 <= LARGEST


def _advance(
    rule, rows, objective, quadratic, stream, searched, apart, lot, point, record,
    k, row, stop, memory,
):  # fmt: skip
    """Steps k .. stop-1 as the rule decides; the same contract as ``loop.advance``.

    ``searched``: the stream of the batches that the rule looks at; ``apart``: is it another one?
    Returns (k reached, DONE | DIVERGED | CONVERGED, what the rule remembers).
    """
    w = point.w
    v = point.v
    at = point.at
    g = point.g
    known = np.zeros(1, dtype=np.bool_)
    while k < stop:
        if due(record, k):
            verdict = record_here(rows, objective, point, record, k)
            if verdict != DONE:
                return k, verdict, memory
        move_ahead(w, v, 0.0, at)
        take(searched, k, lot.batch)
        line = _look(rows, objective, quadratic, lot, at, g, known)
        (alpha, beta, theta), memory = decide(rule, row, memory, line)
        if apart:
            take(stream, k, lot.batch)
        if apart or theta != 0.0:
            move_ahead(w, v, theta, at)
            _gradient(rows, objective, lot, at, g)
        if not _finite(g, record.per_unit):
            return k, DIVERGED, memory
        move(w, v, alpha, beta, g)
        count_in(w, point.tally)
        k += 1
        row += 1
    return k, DONE, memory


advance = Entry(_advance, lambda rule, rows, *rest: (rule, rows.loss))
