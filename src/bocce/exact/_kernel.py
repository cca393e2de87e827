"""The walk of `bocce.exact.row_walk`, to be compiled."""

from __future__ import annotations

import numpy as np

from ..schedules.moments import BatchTable
from ..schedules.schedule import FloatArray


def rest(start: FloatArray, r: int) -> FloatArray:
    """The state of `walk` at a start without velocity, of which the first r directions have noise.

    It holds the covariances of e and of v as upper triangles in the order of `Triangle`, the whole
    covariance of e with v, and the means of e and of v, one after the other.
    """
    return np.concatenate([np.zeros(r * (r + 1) + r * r), start, np.zeros(start.size)])


def walk(
    table: BatchTable,
    lam: FloatArray,
    quartic: FloatArray,
    cubic: FloatArray,
    constant: FloatArray,
    state: FloatArray,
    kept: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """E of the error along each eigenvalue, and its variance, after each step: two (T + 1, r).

    ``state`` (see `rest`) is moved on; ``kept[k]`` takes the state before step k, unless its size
    is 0. A variance that has overflown stays infinite.
    """
    alpha, beta, theta, zeta2 = table
    T = alpha.size
    r = cubic.shape[1]
    D = constant.size
    every = lam.size
    C = state[:D]
    C_v = state[D : 2 * D]
    first = 2 * D + r * r
    C_ev = state[2 * D : first].reshape(r, r)
    m = state[first : first + every]
    m_v = state[-every:]
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
        if kept.size > 0:
            kept[k] = state
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
