"""The moments of a data set with its own table of fourth moments, backwards."""

from __future__ import annotations

import math

import numpy as np

from ..schedules.schedule import FloatArray, Table
from ._kernel import rest, walk
from .adjoint import Dynamics
from .moments import Tabulated


class RowMoments(Dynamics):
    """The means and covariances that `_kernel.walk` moves, of a data set with its own table of N.

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
        means, tables = np.append(start, math.sqrt(outside2)), (noise.quartic, noise.cubic)
        state, constants = rest(means, start.size), (lam, *tables, noise.constant, zeta0_2)
        super().__init__(state, (walk, rows_backward), *constants)
        self.weights, self.D = weights, noise.triangle.D
        self.diagonal = np.flatnonzero(noise.triangle.rows == noise.triangle.columns)
        self.means = slice(state.size - 2 * lam.size, state.size - lam.size)

    def value(self, state: FloatArray) -> float:
        variances = self.weights[:-1] @ state[self.diagonal]
        return float(variances + self.weights @ state[self.means] ** 2)

    def cotangent(self, state: FloatArray) -> FloatArray:
        found = np.zeros(state.size)
        found[self.diagonal] = self.weights[:-1]
        found[self.means] = 2.0 * self.weights * state[self.means]
        return found


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
