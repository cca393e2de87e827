"""The gradient of E f(w_T) - f* in all 3 T numbers of a schedule: the moments, run backwards.

The moments of a step are linear in the moments before it, and the three numbers of the step enter
as polynomials. So one pass forwards keeps the moments. One pass backwards carries their cotangents
(how much the final value rises with each moment) and gives the derivative in alpha, beta and theta
at every step. Three kinds of dynamics stand behind one interface: `Means` (the full
batch: the error is its mean), `GaussianMoments` (O(d) a step) and `RowMoments` (the table of a data
set, `adjoint_rows`). Where the moments of all steps would not fit in memory, some are kept and the
steps between them are repeated.

Derivation: docs/theory/best-schedule.md. Plain Python here; `compiled` hands the same functions to
numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..schedules.schedule import FloatArray, Table
from ._kernel import compiled
from .gaussian import at_rest, moments

KEPT_NUMBERS = 1 << 25  # moments kept at once: 256 MB


class Dynamics:
    """Moments as one array, a step forwards and a step backwards, by two kernels.

    ``forwards(table, *constants, state, kept)`` moves the state through the steps of a table;
    ``kept[k]`` takes the state before step k, unless its size is 0. ``backwards(table, *constants,
    kept, cotangent)`` moves a cotangent back and returns the derivatives in the table, (3, T).
    """

    def __init__(
        self,
        start: FloatArray,
        kernels: tuple[Callable[..., Any], Callable[..., Any]],
        *constants: Any,
    ) -> None:
        self.start, self.kernels, self.constants = start, kernels, constants

    def value(self, state: FloatArray) -> float:
        """What is asked for, of the last state."""
        raise NotImplementedError

    def cotangent(self, state: FloatArray) -> FloatArray:
        """The derivative of ``value`` in the last state."""
        raise NotImplementedError

    def forward(self, table: Table, state: FloatArray, kept: FloatArray) -> None:
        compiled(self.kernels[0])(table, *self.constants, state, kept)

    def backward(self, table: Table, kept: FloatArray, cotangent: FloatArray) -> FloatArray:
        found: FloatArray = compiled(self.kernels[1])(table, *self.constants, kept, cotangent)
        return found


def value_and_gradient(
    dynamics: Dynamics, table: Table, most: int = KEPT_NUMBERS
) -> tuple[float, FloatArray]:
    """The final value and its derivatives in (alpha, beta, theta), (3, T).

    The value is infinite, and the derivatives are 0, where the moments overflow. About ``most``
    numbers are kept.
    """
    T, state = table[0].size, dynamics.start.copy()
    stride = min(T, max(most // state.size, math.isqrt(T), 1))
    places = range(0, T, stride)
    starts = []
    for first in places:
        starts.append(state.copy())
        dynamics.forward(_part(table, first, stride), state, np.empty((0, *state.shape)))
    value = dynamics.value(state)
    gradient = np.zeros((3, T))
    if not math.isfinite(value):
        return math.inf, gradient
    cotangent = dynamics.cotangent(state)
    for first, begin in zip(reversed(places), reversed(starts)):
        part = _part(table, first, stride)
        kept = np.empty((part[0].size, *state.shape))
        dynamics.forward(part, begin, kept)
        gradient[:, first : first + stride] = dynamics.backward(part, kept, cotangent)
    return value, gradient


def _part(table: Table, first: int, length: int) -> Table:
    alpha, beta, theta = (np.ascontiguousarray(column[first : first + length]) for column in table)
    return alpha, beta, theta


class Means(Dynamics):
    """The error and the velocity along each eigenvalue, for steps on all rows."""

    def __init__(self, lam: FloatArray, errors: FloatArray, weights: FloatArray) -> None:
        super().__init__(
            np.stack([np.sqrt(errors), np.zeros(lam.size)]), (means_forward, means_backward), lam
        )
        self.lam, self.weights = lam, weights

    def value(self, state: FloatArray) -> float:
        return float(self.weights @ state[0] ** 2)

    def cotangent(self, state: FloatArray) -> FloatArray:
        return np.stack([2.0 * self.weights * state[0], np.zeros(self.lam.size)])


def means_forward(table: Table, lam: FloatArray, state: FloatArray, kept: FloatArray) -> None:
    """v becomes s v - x e and e becomes e + v, with x = alpha lam and s = beta - theta x."""
    alpha, beta, theta = table
    e, v = state[0], state[1]
    for k in range(alpha.size):
        if kept.size > 0:
            kept[k] = state
        for j in range(lam.size):
            x = alpha[k] * lam[j]
            v[j] = (beta[k] - theta[k] * x) * v[j] - x * e[j]
            e[j] += v[j]


def means_backward(
    table: Table, lam: FloatArray, kept: FloatArray, cotangent: FloatArray
) -> FloatArray:
    """The adjoint of ``means_forward``: d_NAME is the derivative of the final value in NAME."""
    alpha, beta, theta = table
    gradient = np.zeros((3, alpha.size))
    d_e, d_v = cotangent[0], cotangent[1]
    for k in range(alpha.size - 1, -1, -1):
        e, v = kept[k, 0], kept[k, 1]
        d_alpha, d_beta, d_theta = 0.0, 0.0, 0.0
        for j in range(lam.size):
            x = alpha[k] * lam[j]
            d_next = d_e[j] + d_v[j]
            d_s = d_next * v[j]
            d_alpha -= lam[j] * (d_next * e[j] + theta[k] * d_s)
            d_beta += d_s
            d_theta -= x * d_s
            d_v[j] = (beta[k] - theta[k] * x) * d_next
            d_e[j] -= x * d_next
        gradient[0, k], gradient[1, k], gradient[2, k] = d_alpha, d_beta, d_theta
    return gradient


class GaussianMoments(Dynamics):
    """The moments (p, c, q) of `bocce.exact.gaussian`, d of each."""

    def __init__(
        self,
        lam: FloatArray,
        errors: FloatArray,
        weights: FloatArray,
        zeta0_2: float,
        noise: float,
    ) -> None:
        super().__init__(at_rest(errors), (moments, gaussian_backward), lam, zeta0_2, noise)
        self.weights = weights

    def value(self, state: FloatArray) -> float:
        return float(self.weights @ state[0])

    def cotangent(self, state: FloatArray) -> FloatArray:
        return at_rest(self.weights)


def gaussian_backward(
    table: Table,
    lam: FloatArray,
    zeta0_2: float,
    noise: float,
    kept: FloatArray,
    cotangent: FloatArray,
) -> FloatArray:
    """The adjoint of ``gaussian.moments``: d_NAME is the derivative of the final value in NAME."""
    alpha, beta, theta = table
    T, d = alpha.size, lam.size
    gradient = np.zeros((3, T))
    d_p, d_c, d_q = cotangent[0], cotangent[1], cotangent[2]
    for k in range(T - 1, -1, -1):
        p, c, q = kept[k, 0], kept[k, 1], kept[k, 2]
        a, look = alpha[k], theta[k]
        strength = a * a * zeta0_2
        drive, d_drive = noise, 0.0
        for j in range(d):
            drive += lam[j] * (p[j] + 2.0 * look * c[j] + look * look * q[j])
            d_drive += strength * lam[j] * (d_p[j] + d_c[j] + d_q[j])
        d_a, d_beta, d_theta = 0.0, 0.0, 0.0
        for j in range(d):
            x = a * lam[j]
            s = beta[k] - look * x
            at_y = p[j] + 2.0 * look * c[j] + look * look * q[j]
            cross = s * c[j] - x * p[j]
            d_square = d_p[j] + d_c[j] + d_q[j]
            d_cross = 2.0 * d_p[j] + d_c[j] - x * d_square
            d_y = strength * lam[j] * lam[j] * d_square + lam[j] * d_drive
            d_s = d_square * (2.0 * s * q[j] - x * c[j]) + d_cross * c[j]
            d_x = -d_square * (s * c[j] + cross) - d_cross * p[j] - look * d_s
            d_beta += d_s
            d_theta += 2.0 * d_y * (c[j] + look * q[j]) - x * d_s
            d_a += lam[j] * d_x
            d_a += 2.0 * a * zeta0_2 * lam[j] * (lam[j] * at_y + drive) * d_square
            d_p[j] += d_y - x * d_cross
            d_c[j] = s * (d_cross - x * d_square) + 2.0 * look * d_y
            d_q[j] = s * s * d_square + look * look * d_y
        gradient[0, k], gradient[1, k], gradient[2, k] = d_a, d_beta, d_theta
    return gradient
