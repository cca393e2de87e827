"""How kernels of exact moments are compiled, and the walk of `bocce.exact.curves`, compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._compiled import on_disk
from ..schedules.schedule import FloatArray, Table

# Sums may be reordered and contracted, but NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}


@functools.cache
def compiled(body: Callable[..., Any]) -> Callable[..., Any]:
    """``body``, compiled when first asked for (numba is slow to import)."""
    kernel: Callable[..., Any] = on_disk(body, nogil=True, fastmath=FAST, error_model="numpy")
    return kernel


def rest(start: FloatArray, r: int) -> FloatArray:
    """The state of `walk` at a start without velocity, of which the first r directions have noise.

    It holds the covariances of e and of v as upper triangles in the order of `Triangle`, the whole
    covariance of e with v, and the means of e and of v, one after the other.
    """
    return np.concatenate([np.zeros(r * (r + 1) + r * r), start, np.zeros(start.size)])


def walk(
    table: Table,
    lam: FloatArray,
    quartic: FloatArray,
    cubic: FloatArray,
    constant: FloatArray,
    zeta0_2: float,
    state: FloatArray,
    kept: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """E of the error along each eigenvalue, and its variance, after each step: two (T + 1, r).

    ``state`` (see `rest`) is moved on; ``kept[k]`` takes the state before step k, unless its size
    is 0. A variance that has overflown stays infinite.
    """
    alpha, beta, theta = table
    T, r, D, every = alpha.size, cubic.shape[1], constant.size, lam.size
    C, C_v, first = state[:D], state[D : 2 * D], 2 * D + r * r
    C_ev, m, m_v = state[2 * D : first].reshape(r, r), state[first : first + every], state[-every:]
    means, variances = np.zeros((T + 1, every)), np.zeros((T + 1, r))
    P, injected = np.zeros(D), np.zeros(D)
    x, s, m_y = np.zeros(every), np.zeros(every), np.zeros(every)
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
                row, value, total = quartic[p], P[p], 0.0
                for q in range(p):
                    total += row[q] * P[q]
                    injected[q] += row[q] * value
                injected[p] += total + row[p] * value
                for i in range(r):
                    injected[p] += cubic[p, i] * m_y[i]
            strength = alpha[k] * alpha[k] * zeta0_2
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
