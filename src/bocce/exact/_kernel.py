"""The walk of `bocce.exact.row_walk` and its adjoint, to be compiled.

C, C_v and C_ev are the covariances of (e, e), (v, v) and (e, v) along the r directions with noise.
C and C_v are symmetric: their upper triangles lie one after the other, in the order of `Triangle`.
m and m_v are the means of e and of v along every direction. With ``x = alpha lam`` and
``s = beta - theta x``, a step is ``v <- s v - x e - alpha (noise)`` and then ``e <- e + v``. In the
adjoint, d_NAME is the derivative of the final value in NAME.
"""

from __future__ import annotations

import numpy as np

from .._compiled import part
from ..schedules.moments import KERNEL, BatchTable
from ..schedules.schedule import FloatArray

Covariances = tuple[FloatArray, FloatArray, FloatArray]  # C, C_v and C_ev


def rest(start: FloatArray, r: int) -> FloatArray:
    """The state of `walk` at a start without velocity, of which the first r directions have noise.

    It holds C, C_v, C_ev, m and m_v, one after the other.
    """
    return np.concatenate([np.zeros(r * (r + 1) + r * r), start, np.zeros(start.size)])


def walk(
    table: BatchTable,
    lam: FloatArray,
    quartic: FloatArray,
    cubic: FloatArray,
    constant: FloatArray,
    state: FloatArray,
    states: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """E of the error along each eigenvalue, and its variance, after each step: two (T + 1, r).

    ``state`` (see `rest`) is moved on; ``states[k]`` takes the state before step k, unless its size
    is 0. A variance that has overflown stays infinite.
    """
    alpha, beta, theta, zeta2 = table
    T = alpha.size
    r = cubic.shape[1]
    D = constant.size
    every = lam.size
    (C, C_v, C_ev), m, m_v = parts_of(state, r, every)
    means = np.zeros((T + 1, every))
    variances = np.zeros((T + 1, r))
    P = np.zeros(D)
    injected = np.zeros(D)
    x = np.zeros(every)
    s = np.zeros(every)
    m_y = np.zeros(every)
    root2 = np.sqrt(2.0)
    noisy = True
    means[0] = m
    for k in range(T):
        if states.size > 0:
            states[k] = state
        look = theta[k]
        for i in range(every):
            x[i] = alpha[k] * lam[i]
            s[i] = beta[k] - look * x[i]
            m_y[i] = m[i] + look * m_v[i]
        if noisy:
            p = 0
            for i in range(r):  # the second moment at y, packed: off the diagonal times sqrt(2)
                for j in range(i, r):
                    second = C[p] + look * (C_ev[i, j] + C_ev[j, i]) + look * look * C_v[p]
                    second += m_y[i] * m_y[j]
                    P[p] = second if i == j else root2 * second
                    p += 1
            for p in range(D):  # quartic P + cubic m_y + constant; half of the symmetric table
                injected[p] = constant[p]
            for p in range(D):
                row = quartic[p]
                value = P[p]
                total = 0.0
                for q in range(p):
                    total += row[q] * P[q]
                    injected[q] += row[q] * value
                injected[p] += total + row[p] * value
                for i in range(r):
                    injected[p] += cubic[p, i] * m_y[i]
            strength = alpha[k] * alpha[k] * zeta2[k]
            p = 0
            finite = True
            for i in range(r):
                for j in range(i, r):
                    e_ij = C_ev[i, j] * s[j] - C[p] * x[j]  # E e v_next^T, centred
                    e_ji = C_ev[j, i] * s[i] - C[p] * x[i]
                    v_ij = C_v[p] * s[j] - C_ev[j, i] * x[j]
                    fresh = injected[p] if i == j else injected[p] / root2
                    C_v[p] = s[i] * v_ij - x[i] * e_ij + strength * fresh
                    C[p] += e_ij + e_ji + C_v[p]
                    C_ev[i, j] = e_ij + C_v[p]
                    C_ev[j, i] = e_ji + C_v[p]
                    if i == j:
                        variances[k + 1, i] = max(C[p], 0.0)
                        finite = finite and np.isfinite(C[p])
                    p += 1
            if not finite:
                variances[k + 1 :] = np.inf
                noisy = False
        for i in range(every):
            m_v[i] = s[i] * m_v[i] - x[i] * m[i]
            m[i] += m_v[i]
        means[k + 1] = m
    return means, variances


def walk_backward(
    table: BatchTable,
    lam: FloatArray,
    quartic: FloatArray,
    cubic: FloatArray,
    constant: FloatArray,
    states: FloatArray,
    cotangent: FloatArray,
) -> FloatArray:
    """The adjoint of ``walk``: derivatives of the final value in the table, (4, T).

    ``cotangent``, the derivative in the last state, becomes the derivative in the first.
    """
    alpha, beta, theta, zeta2 = table
    T = alpha.size
    r = cubic.shape[1]
    d_covariances, d_m, d_v = parts_of(cotangent, r, lam.size)
    P = np.empty(constant.size)
    d_square = np.empty(constant.size)
    d_fresh = np.empty(constant.size)
    gradient = np.zeros((4, T))
    for k in range(T - 1, -1, -1):
        covariances, m, v = parts_of(states[k], r, lam.size)
        strength = alpha[k] ** 2 * zeta2[k]
        x = alpha[k] * lam
        s = beta[k] - theta[k] * x
        d_x = np.zeros(lam.size)
        d_s = np.zeros(lam.size)
        m_y = m[:r] + theta[k] * v[:r]
        second_moment(covariances, m_y, theta[k], P)
        noise_derivatives(d_covariances, d_square, d_fresh)
        injected = quartic @ P + cubic @ m_y + constant
        d_P = strength * (quartic @ d_fresh)  # the table is symmetric
        d_mean = strength * (d_fresh @ cubic)
        d_strength = d_fresh @ injected
        d_theta = move_covariances_back(
            covariances, m_y, x, s, theta[k], d_P, d_square, d_covariances, d_mean, d_s, d_x
        )
        rates = move_means_back(lam, m, v, x, s, theta[k], d_mean, d_m, d_v, d_s, d_x)
        gradient[0, k] = 2.0 * alpha[k] * zeta2[k] * d_strength + rates[0]
        gradient[1, k] = rates[1]
        gradient[2, k] = d_theta + rates[2]
        gradient[3, k] = alpha[k] ** 2 * d_strength
    return gradient


@part(forceinline=True, **KERNEL)
def parts_of(state: FloatArray, r: int, every: int) -> tuple[Covariances, FloatArray, FloatArray]:
    """The parts of a state: C, C_v and C_ev of r directions, the means of ``every`` direction."""
    D = r * (r + 1) // 2
    first = 2 * D + r * r
    covariances = (state[:D], state[D : 2 * D], state[2 * D : first].reshape(r, r))
    return covariances, state[first : first + every], state[first + every :]


@part(forceinline=True, **KERNEL)
def second_moment(covariances: Covariances, m_y: FloatArray, theta: float, P: FloatArray) -> None:
    """P takes the second moment at y, packed: off the diagonal times sqrt(2)."""
    C, C_v, C_ev = covariances
    root2 = np.sqrt(2.0)
    p = 0
    for i in range(C_ev.shape[0]):
        for j in range(i, C_ev.shape[0]):
            second = C[p] + theta * (C_ev[i, j] + C_ev[j, i]) + theta * theta * C_v[p]
            second += m_y[i] * m_y[j]
            P[p] = second if i == j else root2 * second
            p += 1


@part(forceinline=True, **KERNEL)
def noise_derivatives(
    d_covariances: Covariances, d_square: FloatArray, d_fresh: FloatArray
) -> None:
    """The derivatives in C_v after the step, and in the noise that the step has injected."""
    d_C, d_Cv, d_Cev = d_covariances
    root2 = np.sqrt(2.0)
    p = 0
    for i in range(d_Cev.shape[0]):
        for j in range(i, d_Cev.shape[0]):
            d_square[p] = d_Cv[p] + d_C[p] + d_Cev[i, j] + (d_Cev[j, i] if i < j else 0.0)
            d_fresh[p] = d_square[p] if i == j else d_square[p] / root2
            p += 1


@part(forceinline=True, **KERNEL)
def move_covariances_back(
    covariances: Covariances,
    m_y: FloatArray,
    x: FloatArray,
    s: FloatArray,
    theta: float,
    d_P: FloatArray,
    d_square: FloatArray,
    d_covariances: Covariances,
    d_mean: FloatArray,
    d_s: FloatArray,
    d_x: FloatArray,
) -> float:
    """Move the derivatives in C, C_v and C_ev to before the step; returns the one in theta.

    Off the diagonal e_ij and e_ji are two numbers, on it they are one number that enters twice.
    """
    C, C_v, C_ev = covariances
    d_C, d_Cv, d_Cev = d_covariances
    root2 = np.sqrt(2.0)
    d_theta = 0.0
    p = 0
    for i in range(C_ev.shape[0]):
        for j in range(i, C_ev.shape[0]):
            e_ij = C_ev[i, j] * s[j] - C[p] * x[j]
            v_ij = C_v[p] * s[j] - C_ev[j, i] * x[j]
            d_second = d_P[p] if i == j else root2 * d_P[p]
            d_vij = s[i] * d_square[p]
            d_eij = d_C[p] + d_Cev[i, j] - x[i] * d_square[p]
            d_eji = d_C[p] + (d_Cev[j, i] if i < j else 0.0)
            d_mean[i] += d_second * m_y[j]
            d_mean[j] += d_second * m_y[i]
            d_theta += d_second * (C_ev[i, j] + C_ev[j, i] + 2.0 * theta * C_v[p])
            d_s[i] += d_square[p] * v_ij + d_eji * C_ev[j, i]
            d_s[j] += d_eij * C_ev[i, j] + d_vij * C_v[p]
            d_x[i] -= d_square[p] * e_ij + d_eji * C[p]
            d_x[j] -= d_eij * C[p] + d_vij * C_ev[j, i]
            d_C[p] += d_second - x[j] * d_eij - x[i] * d_eji
            d_Cv[p] = theta * theta * d_second + s[j] * d_vij
            d_Cev[i, j] = theta * d_second + s[j] * d_eij
            below = theta * d_second + s[i] * d_eji - x[j] * d_vij
            d_Cev[j, i] = below + (d_Cev[i, j] if i == j else 0.0)
            p += 1
    return d_theta


@part(forceinline=True, **KERNEL)
def move_means_back(
    lam: FloatArray,
    m: FloatArray,
    v: FloatArray,
    x: FloatArray,
    s: FloatArray,
    theta: float,
    d_mean: FloatArray,
    d_m: FloatArray,
    d_v: FloatArray,
    d_s: FloatArray,
    d_x: FloatArray,
) -> tuple[float, float, float]:
    """Move the derivatives in the means; returns what x and s add in alpha, beta and theta."""
    d_alpha = 0.0
    d_beta = 0.0
    d_theta = 0.0
    for i in range(lam.size):
        d_next = d_m[i] + d_v[i]
        d_s[i] += d_next * v[i]
        d_x[i] -= d_next * m[i]
        d_m[i] -= x[i] * d_next
        d_v[i] = s[i] * d_next
        if i < d_mean.size:
            d_theta += d_mean[i] * v[i]
            d_m[i] += d_mean[i]
            d_v[i] += theta * d_mean[i]
        d_x[i] -= theta * d_s[i]
        d_theta -= x[i] * d_s[i]
        d_alpha += lam[i] * d_x[i]
        d_beta += d_s[i]
    return d_alpha, d_beta, d_theta
