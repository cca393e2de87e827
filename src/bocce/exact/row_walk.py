"""The moments of a run on rows of data, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..schedules import Schedule
from ..schedules.moments import compiled, with_batches
from . import _kernel
from .moments import FloatArray, RowNoise, Tabulated

# A curve of at least so many steps is walked by the kernel. Importing Numba and reading the kernel
# from disk takes a second, 7,000 steps at d = 20 take 0.34 s in Python and 0.04 s in the kernel.
COMPILED_STEPS = 500

Batches: TypeAlias = FloatArray | float  # zeta0^2 of each step, or of all


@dataclass(frozen=True)
class CurveStep:
    """Means and covariances of (e, v) after a step, and the x, s of the covariances."""

    m: FloatArray
    C: FloatArray
    C_ev: FloatArray
    x: FloatArray
    s: FloatArray


def walk(
    lam: FloatArray, noise: RowNoise | None, zeta0_2: Batches, schedule: Schedule, start: FloatArray
) -> Iterator[CurveStep]:
    """The moments, step by step; the r directions that have noise come first."""
    r = 0 if noise is None else noise.triangle.d
    m = start
    m_v = np.zeros(lam.size)
    C, C_ev, C_v = np.zeros((3, r, r))  # covariances of e, of e with v, of v
    for alpha, beta, theta, strength in zip(*with_batches(schedule.table, zeta0_2)):
        every_x = alpha * lam
        every_s = beta - theta * every_x
        x = every_x[:r]
        s = every_s[:r]
        if noise is not None:
            C_y = C + theta * (C_ev + C_ev.T) + theta**2 * C_v
            m_y = (m + theta * m_v)[:r]
            injected = noise.covariance(C_y + np.outer(m_y, m_y), m_y)
            e_next = C_ev * s - C * x  # E e v_next^T, centred
            v_next = C_v * s - C_ev.T * x
            C_v = s[:, None] * v_next - x[:, None] * e_next + (alpha**2 * strength) * injected
            C_v = 0.5 * (C_v + C_v.T)  # symmetric to the last bit, and so is C: an
            C = C + (e_next + e_next.T) + C_v  # antisymmetric rounding error would never die
            C_ev = e_next + C_v
            if not np.isfinite(C.diagonal()).all():
                noise = None  # it has overflown, and stays so
        m_v = every_s * m_v - every_x * m
        m = m + m_v
        yield CurveStep(m, C, C_ev, x, s)


def measures(lam: FloatArray) -> FloatArray:
    """What error2, grad2 and gap weigh the second moment along an eigenvalue with."""
    return np.column_stack([np.ones(lam.size), lam**2, lam / 2.0])


def moments(
    lam: FloatArray, noise: RowNoise | None, zeta0_2: Batches, schedule: Schedule, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """bias2 (T + 1,) and [error2, grad2, gap] (T + 1, 3)."""
    table = None if noise is None else noise.tabulated
    if table is not None and schedule.T >= COMPILED_STEPS:
        means, variances = compiled_walk(lam, table, zeta0_2, schedule, start)
    else:
        means, variances = plain_walk(lam, noise, zeta0_2, schedule, start)
    squares = means * means
    bias2 = squares.sum(axis=1)
    squares[:, : variances.shape[1]] += variances
    return bias2, squares @ measures(lam)


def plain_walk(
    lam: FloatArray, noise: RowNoise | None, zeta0_2: Batches, schedule: Schedule, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Means along each eigenvalue after each step, and the variances of the r that have noise."""
    means = np.zeros((schedule.T + 1, lam.size))
    variances = np.zeros((schedule.T + 1, 0 if noise is None else noise.triangle.d))
    means[0] = start
    for k, now in enumerate(walk(lam, noise, zeta0_2, schedule, start), start=1):
        means[k] = now.m
        variances[k] = np.maximum(now.C.diagonal(), 0.0)  # rounding may leave -1e-17 of the largest
    return means, variances


def compiled_walk(
    lam: FloatArray, noise: Tabulated, zeta0_2: Batches, schedule: Schedule, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What `plain_walk` gives, by a kernel that knows the table."""
    table = with_batches(schedule.table, zeta0_2)
    moments = (lam, noise.quartic, noise.cubic, noise.constant)
    state = _kernel.rest(start, noise.triangle.d)
    states = np.empty((0, 0))
    found: tuple[FloatArray, FloatArray]
    found = compiled(_kernel.walk)(table, *moments, state, states)
    return found
