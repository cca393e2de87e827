"""The gradient of E f(w_T) - f* in all numbers of a schedule: the moments, run backwards.

One pass forwards keeps the moments. One pass backwards carries their cotangents (how much the final
value rises with each moment) and gives the derivative in alpha, beta, theta and zeta0^2 (the noise
of a batch) at every step. Three kinds of dynamics stand behind one interface: `Means` (the full
batch: the error is its mean), `GaussianMoments` (O(d) a step) and `RowMoments` (the table of a data
set). Where the moments of all steps would not fit in memory, some are stored and the steps between
them are repeated.

Derivation: docs/theory/best-schedule.md. Plain Python here; `compiled` compiles it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..schedules.moments import (
    BatchTable,
    at_rest,
    compiled,
    moments,
    moments_backward,
    with_batches,
)
from ..schedules.schedule import FloatArray, Table
from ._kernel import rest, walk, walk_backward
from .moments import Tabulated

STORED_NUMBERS = 1 << 25  # moments stored at once: 256 MB


class Dynamics:
    """Moments as one array, a step forwards and a step backwards, by two kernels.

    ``forwards(table, *constants, state, states)`` moves the state through the steps of a table;
    ``states[k]`` takes the state before step k, unless its size is 0. ``backwards(table,
    *constants, states, cotangent)`` moves a cotangent back and returns the derivatives in the
    table, (4, T). The
    fourth column of a table is zeta0^2; where a table has three, it is ``zeta0_2``. The value is
    the sum of ``linear s + square s^2`` over the numbers s of the last state.
    """

    def __init__(
        self,
        start: FloatArray,
        kernels: tuple[Callable[..., Any], Callable[..., Any]],
        linear: FloatArray | float,
        square: FloatArray | float,
        *constants: Any,
        zeta0_2: float = 0.0,
    ) -> None:
        self.start = start
        self.zeta0_2 = zeta0_2
        self.kernels = kernels
        self.constants = constants
        self.linear = linear
        self.square = square

    @property
    def noise_free(self) -> Means | None:
        """These dynamics, where sampling adds no noise to them."""
        return None

    def value(self, state: FloatArray) -> float:
        return float(np.sum(self.linear * state + self.square * state**2))

    def values(self, states: FloatArray) -> FloatArray:
        """``value`` of each of several states."""
        terms = self.linear * states + self.square * states**2
        found: FloatArray = terms.sum(axis=tuple(range(1, terms.ndim)))
        return found

    def cotangent(self, state: FloatArray) -> FloatArray:
        """The derivative of ``value`` in the last state."""
        return self.linear + 2.0 * self.square * state

    def forward(self, table: BatchTable, state: FloatArray, states: FloatArray) -> None:
        compiled(self.kernels[0])(table, *self.constants, state, states)

    def backward(self, table: BatchTable, states: FloatArray, cotangent: FloatArray) -> FloatArray:
        found: FloatArray = compiled(self.kernels[1])(table, *self.constants, states, cotangent)
        return found


def value_and_gradient(
    dynamics: Dynamics, table: Table | BatchTable, most: int = STORED_NUMBERS
) -> tuple[float, FloatArray]:
    """The final value and its derivatives in the columns of the table, (3, T) or (4, T).

    The value is infinite, and the derivatives are 0, where the moments overflow. About ``most``
    numbers are stored.
    """
    T = table[0].size
    columns = len(table)
    full = table if len(table) == 4 else with_batches(table, dynamics.zeta0_2)
    state = dynamics.start.copy()
    stride = min(T, max(most // state.size, math.isqrt(T), 1))
    places = range(0, T, stride)
    starts = []
    for first in places:
        starts.append(state.copy())
        dynamics.forward(_part(full, first, stride), state, np.empty((0, *state.shape)))
    value = dynamics.value(state)
    gradient = np.zeros((columns, T))
    if not math.isfinite(value):
        return math.inf, gradient
    cotangent = dynamics.cotangent(state)
    for first, begin in zip(reversed(places), reversed(starts)):
        part = _part(full, first, stride)
        states = np.empty((part[0].size, *state.shape))
        dynamics.forward(part, begin, states)
        gradient[:, first : first + stride] = dynamics.backward(part, states, cotangent)[:columns]
    return value, gradient


def _part(table: BatchTable, first: int, length: int) -> BatchTable:
    place = slice(first, first + length)
    alpha, beta, theta, zeta2 = (np.ascontiguousarray(column[place]) for column in table)
    return alpha, beta, theta, zeta2


class Means(Dynamics):
    """The error and the velocity along each eigenvalue, for steps on all rows."""

    def __init__(self, lam: FloatArray, errors: FloatArray, weights: FloatArray) -> None:
        start, square = (np.stack([x, np.zeros(lam.size)]) for x in (np.sqrt(errors), weights))
        super().__init__(start, (means_forward, means_backward), 0.0, square, lam)
        self.lam = lam
        self.weights = weights

    @property
    def noise_free(self) -> Means | None:
        return self


def means_forward(
    table: BatchTable, lam: FloatArray, state: FloatArray, states: FloatArray
) -> None:
    """v becomes s v - x e and e becomes e + v, with x = alpha lam and s = beta - theta x."""
    alpha, beta, theta, _ = table
    e = state[0]
    v = state[1]
    for k in range(alpha.size):
        if states.size > 0:
            states[k] = state
        for j in range(lam.size):
            x = alpha[k] * lam[j]
            v[j] = (beta[k] - theta[k] * x) * v[j] - x * e[j]
            e[j] += v[j]


def means_backward(
    table: BatchTable, lam: FloatArray, states: FloatArray, cotangent: FloatArray
) -> FloatArray:
    """The adjoint of ``means_forward``: d_NAME is the derivative of the final value in NAME."""
    alpha, beta, theta, _ = table
    gradient = np.zeros((4, alpha.size))
    d_e = cotangent[0]
    d_v = cotangent[1]
    for k in range(alpha.size - 1, -1, -1):
        e = states[k, 0]
        v = states[k, 1]
        d_alpha = 0.0
        d_beta = 0.0
        d_theta = 0.0
        for j in range(lam.size):
            x = alpha[k] * lam[j]
            d_next = d_e[j] + d_v[j]
            d_s = d_next * v[j]
            d_alpha -= lam[j] * (d_next * e[j] + theta[k] * d_s)
            d_beta += d_s
            d_theta -= x * d_s
            d_v[j] = (beta[k] - theta[k] * x) * d_next
            d_e[j] -= x * d_next
        gradient[0, k] = d_alpha
        gradient[1, k] = d_beta
        gradient[2, k] = d_theta
    return gradient


class GaussianMoments(Dynamics):
    """The moments (p, c, q) of `bocce.schedules.moments`, d of each."""

    def __init__(
        self,
        lam: FloatArray,
        errors: FloatArray,
        weights: FloatArray,
        zeta0_2: float,
        noise: float,
    ) -> None:
        start = at_rest(errors)
        linear = at_rest(weights)
        constants = (lam, np.ones(lam.size), noise)
        kernels = (moments, moments_backward)
        super().__init__(start, kernels, linear, 0.0, *constants, zeta0_2=zeta0_2)

    def backward(self, table: BatchTable, states: FloatArray, cotangent: FloatArray) -> FloatArray:
        found: FloatArray
        found, _ = compiled(self.kernels[1])(table, *self.constants, states, cotangent)
        return found


class RowMoments(Dynamics):
    """The means and covariances that `_kernel.walk` moves, of a data set with its own table of N.

    Directions that no row touches have a mean alone, after the others.
    """

    def __init__(
        self,
        lam: FloatArray,
        start: FloatArray,
        weights: FloatArray,
        noise: Tabulated,
        zeta0_2: float,
    ) -> None:
        triangle = noise.triangle
        state = rest(start, triangle.d)
        linear, square = np.zeros((2, state.size))
        linear[: triangle.D][triangle.rows == triangle.columns] = weights[: triangle.d]
        square[-2 * lam.size : -lam.size] = weights
        constants = (lam, noise.quartic, noise.cubic, noise.constant)
        kernels = (walk, walk_backward)
        super().__init__(state, kernels, linear, square, *constants, zeta0_2=zeta0_2)
