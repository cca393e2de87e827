"""The moments of a data set with its own table of fourth moments, forwards and backwards."""

from __future__ import annotations

import math

import numpy as np

from ..schedules.schedule import FloatArray, Table
from .adjoint import Dynamics
from .moments import Tabulated


class RowMoments(Dynamics):
    """E e e^T, E e v^T, E v v^T (r x r each) and E e, E v, of a data set with its own table of N.

    A direction that no row touches has a mean alone: it is the last one of the means.
    """

    def __init__(
        self,
        lam: FloatArray,
        start: FloatArray,
        outside2: float,
        weights: FloatArray,
        noise: Tabulated,
        zeta0_2: float,
    ) -> None:
        self.r = r = start.size
        self.weights = weights
        state = np.zeros(3 * r * r + 2 * (r + 1))
        state[: r * r] = np.outer(start, start).ravel()
        state[3 * r * r : 3 * r * r + r + 1] = np.append(start, math.sqrt(outside2))
        tables = (noise.quartic, noise.cubic, noise.constant, noise.triangle.scale)
        super().__init__(state, (rows_forward, rows_backward), lam, *tables, zeta0_2)

    def _parts(self, state: FloatArray) -> tuple[FloatArray, float]:
        """E e_i^2 along the spectrum, and the mean outside of it."""
        r = self.r
        return state[: r * r : r + 1], float(state[3 * r * r + r])

    def value(self, state: FloatArray) -> float:
        inside, outside = self._parts(state)
        return float(self.weights[:-1] @ inside + self.weights[-1] * outside**2)

    def cotangent(self, state: FloatArray) -> FloatArray:
        r, found = self.r, np.zeros(state.size)
        found[: r * r : r + 1] = self.weights[:-1]
        found[3 * r * r + r] = 2.0 * self.weights[-1] * self._parts(state)[1]
        return found


def rows_forward(
    table: Table,
    lam: FloatArray,
    quartic: FloatArray,
    cubic: FloatArray,
    constant: FloatArray,
    scale: FloatArray,
    zeta0_2: float,
    state: FloatArray,
    kept: FloatArray,
) -> None:
    """The step of ``curves.walk`` in second moments that are not centred, all r x r numbers."""
    alpha, beta, theta = table
    r, D = lam.size - 1, constant.size
    size = r * r
    P, K = state[:size].reshape(r, r), state[size : 2 * size].reshape(r, r)
    Q = state[2 * size : 3 * size].reshape(r, r)
    m, v = state[3 * size : 3 * size + r + 1], state[3 * size + r + 1 :]
    at_y, e_next, N = np.empty(D), np.empty((r, r)), np.empty((r, r))
    for k in range(alpha.size):
        if kept.size > 0:
            kept[k] = state
        look, strength = theta[k], alpha[k] ** 2 * zeta0_2
        x = alpha[k] * lam
        s = beta[k] - look * x
        place = 0
        for i in range(r):
            for j in range(i, r):
                second = P[i, j] + look * (K[i, j] + K[j, i]) + look * look * Q[i, j]
                at_y[place] = scale[place] * second
                place += 1
        injected = quartic @ at_y + cubic @ (m[:r] + look * v[:r]) + constant
        place = 0
        for i in range(r):
            for j in range(i, r):
                N[i, j] = N[j, i] = strength * injected[place] / scale[place]
                place += 1
        for i in range(r):
            for j in range(r):
                e_next[i, j] = K[i, j] * s[j] - P[i, j] * x[j]
        for i in range(r):
            for j in range(i, r):
                v_next = Q[i, j] * s[j] - K[j, i] * x[j]
                Q[i, j] = s[i] * v_next - x[i] * e_next[i, j] + N[i, j]
                Q[j, i] = Q[i, j]
        for i in range(r):
            for j in range(r):
                P[i, j] += e_next[i, j] + e_next[j, i] + Q[i, j]
                K[i, j] = e_next[i, j] + Q[i, j]
        for i in range(r + 1):
            v[i] = s[i] * v[i] - x[i] * m[i]
            m[i] += v[i]


def rows_backward(
    table: Table,
    lam: FloatArray,
    quartic: FloatArray,
    cubic: FloatArray,
    constant: FloatArray,
    scale: FloatArray,
    zeta0_2: float,
    kept: FloatArray,
    cotangent: FloatArray,
) -> FloatArray:
    """The adjoint of ``rows_forward``: d_NAME is the derivative of the final value in NAME."""
    alpha, beta, theta = table
    r, D, T = lam.size - 1, constant.size, alpha.size
    size = r * r
    d_P, d_K = cotangent[:size].reshape(r, r), cotangent[size : 2 * size].reshape(r, r)
    d_Q = cotangent[2 * size : 3 * size].reshape(r, r)
    d_m, d_v = cotangent[3 * size : 3 * size + r + 1], cotangent[3 * size + r + 1 :]
    at_y, d_N = np.empty(D), np.empty(D)
    d_square, d_cross, d_y = np.empty((r, r)), np.empty((r, r)), np.empty((r, r))
    gradient = np.zeros((3, T))
    for k in range(T - 1, -1, -1):
        P, K = kept[k, :size].reshape(r, r), kept[k, size : 2 * size].reshape(r, r)
        Q = kept[k, 2 * size : 3 * size].reshape(r, r)
        m, v = kept[k, 3 * size : 3 * size + r + 1], kept[k, 3 * size + r + 1 :]
        look, strength = theta[k], alpha[k] ** 2 * zeta0_2
        x = alpha[k] * lam
        s = beta[k] - look * x
        d_s, d_x = np.zeros(r + 1), np.zeros(r + 1)
        place = 0
        for i in range(r):
            for j in range(i, r):
                second = P[i, j] + look * (K[i, j] + K[j, i]) + look * look * Q[i, j]
                at_y[place] = scale[place] * second
                both = d_K[i, j] + d_K[j, i]
                d_square[i, j] = d_square[j, i] = d_Q[i, j] + d_P[i, j] + 0.5 * both
                d_N[place] = scale[place] * d_square[i, j]
                place += 1
        injected = quartic @ at_y + cubic @ (m[:r] + look * v[:r]) + constant
        packed = quartic @ d_N  # the table is symmetric
        d_mean = strength * (d_N @ cubic)
        gradient[0, k] = 2.0 * alpha[k] * zeta0_2 * (d_N @ injected)
        place = 0
        for i in range(r):
            for j in range(i, r):
                d_y[i, j] = d_y[j, i] = strength * packed[place] / scale[place]
                place += 1
        d_theta = 0.0
        for i in range(r):
            for j in range(r):
                cross = K[i, j] * s[j] - P[i, j] * x[j]
                v_next = Q[i, j] * s[j] - K[j, i] * x[j]
                d_cross[i, j] = 2.0 * d_P[i, j] + d_K[i, j] - x[i] * d_square[i, j]
                d_next = s[i] * d_square[i, j]
                d_s[i] += d_square[i, j] * v_next
                d_x[i] -= d_square[i, j] * cross
                d_s[j] += d_cross[i, j] * K[i, j] + d_next * Q[i, j]
                d_x[j] -= d_cross[i, j] * P[i, j] + d_next * K[j, i]
                d_theta += 2.0 * d_y[i, j] * (K[i, j] + look * Q[i, j])
        for i in range(r):
            for j in range(i, r):
                turned = 0.5 * (d_cross[i, j] * x[j] + d_cross[j, i] * x[i])
                d_P[i, j] += d_y[i, j] - turned
                d_P[j, i] = d_P[i, j]
                d_Q[i, j] = s[i] * s[j] * d_square[i, j] + look * look * d_y[i, j]
                d_Q[j, i] = d_Q[i, j]
        for i in range(r):
            for j in range(r):
                d_K[i, j] = d_cross[i, j] * s[j] - s[j] * x[i] * d_square[j, i]
                d_K[i, j] += 2.0 * look * d_y[i, j]
        for i in range(r + 1):
            d_v[i] += d_m[i]
            d_s[i] += d_v[i] * v[i]
            d_x[i] -= d_v[i] * m[i]
            d_m[i] -= x[i] * d_v[i]
            d_v[i] *= s[i]
            if i < r:
                d_theta += d_mean[i] * v[i]
                d_m[i] += d_mean[i]
                d_v[i] += look * d_mean[i]
            d_x[i] -= look * d_s[i]
            d_theta -= x[i] * d_s[i]
            gradient[0, k] += lam[i] * d_x[i]
            gradient[1, k] += d_s[i]
        gradient[2, k] = d_theta
    return gradient
