"""Steps that a rule decides when the batch has been seen, compiled.

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
from .loop import DIVERGED, DONE, LARGEST, due, measure, record_here
from .loss import slope as slope_of
from .loss import value as value_of
from .products import combine, times
from .stream import take


class Lot(NamedTuple):
    """The rows of a batch, and room for one number of each: scores, targets, weights, losses."""

    batch: Array
    z: Array  # x_i . w
    u: Array  # x_i . g
    y: Array
    c: Array
    slope: Array
    before: Array  # the losses at w
    all_y: Array
    all_c: Array  # the weights of all rows, or nothing where all are 1


class BatchLine(NamedTuple):
    """``problems.Line`` for a rule: f_B(w), ||g||^2, and what ``decrease`` needs."""

    value: float
    slope2: float
    rows: Any
    lot: Lot
    g: Array
    pull: float  # (ridge w) . g
    bend: float  # (ridge g) . g
    known: Array  # has x_i . g been computed?


def decide(rule, k, memory, line):
    """The rule's three numbers, and what it remembers; compiled below."""
    raise NotImplementedError


@cache
def _with_its_functions(body: Any) -> Any:
    """A function compiled, and with it the plain functions of its module that it names."""
    code, known = body.__code__, body.__globals__
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
    if line.instance_class is not BatchLine:
        return None
    rows = line.types[line.fields.index("rows")]
    while "loss" not in rows.fields:  # rows in other units hold those in the caller's
        rows = rows.types[rows.fields.index("rows")]
    quadratic = rows.types[rows.fields.index("loss")].instance_class.quadratic
    return _parabola if quadratic else _difference


@njit(error_model="numpy")
def _aim(line):
    """x_i . g of the batch, once."""
    if not line.known[0]:
        times(line.rows, line.lot.batch, line.g, line.lot.u)
        line.known[0] = True


def _parabola(line, s):
    """Of the squared loss, f_B along g is known by its slope and its curvature."""
    _aim(line)
    u, c = line.lot.u, line.lot.c
    bend = 0.0
    for i in range(u.size):
        bend += c[i] * u[i] * u[i]
    return s * line.slope2 - 0.5 * s * s * (bend / u.size + line.bend)


def _difference(line, s):
    """By differences, row by row, so that small decreases keep their digits."""
    _aim(line)
    lot, loss = line.lot, loss_of(line.rows)
    fall = 0.0
    for i in range(lot.z.size):
        after = value_of(loss, lot.z[i] - s * lot.u[i], lot.y[i])
        fall += lot.c[i] * (lot.before[i] - after)
    return fall / lot.z.size + (s * line.pull - 0.5 * s * s * line.bend)


def loss_of(rows):
    """The loss that rows hold."""
    raise NotImplementedError


@overload(loss_of, inline="always")
def _loss_of(rows):
    if "loss" in rows.fields:
        return lambda rows: rows.loss
    return lambda rows: rows.rows.loss


@njit(**KERNEL)
def _gradient(rows, objective, lot, at, g):
    """g of the batch at ``at``; its scores and targets stay in the lot."""
    loss, b = loss_of(rows), lot.batch.size
    times(rows, lot.batch, at, lot.z)
    for i in range(b):
        a = lot.batch[i]
        lot.y[i] = lot.all_y[a]
        lot.c[i] = 1.0 if lot.all_c.size == 0 else lot.all_c[a]
        lot.slope[i] = lot.c[i] * slope_of(loss, lot.z[i], lot.y[i])
    combine(rows, lot.batch, lot.slope, g)
    for j in range(objective.d):
        g[j] = g[j] / b + objective.ridge[j] * at[j]


@njit(**KERNEL)
def _look(rows, objective, lot, at, g, known):
    """The line at ``at``, along minus its gradient g."""
    _gradient(rows, objective, lot, at, g)
    loss, b, ridge = loss_of(rows), lot.batch.size, objective.ridge
    total = 0.0
    for i in range(b):
        lot.before[i] = value_of(loss, lot.z[i], lot.y[i])
        total += lot.c[i] * lot.before[i]
    slope2 = pull = bend = penalty = 0.0
    for j in range(objective.d):
        slope2 += g[j] * g[j]
        pull += ridge[j] * at[j] * g[j]
        bend += ridge[j] * g[j] * g[j]
        penalty += ridge[j] * at[j] * at[j]
    known[0] = False
    return BatchLine(total / b + 0.5 * penalty, slope2, rows, lot, g, pull, bend, known)


def _advance(
    rows, objective, rule, stream, searched, apart, lot, point, record, k, row, stop, memory
):
    """Steps k .. stop-1 as the rule decides; the same contract as ``loop.advance``.

    ``searched``: the stream of the batches that the rule looks at; ``apart``: is it another one?
    Returns (k reached, DONE | DIVERGED | CONVERGED, what the rule remembers).
    """
    d, w, v, at, g = objective.d, point.w, point.v, point.at, point.g
    known = np.zeros(1, dtype=np.bool_)
    while k < stop:
        for j in range(d):
            at[j] = w[j]
        if due(record, k):
            value, grad2 = measure(rows, objective, at, point.total, record.per_unit)
            verdict = record_here(record, k, value, grad2)
            if verdict != DONE:
                return k, verdict, memory
        take(searched, k, lot.batch)
        line = _look(rows, objective, lot, at, g, known)
        (alpha, beta, theta), memory = decide(rule, row, memory, line)
        if apart:
            take(stream, k, lot.batch)
        if apart or theta != 0.0:
            for j in range(d):
                at[j] = w[j] + theta * v[j]
            _gradient(rows, objective, lot, at, g)
        grad2 = 0.0
        for j in range(d):
            grad2 += (g[j] * record.per_unit) * (g[j] * record.per_unit)
        if not grad2 <= LARGEST:
            return k, DIVERGED, memory
        for j in range(d):
            v[j] = beta * v[j] - alpha * g[j]
            w[j] += v[j]
        for j in range(point.tally.size):
            point.tally[j] += w[j]
        k += 1
        row += 1
    return k, DONE, memory


advance = Entry(_advance, **KERNEL)
