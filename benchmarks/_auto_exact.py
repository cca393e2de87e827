"""Exact expected dynamics of many schedules at once, for benchmarks/auto.py."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

import bocce
from bocce.exact import expected
from bocce.exact.moments import Tabulated, frame_of
from bocce.theory import zeta2

ACCURACY = 1e-6


def evolve(
    p: Any, tables: list[bocce.Schedule], b: int, averaged: int = 0
) -> tuple[np.ndarray, np.ndarray, float]:
    """E f(w_k) - f* (T+1, methods) and E||w_T - w*||^2: the recurrence of ``bocce.exact``.

    The third is E||mean of w_k over the second half - w*||^2 of the table number ``averaged``.
    """
    frame = frame_of("benchmark", p)
    noise = Tabulated(frame)
    t = noise.triangle
    gaps = np.empty((max(table.T for table in tables) + 1, len(tables)))
    final, tail = np.empty(len(tables)), math.inf
    for i, table in enumerate(tables):
        gap = np.full(len(gaps), math.inf)
        final[i], mean = moments(
            *(table.alpha, table.beta, table.theta, frame.lam, zeta2(p.n, b)),
            frame.along(np.zeros(p.d))[1][: frame.rank],
            *(noise.quartic, noise.cubic, noise.constant),
            *(t.rows, t.columns, t.scale * np.ones(len(t.rows)), gap),
        )
        gaps[:, i] = gap
        tail = mean if i == averaged else tail
    return gaps, final, tail


@numba.njit(cache=True)
def moments(alpha, beta, theta, lam, z, m0, quartic, cubic, constant, rows, columns, scale, gaps):
    """Means and covariances of the errors e and velocities v of one table, step by step.

    Fills ``gaps`` and returns E||e_T||^2 and that of the mean over the second half, S/count: the
    noise of a step is uncorrelated with the past, so cov(S, v_next) = s cov(S, v) - x cov(S, e) as
    for the means; then e_next = e + v_next and S_next = S + e_next. Infinite once it overflows.
    """
    T, r = alpha.size, lam.size
    m, m_v = m0.copy(), np.zeros(r)
    C, C_ev, C_v = np.zeros((r, r)), np.zeros((r, r)), np.zeros((r, r))
    total, S_e, S_v, S = np.zeros(r), np.zeros((r, r)), np.zeros((r, r)), np.zeros((r, r))
    count, error = 0, 0.0
    gaps[0] = 0.5 * (lam * m * m).sum()
    for k in range(T):
        x = alpha[k] * lam
        s = beta[k] - theta[k] * x
        if z > 0.0:
            m_y = m + theta[k] * m_v
            C_y = C + theta[k] * (C_ev + C_ev.T) + theta[k] ** 2 * C_v
            packed = np.empty(rows.size)
            for j in range(rows.size):
                p, q = rows[j], columns[j]
                packed[j] = scale[j] * (C_y[p, q] + m_y[p] * m_y[q])
            injected = (quartic @ packed + cubic @ m_y + constant) / scale
            e_next = C_ev * s - C * x
            v_next = C_v * s - C_ev.T * x
            C_v = s.reshape(-1, 1) * v_next - x.reshape(-1, 1) * e_next
            C_v = 0.5 * (C_v + C_v.T)
            for j in range(rows.size):
                p, q = rows[j], columns[j]
                C_v[p, q] += alpha[k] ** 2 * z * injected[j]
                if p != q:
                    C_v[q, p] += alpha[k] ** 2 * z * injected[j]
            C = C + e_next + e_next.T + C_v
            C_ev = e_next + C_v
        m_v = s * m_v - x * m
        m = m + m_v
        if 2 * k >= T:
            v_next = S_v * s - S_e * x
            e_next = S_e + v_next
            S = S + e_next + e_next.T + C
            S_e, S_v = e_next + C, v_next + C_ev
            count, total = count + 1, total + m
        size = m * m + np.maximum(np.diag(C), 0.0)
        error, gaps[k + 1] = size.sum(), 0.5 * (lam * size).sum()
        if not gaps[k + 1] < 1e200:
            gaps[k + 1 :] = np.inf
            return np.inf, np.inf
    return error, ((total * total).sum() + np.diag(S).sum()) / max(count, 1) ** 2


def steps_to(gap: np.ndarray) -> float:
    """The first k with gap <= 1e-6 of the first; by the rate where there is none."""
    reached = np.flatnonzero(gap <= ACCURACY * gap[0])
    if reached.size:
        return float(reached[0])
    progress = math.log(gap[0] / gap[-1]) if 0 < gap[-1] < gap[0] else 0.0
    return math.inf if progress <= 0 else (gap.size - 1) * math.log(1 / ACCURACY) / progress


def statistical_limit(p: Any, b: int, T: int) -> float:
    frame = frame_of("benchmark", p)
    S = Tabulated(frame).covariance(np.zeros((frame.rank, frame.rank)), np.zeros(frame.rank))
    return float(zeta2(p.n, b) * (np.diag(S) / frame.lam**2).sum() / T)


def check_against_package(p: Any, table: bocce.Schedule, b: int) -> None:
    gaps, final, _ = evolve(p, [table], b)
    curve = expected(p, table, b)
    np.testing.assert_allclose(gaps[:, 0], curve.gap, rtol=1e-6, atol=1e-14 * curve.gap[0])
    np.testing.assert_allclose(final[0], curve.error2[-1], rtol=1e-6, atol=1e-20)
