"""Is there a minimiser? Rows that a direction carries off to where they cost nothing.

A loss such as the logistic or the Poisson loss has rows that never cost less than in the limit: a
row of a class with an infinite margin, a count of zero with the mean zero. A direction d in which
no row's loss grows, and some row's loss falls for ever, is a direction of recession: f falls along
it and has no minimiser. A group without events is the usual case, classes that a plane separates
the extreme one. Penalised variables do not move, for the penalty would grow.

Such a d is found where a run ended. Rows that cannot be carried off, or that are on the wrong side
there, must not move: these rows leave a space V of directions, usually {0}. In V a linear program
finds the direction that carries off as many rows as possible (Konis, 2007, *Linear programming
algorithms for detecting separated data in binary logistic regression models*).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from . import _rowsums
from .problems import Frame, Problem
from .rows import Array

INFINITE = 2000.0  # A score that stands for infinity: exp(-INFINITE) is 0.
OWN_SIDE = math.log(2.0)  # A row is on its side if its loss is less than this above its infimum.
MOST_PROGRAM_ENTRIES = 2_000_000  # of a linear program, which takes about ten seconds
QUICK_ENTRIES = 20_000  # of a linear program after a run, which takes milliseconds
SAMPLED = 20  # rows for each variable, which usually show that there is no such direction
# A look of fewer multiplications is always taken: it takes less than 0.05 s, and a sample of the
# rows usually ends it before.
CHEAP_LOOK = 1e8
MOST_VARIABLES = 3000  # of a matrix of pairs


def may_escape(p: Problem) -> bool:
    """Can f lack a minimiser? Not if each row's loss is least at a finite score, or if every
    variable is penalised."""
    return not (p.loss.attains_minimum or bool((p.ridges > 0.0).all()))


def after_run(p: Problem, frame: Frame, inner: Problem, w: Array, passes: float) -> Array | None:
    """A direction of recession in the caller's variables, looked for where a run of so many passes
    ended at w, or None. No look costs more than the run, but for cheap ones; ``infer`` looks in any
    case.

    ``inner`` is the problem in the frame's variables.
    """
    free = (p.ridges[: p.d] == 0.0).any()
    if not (may_escape(p) and free) or p.in_parts or p.rows.foreign:
        return None
    outputs = math.prod(p.shape[1:])
    run = 4.0 * p.rows.cost * outputs * passes
    expensive = 2.0 * inner.rows.gram_cost * outputs**2 > max(run, CHEAP_LOOK)
    if expensive or math.prod(p.shape) > MOST_VARIABLES:
        return None
    with np.errstate(all="ignore"):
        found = escape(inner, None, frame.into(w), QUICK_ENTRIES)
    if found is None:
        return None
    return moves(frame, found)


def moves(frame: Frame, directions: Array) -> Array:
    """Directions of the frame's variables as moves of the caller's, where rounding is zero."""
    found = frame.out(directions)
    size = replace(frame, centre=-np.abs(frame.centre)).out(np.abs(directions))
    return np.where(np.abs(found) <= _rowsums.NOISE * size, 0.0, found)


def _speeds(p: Problem, d: Array) -> tuple[Array, Array]:
    """How fast each score grows along d, where rounding is 0, and how large the rounding may be.

    d may have several directions, one behind the other.
    """
    D2 = np.square(d.reshape(len(d), -1))
    size = np.sqrt(np.concatenate([np.square(block) @ D2 for block in p.rows.in_cache()]))
    speeds = np.asarray(p.rows.times(d.reshape(len(d), -1)))
    shape = (p.n, *d.shape[1:])
    noise = _rowsums.NOISE * size.reshape(shape)
    speeds = speeds.reshape(shape)
    if p.loss.multi_output:
        noise = noise.max(axis=1, keepdims=True)
    return np.where(np.abs(speeds) <= noise, 0.0, speeds), noise


def stays(p: Problem, d: Array | None) -> Array:
    """Which rows does an endless move along d leave where they are; of several outputs, which
    classes of each row? All where d is None."""
    if d is None:
        return np.ones((p.n, *p.shape[1:]), dtype=bool)
    speeds, noise = _speeds(p, d)
    if p.loss.multi_output:
        speeds = speeds - speeds.max(axis=1, keepdims=True)
    return np.asarray(np.abs(speeds) <= noise)


def limit_scores(p: Problem, z: Array, d: Array | None) -> Array:
    """The scores z after an endless move along d."""
    if d is None:
        return z
    if p.loss.multi_output:
        return np.where(stays(p, d), z, -INFINITE)
    return np.where(stays(p, d), z, np.copysign(INFINITE, p.rows.times(d)))


def escape(
    p: Problem, inside: Frame | None, u: Array, most: int = MOST_PROGRAM_ENTRIES
) -> Array | None:
    """A direction of recession, or None.

    ``u``: where a run ended, in well-scaled variables; ``inside``: the frame that is still to be
    applied to the parts of the data; ``most``: entries of a linear program.
    """
    outputs = u[:1].size
    free = np.repeat(p.ridges == 0.0, outputs)
    step = p.n // (SAMPLED * u.size)
    if step > 1 and not p.in_parts:  # if some rows leave no direction, all rows leave none
        some = p.on(np.arange(0, p.n, step))
        if _kernel_within(_rows_that_stay(some, None, u)[0], free).shape[1] == 0:
            return None
    still = _rowsums.over(p, np.add, _rows_that_stay, inside, u)[0]
    V = _kernel_within(still, free)
    if V.shape[1] == 0:
        return None
    rates = _rowsums.over(p, _stacked, _rates, inside, u, V)[0]
    # directions that move no row are a matter of rank
    _, still_too = _rowsums.inverse_and_kernel(rates.T @ rates)
    V, rates = _without(still_too, V, rates)
    size = np.sqrt(np.square(rates).sum(axis=1))[:, None]
    if V.shape[1] == 0 or not size.any():
        return None
    moving = size[:, 0] > 0.0
    rates = np.unique(np.round(rates[moving] / size[moving], 9), axis=0)
    found = _carries_all(rates, V.T @ u.reshape(-1))
    if found is None and rates.size <= most:
        found = _by_linear_program(rates)
    if found is None:
        return None
    d = V @ found
    d[np.abs(d) <= _rowsums.NOISE * np.abs(d).max()] = 0.0
    return np.asarray((d / np.abs(d).max()).reshape(u.shape))


def _stacked(a: Array, b: Array) -> Array:
    return np.concatenate([a, b])


def _kernel_within(A: Array, free: Array) -> Array:
    """An orthonormal basis of the directions of free variables along which A is zero."""
    some = np.flatnonzero(free)
    kernel = np.zeros((free.size, 0))
    if some.size:
        inner = _rowsums.inverse_and_kernel(A[np.ix_(some, some)])[1]
        kernel = np.zeros((free.size, inner.shape[1]))
        kernel[some] = inner
    return np.linalg.qr(kernel)[0]


def _without(kernel: Array, V: Array, rates: Array) -> tuple[Array, Array]:
    """The directions V, and the rates along them, but for combinations in ``kernel``."""
    if kernel.shape[1] == 0:
        return V, rates
    left = np.linalg.svd(kernel)[0][:, kernel.shape[1] :]
    return V @ left, rates @ left


# -- what rows say ---------------------------------------------------------------------------------


def _ways(p: Problem) -> Array:
    """Where each row's loss falls for ever: 1 towards infinity, -1 towards minus infinity, or 0."""
    far = np.full(p.n, INFINITE)
    with np.errstate(over="ignore"):
        up = np.asarray(p.loss.slope(far, p.y)) <= 0.0
        down = np.asarray(p.loss.slope(-far, p.y)) >= 0.0
    return up.astype(np.float64) - down.astype(np.float64)


def _must_stay(p: Problem, u: Array) -> tuple[Array, Array]:
    """Which rows must not move, and the way of each row; of several outputs, for each class whether
    the own class must not gain on it."""
    z = p.predict(u)
    if p.loss.multi_output:
        here = np.arange(p.n)
        stays = z >= z[here, p.y][:, None]
        stays[here, p.y] = False
        return stays, np.ones(p.n)
    ways = _ways(p)
    above = p.loss.value(z, p.y) - p.loss.infimum(p.y)
    return (ways == 0.0) | ~(above < OWN_SIDE), ways


def _rows_that_stay(part: Problem, frame: Frame | None, u: Array) -> tuple[Any, ...]:
    """The sum of x x^T over rows that must not move; of several outputs, over pairs of classes."""
    p = part if frame is None else frame.problem(part)
    counted = np.ones(p.n) if p.weight is None else (p.weight > 0.0).astype(np.float64)
    stays = _must_stay(p, u)[0]
    if not p.loss.multi_output:
        return (_rowsums.gram(p, counted * stays),)
    pairs = counted[:, None] * stays
    own = np.eye(stays.shape[1])[p.y]

    def weights(k: int, l: int) -> Array:
        if k == l:
            return np.asarray(pairs[:, k] + own[:, k] * pairs.sum(axis=1))
        return np.asarray(-pairs[:, k] * own[:, l] - pairs[:, l] * own[:, k])

    total = _rowsums.matrix(p, stays.shape[1], weights)
    return (_rowsums.with_shifts(total, stays.shape[1]),)


def _rates(part: Problem, frame: Frame | None, u: Array, V: Array) -> tuple[Any, ...]:
    """How fast each other row goes its way along each of V; of several outputs, how fast the own
    class gains on each other class."""
    p = part if frame is None else frame.problem(part)
    stays, ways = _must_stay(p, u)
    counted = np.full(p.n, True) if p.weight is None else p.weight > 0.0
    speeds, noise = _speeds(p, V.reshape(*u.shape, -1))
    if not p.loss.multi_output:
        return ((ways[:, None] * speeds)[counted & ~stays],)
    here = np.arange(p.n)
    goes = counted[:, None] & ~stays
    goes[here, p.y] = False
    gains = speeds[here, p.y][:, None] - speeds
    return (np.where(np.abs(gains) <= noise, 0.0, gains)[goes],)


# -- the direction ---------------------------------------------------------------------------------


def _carries_all(rates: Array, c: Array) -> Array | None:
    """The combination c, or -c, if it carries off every row."""
    speeds = rates @ c
    least = _rowsums.NOISE * float(np.abs(speeds).max())
    if speeds.min() > least:
        return c
    if speeds.max() < -least:
        return -c
    return None


def _by_linear_program(rates: Array) -> Array | None:
    """The combination c that carries off most rows: max sum_i t_i with t_i <= rates_i . c and
    0 <= t_i <= 1. As c may be as long as it likes, t_i is 1 for rows that move and else 0."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack

    n, count = rates.shape
    answer = linprog(
        np.concatenate([np.zeros(count), -np.ones(n)]),
        A_ub=hstack([-rates, eye_array(n)]),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * count + [(0.0, 1.0)] * n,
    )
    if answer.x is None or answer.x[count:].max() < 0.5:
        return None
    return np.asarray(answer.x[:count])
