"""Averages of iterates on average: what the mean of a tail, or an exponential mean, leaves."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from .. import _checks
from ..problems import Problem
from ..schedules import Schedule
from .curves import Curve, curve_of, measures, walk
from .moments import FloatArray, RowNoise


def expected_average(
    p: Problem,
    schedule: Schedule,
    batch_size: int | float,
    w0: npt.ArrayLike | None = None,
    *,
    tail: float | None = None,
    memory: float | None = None,
) -> Curve:
    """Exact moments of an average of the iterates, as ``expected`` has them of the last one.

    The average obeys ``a_{k+1} = rho_k a_k + (1 - rho_k) w_{k+1}``, a_0 = w_0. The noise of a step
    is uncorrelated with the past. So the covariances of S, the error of the average, close too:

        Cov(S, v+) = Cov(S, v) s - Cov(S, e) x,    Cov(S, e+) = Cov(S, e) + Cov(S, v+).

    Exact for least squares with any l2, up to rounding. Source: docs/theory/exact-dynamics.md.

    Parameters
    ----------
    p, schedule, batch_size, w0 : Problem, Schedule, int or float, array-like
        As for ``expected``.
    tail, memory : float, optional
        The share of the last iterates to average, 0 < tail <= 1 (before them the curve is that of
        w_k); or the weight rho of the past in an exponential mean, 0 <= rho < 1. Give one of them.

    Returns
    -------
    Curve

    Raises
    ------
    ValueError
        If not exactly one of tail and memory is given, or one is out of its range.

    Examples
    --------
    >>> import bocce
    >>> X, y, _ = bocce.data.regression(1000, 5, 10.0, noise_var=1.0)
    >>> p = bocce.LeastSquares(X, y)
    >>> sgd = bocce.schedules.sgd(2000, p.constants().L)
    >>> last, mean = bocce.exact.expected(p, sgd, 100), expected_average(p, sgd, 100, tail=0.5)
    >>> bool(mean.error2[-1] < 0.1 * last.error2[-1])  # the noise of a constant step averages out
    True
    """
    where = "expected_average"
    if (tail is None) == (memory is None):
        raise ValueError(
            f"{where}: tail={tail!r} and memory={memory!r} must be one number and one None; give "
            "tail=0.5 for the mean of the last half, or memory=0.99 for an exponential mean."
        )
    T = schedule.T
    if memory is None:
        remedy = "the share of T that is averaged"
        share = _checks.real(where, "tail", tail, above=0.0, most=1.0, remedy=remedy)
        kept = 1.0 - 1.0 / np.maximum(np.arange(1, T + 1) - int(T * (1.0 - share)), 1)
    else:
        remedy = "0.99 averages about 100 iterates"
        rho = _checks.real(where, "memory", memory, least=0.0, below=1.0, remedy=remedy)
        kept = np.full(T, rho)
    return curve_of(where, p, schedule, batch_size, w0, partial(_moments, kept))


def _moments(
    kept: FloatArray,
    lam: FloatArray,
    noise: RowNoise | None,
    zeta0_2: float,
    schedule: Schedule,
    start: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """bias2 (T + 1,) and [error2, grad2, gap] (T + 1, 3) of the average."""
    r = 0 if noise is None else noise.triangle.d
    mean, bias2 = start, np.full(schedule.T + 1, start @ start)
    seconds = np.tile(start * start, (schedule.T + 1, 1))
    C, C_e, C_v = np.zeros((3, r, r))  # covariances of S, of S with e, of S with v
    steps = zip(kept, walk(lam, noise, zeta0_2, schedule, start))
    for k, (rho, now) in enumerate(steps, start=1):
        new = 1.0 - rho
        mean = rho * mean + new * now.m
        v_next = C_v * now.s - C_e * now.x
        e_next = C_e + v_next
        C = rho**2 * C + rho * new * (e_next + e_next.T) + new**2 * now.C
        C_e = rho * e_next + new * now.C
        C_v = rho * v_next + new * now.C_ev
        bias2[k], seconds[k] = mean @ mean, mean * mean
        seconds[k, :r] += np.maximum(C.diagonal(), 0.0)
    return bias2, seconds @ measures(lam)
