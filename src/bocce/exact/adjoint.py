"""The gradient of E f(w_T) - f* in all 3 T numbers of a schedule: the moments, run backwards.

One pass forwards keeps the moments. One pass backwards carries their cotangents (how much the final
value rises with each moment) and gives the derivative in alpha, beta and theta at every step. Three
kinds of dynamics stand behind one interface: `Means` (the full batch: the error is its mean),
`GaussianMoments` (O(d) a step) and `RowMoments` (the table of a data set). Where the moments of all
steps would not fit in memory, some are kept and the steps between them are repeated.

Derivation: docs/theory/best-schedule.md. Plain Python here; `compiled` compiles it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..schedules.schedule import FloatArray, Table
from ._kernel import compiled, rest, walk
from .gaussian import at_rest, moments
from .moments import Tabulated

KEPT_NUMBERS = 1 << 25  # moments kept at once: 256 MB


class Dynamics:
    """Moments as one array, a step forwards and a step backwards, by two kernels.

    ``forwards(table, *constants, state, kept)`` moves the state through the steps of a table;
    ``kept[k]`` takes the state before step k, unless its size is 0. ``backwards(table, *constants,
    kept, cotangent)`` moves a cotangent back and returns the derivatives in the table, (3, T). What
    is asked for is the sum of ``linear s + square s^2`` over the numbers s of the last state.
    """

    def __init__(
        self,
        start: FloatArray,
        kernels: tuple[Callable[..., Any], Callable[..., Any]],
        linear: FloatArray | float,
        square: FloatArray | float,
        *constants: Any,
    ) -> None:
        self.start, self.kernels, self.constants = start, kernels, constants
        self.linear, self.square = linear, square

    def value(self, state: FloatArray) -> float:
        return float(np.sum(self.linear * state + self.square * state**2))

    def cotangent(self, state: FloatArray) -> FloatArray:
        """The derivative of ``value`` in the last state."""
        return self.linear + 2.0 * self.square * state

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
        start, square = (np.stack([x, np.zeros(lam.size)]) for x in (np.sqrt(errors), weights))
        super().__init__(start, (means_forward, means_backward), 0.0, square, lam)
        self.lam, self.weights = lam, weights


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
        start, linear = at_rest(errors), at_rest(weights)
        super().__init__(start, (moments, gaussian_backward), linear, 0.0, lam, zeta0_2, noise)


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
        constants = (lam, noise.quartic, noise.cubic, noise.constant, zeta0_2)
        super().__init__(state, (walk, rows_backward), linear, square, *constants)


def rows_backward(
    table: Table,
    lam: FloatArray,
    quartic: FloatArray,
    cubic: FloatArray,
    constant: FloatArray,
    zeta0_2: float,
    kept: FloatArray,
    cotangent: FloatArray,
) -> FloatArray:
    """The adjoint of ``walk``: d_NAME is the derivative of the final value in NAME.

    Off the diagonal e_ij and e_ji are two numbers, on it they are one number that enters twice.
    """
    alpha, beta, theta = table
    T, r, D, every = alpha.size, cubic.shape[1], constant.size, lam.size
    first = 2 * D + r * r
    d_C, d_Cv, d_Cev = cotangent[:D], cotangent[D : 2 * D], cotangent[2 * D : first].reshape(r, r)
    d_m, d_v = cotangent[first : first + every], cotangent[-every:]
    P, d_square, d_fresh, scale = np.empty(D), np.empty(D), np.empty(D), np.empty(D)
    gradient = np.zeros((3, T))
    for k in range(T - 1, -1, -1):
        C, C_v, C_ev = kept[k, :D], kept[k, D : 2 * D], kept[k, 2 * D : first].reshape(r, r)
        m, v = kept[k, first : first + every], kept[k, first + every :]
        look, strength = theta[k], alpha[k] ** 2 * zeta0_2
        x = alpha[k] * lam
        s = beta[k] - look * x
        m_y = (m + look * v)[:r]
        d_s, d_x = np.zeros(every), np.zeros(every)
        p = 0
        for i in range(r):
            for j in range(i, r):
                scale[p] = 1.0 if i == j else np.sqrt(2.0)
                second = C[p] + look * (C_ev[i, j] + C_ev[j, i]) + look * look * C_v[p]
                P[p] = scale[p] * (second + m_y[i] * m_y[j])
                d_square[p] = d_Cv[p] + d_C[p] + d_Cev[i, j] + (d_Cev[j, i] if i < j else 0.0)
                d_fresh[p] = d_square[p] / scale[p]
                p += 1
        injected = quartic @ P + cubic @ m_y + constant
        d_P = strength * (quartic @ d_fresh)  # the table is symmetric
        d_mean = strength * (d_fresh @ cubic)
        d_alpha, d_theta = 2.0 * alpha[k] * zeta0_2 * (d_fresh @ injected), 0.0
        p = 0
        for i in range(r):
            for j in range(i, r):
                e_ij = C_ev[i, j] * s[j] - C[p] * x[j]
                v_ij = C_v[p] * s[j] - C_ev[j, i] * x[j]
                d_second, d_vij = scale[p] * d_P[p], s[i] * d_square[p]
                d_eij = d_C[p] + d_Cev[i, j] - x[i] * d_square[p]
                d_eji = d_C[p] + (d_Cev[j, i] if i < j else 0.0)
                d_mean[i] += d_second * m_y[j]
                d_mean[j] += d_second * m_y[i]
                d_theta += d_second * (C_ev[i, j] + C_ev[j, i] + 2.0 * look * C_v[p])
                d_s[i] += d_square[p] * v_ij + d_eji * C_ev[j, i]
                d_s[j] += d_eij * C_ev[i, j] + d_vij * C_v[p]
                d_x[i] -= d_square[p] * e_ij + d_eji * C[p]
                d_x[j] -= d_eij * C[p] + d_vij * C_ev[j, i]
                d_C[p] += d_second - x[j] * d_eij - x[i] * d_eji
                d_Cv[p] = look * look * d_second + s[j] * d_vij
                d_Cev[i, j] = look * d_second + s[j] * d_eij
                below = look * d_second + s[i] * d_eji - x[j] * d_vij
                d_Cev[j, i] = below + (d_Cev[i, j] if i == j else 0.0)
                p += 1
        for i in range(every):
            d_next = d_m[i] + d_v[i]
            d_s[i] += d_next * v[i]
            d_x[i] -= d_next * m[i]
            d_m[i] -= x[i] * d_next
            d_v[i] = s[i] * d_next
            if i < r:
                d_theta += d_mean[i] * v[i]
                d_m[i] += d_mean[i]
                d_v[i] += look * d_mean[i]
            d_x[i] -= look * d_s[i]
            d_theta -= x[i] * d_s[i]
            d_alpha += lam[i] * d_x[i]
            gradient[1, k] += d_s[i]
        gradient[0, k], gradient[2, k] = d_alpha, d_theta
    return gradient
