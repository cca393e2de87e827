"""Averages of iterates on average: what the mean of a tail, or an exponential mean, leaves."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from .. import _checks
from ..problems import Problem
from ..schedules import Schedule
from .curves import Curve, curve_of, measures, walk
from .moments import Eigenframe, FloatArray, RowNoise


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

    The average obeys ``a_{k+1} = rho_k a_k + (1 - rho_k) w_{k+1}``, a_0 = w_0:

        tail = 0.5      the mean of w_{k0+1} .. w_k, k0 = floor(T - tail T); w_k itself until k0
        memory = 0.99   rho = 0.99 throughout: an exponential mean of about 1/(1 - rho) iterates

    The formula: let S be the error of the average. The noise of a step is uncorrelated with the
    past, so as for the means

        Cov(S, v+) = Cov(S, v) s - Cov(S, e) x,    Cov(S, e+) = Cov(S, e) + Cov(S, v+),

    and S+ = rho S + (1 - rho) e+. So the covariances of (S, e, v) close, with two more matrices.

    Exact for least squares with any l2, up to rounding. Source: docs/theory/exact-dynamics.md.

    Parameters
    ----------
    p, schedule, batch_size, w0 : Problem, Schedule, int or float, array-like
        As for ``expected``.
    tail, memory : float, optional
        The share of the last iterates to average, 0 < tail <= 1; or the weight rho of the past in
        the exponential mean, 0 <= rho < 1. Give one of the two.

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
    >>> from bocce.exact import expected, expected_average
    >>> X, y, _ = bocce.data.regression(1000, 5, 10.0, noise_var=1.0)
    >>> p = bocce.LeastSquares(X, y)
    >>> sgd = bocce.schedules.sgd(2000, p.constants().L)
    >>> last, mean = expected(p, sgd, 100), expected_average(p, sgd, 100, tail=0.5)
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
        kept = np.full(
            T, _checks.real(where, "memory", memory, least=0.0, below=1.0, remedy=remedy)
        )
    moments = partial(_moments, kept)
    return curve_of(where, p, schedule, batch_size, w0, moments, partial(_averaged, kept))


def _averaged(kept: FloatArray, errors: FloatArray) -> FloatArray:
    """The averages of errors that are known, one eigenvalue."""
    found = errors.copy()
    for k, rho in enumerate(kept, start=1):
        found[k] = rho * found[k - 1] + (1.0 - rho) * errors[k]
    return found


def _moments(
    kept: FloatArray,
    frame: Eigenframe,
    noise: RowNoise | None,
    zeta0_2: float,
    schedule: Schedule,
    start: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """bias2 (T + 1,) and [error2, grad2, gap] (T + 1, 3) of the average."""
    weights, r = measures(frame.lam), frame.rank
    bias2, totals = np.empty(schedule.T + 1), np.empty((schedule.T + 1, 3))
    bias2[0], totals[0] = start @ start, (start * start) @ weights
    mean = start
    C, C_e, C_v = np.zeros((3, r, r))  # covariances of S, of S with e, of S with v
    for k, (rho, now) in enumerate(
        zip(kept, walk(frame, noise, zeta0_2, schedule, start)), start=1
    ):
        mean = rho * mean + (1.0 - rho) * now.m
        if noise is not None:
            v_next = C_v * now.s - C_e * now.x
            e_next = C_e + v_next
            new = 1.0 - rho
            C = rho**2 * C + rho * new * (e_next + e_next.T) + new**2 * now.C
            C_e = rho * e_next + new * now.C
            C_v = rho * v_next + new * now.C_ev
        variance = np.maximum(C.diagonal(), 0.0)
        bias2[k], totals[k] = mean @ mean, (mean * mean + variance) @ weights
    return bias2, totals
