"""Exact expected dynamics of many schedules at once, for benchmarks/auto.py."""

from __future__ import annotations

import math
from typing import Any

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
    noise, lam, z = Tabulated(frame), frame.lam, zeta2(p.n, b)
    t = noise.triangle
    M, r, T = len(tables), frame.rank, max(table.T for table in tables)
    columns = [np.array([getattr(s, name) for s in tables]) for name in ("alpha", "beta", "theta")]
    m = np.repeat(frame.split(np.zeros(p.d))[0][None], M, axis=0)
    m_v, C, C_ev, C_v = np.zeros((M, r)), *np.zeros((3, M, r, r))
    gaps = np.empty((T + 1, M))
    tail = Tail(r)
    gaps[0] = 0.5 * (m * m) @ lam
    for k in range(T):
        alpha, beta, theta = (column[:, k, None] for column in columns)
        x = alpha * lam
        s = beta - theta * x
        if z > 0:
            look = theta[:, :, None]
            C_y = C + look * (C_ev + C_ev.transpose(0, 2, 1)) + look**2 * C_v
            m_y = m + theta * m_v
            P = C_y + m_y[:, :, None] * m_y[:, None, :]
            packed = P[:, t.rows, t.columns] * t.scale @ noise._quartic.T
            packed += m_y @ noise._cubic.T + noise._constant
            injected = (packed / t.scale)[:, t._place]
            e_next = C_ev * s[:, None, :] - C * x[:, None, :]
            v_next = C_v * s[:, None, :] - C_ev.transpose(0, 2, 1) * x[:, None, :]
            C_v = s[:, :, None] * v_next - x[:, :, None] * e_next
            C_v += (alpha[:, :, None] ** 2 * z) * injected
            C_v = 0.5 * (C_v + C_v.transpose(0, 2, 1))
            C = C + e_next + e_next.transpose(0, 2, 1) + C_v
            C_ev = e_next + C_v
        m_v = s * m_v - x * m
        m = m + m_v
        if 2 * k >= T:
            i = averaged
            tail.add(m[i], C[i], C_ev[i], x[i], s[i])
        variance = np.maximum(np.einsum("mii->mi", C), 0.0)
        gaps[k + 1] = 0.5 * (m * m + variance) @ lam
    final = (m * m + variance).sum(axis=1)
    gaps, final = (np.where(np.isfinite(array), array, np.inf) for array in (gaps, final))
    return gaps, final, tail.error2


class Tail:
    """The sum S of the errors e since the average began: its mean and its covariances.

    The noise of a step is uncorrelated with the past, so cov(S, v_next) = s cov(S, v) - x cov(S, e)
    as for the means; then e_next = e + v_next and S_next = S + e_next.
    """

    def __init__(self, r: int) -> None:
        self.count, self.mean = 0, np.zeros(r)
        self.C_e, self.C_v, self.C = np.zeros((3, r, r))

    def add(self, m: Any, C: Any, C_ev: Any, x: Any, s: Any) -> None:
        """One step further; C and C_ev are those of e and v after it."""
        v_next = self.C_v * s - self.C_e * x
        e_next = self.C_e + v_next
        self.C = self.C + e_next + e_next.T + C
        self.C_e, self.C_v = e_next + C, v_next + C_ev
        self.count, self.mean = self.count + 1, self.mean + m

    @property
    def error2(self) -> float:
        return float((self.mean @ self.mean + np.trace(self.C)) / self.count**2)


def steps_to(gap: np.ndarray) -> float:
    """The first k with gap <= 1e-6 of the first; by the rate where there is none."""
    reached = np.flatnonzero(gap <= ACCURACY * gap[0])
    if reached.size:
        return float(reached[0])
    progress = math.log(gap[0] / gap[-1]) if 0 < gap[-1] < gap[0] else 0.0
    return math.inf if progress <= 0 else (gap.size - 1) * math.log(1 / ACCURACY) / progress


def statistical_limit(p: Any, b: int, T: int) -> float:
    frame = frame_of("benchmark", p)
    S = Tabulated(frame).residual_covariance()
    return float(zeta2(p.n, b) * (np.diag(S) / frame.lam**2).sum() / T)


def check_against_package(p: Any, table: bocce.Schedule, b: int) -> None:
    gaps, final, _ = evolve(p, [table], b)
    curve = expected(p, table, b)
    np.testing.assert_allclose(gaps[:, 0], curve.gap, rtol=1e-6, atol=1e-14 * curve.gap[0])
    np.testing.assert_allclose(final[0], curve.error2[-1], rtol=1e-6, atol=1e-20)
