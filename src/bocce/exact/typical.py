"""The typical rate: what nearly every run does, where the mean square may do otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import _checks
from ..problems import Problem
from ..sampling import batch, batch_rows
from ..schedules import _rules
from .moments import frame_of

WARM_UP = 0.1  # of the steps: until the direction of the error is typical
BLOCKS = 50  # their means give the standard error


@dataclass(frozen=True)
class Typical:
    """The rate of nearly every run: ||w_k - w*|| falls or grows like rate^k.

    Attributes
    ----------
    rate, error : float
        The factor a step; the standard error of the rate.
    """

    rate: float
    error: float


def typical_rate(
    p: Problem,
    alpha: float,
    beta: float,
    batch_size: int | float,
    theta: float = 0.0,
    *,
    steps: int = 20_000,
    seed: int = 0,
) -> Typical:
    """exp of the Lyapunov exponent: the rate of nearly every run, with constant parameters.

    Without noise at the minimiser a step multiplies (e_k, e_{k-1}) by an independent random matrix,
    so ``ln ||e_k|| / k`` tends to one number in almost every run (Furstenberg and Kesten 1960). Its
    exp is at most ``mean_square_rate``: where only the latter is above 1, rare excursions carry the
    mean, and nearly every run converges.

    There is no formula: the rate is measured along one run, rescaled at each step, and ``error`` is
    the standard error over 50 blocks. Source: docs/theory/critical-batch.md.

    Parameters
    ----------
    p, alpha, beta, batch_size, theta : Problem, numbers
        As for ``mean_square_rate``.
    steps, seed : int
        The number of steps of the run, in which the rate is measured; the seed of the batches.

    Returns
    -------
    Typical

    Examples
    --------
    >>> import bocce
    >>> p = bocce.LeastSquares(np.array([[1.0], [3.0]]), np.zeros(2))
    >>> found = typical_rate(p, alpha=0.3, beta=0.0, batch_size=1)   # factors 0.7 and -1.7
    >>> bocce.exact.mean_square_rate(p, 0.3, 0.0, 1) > 1.2, abs(found.rate - 1.19**0.5) < 0.02
    (True, True)
    """
    where = "typical_rate"
    frame_of(where, p)  # refuses what is not plain least squares
    b = batch_rows(where, batch_size, p.n)
    alpha, beta, theta = _rules.given(where, alpha=alpha, beta=beta, theta=theta)
    steps = _checks.integer(where, "steps", steps, least=10 * BLOCKS, remedy="20,000 is usual")
    seed = _checks.integer(where, "seed", seed, least=0)
    growth = _growth(p, alpha, beta, theta, b, steps, seed)
    kept = growth[int(WARM_UP * steps) :]
    parts = np.array([part.mean() for part in np.array_split(kept, BLOCKS)])
    rate = math.exp(float(kept.mean()))
    return Typical(rate, rate * float(parts.std(ddof=1)) / math.sqrt(BLOCKS))


def _growth(
    p: Problem, alpha: float, beta: float, theta: float, b: int, steps: int, seed: int
) -> np.ndarray:
    """The logarithm of the growth of ||(e_k, e_{k-1})|| in each step, for a problem with w* = 0."""
    e = np.random.default_rng(seed).standard_normal(p.d)
    past, growth = e.copy(), np.empty(steps)
    size = math.sqrt(float(e @ e + past @ past))
    for k in range(steps):
        rows = batch(seed, k, p.n, b)
        y = e + theta * (e - past)
        # the gradient at y of the same rows with targets 0
        slope = p.combine(p.predict(y, rows), rows) / b + p.l2 * y
        e, past = e + beta * (e - past) - alpha * slope, e
        new = math.sqrt(float(e @ e + past @ past))
        if new == 0.0:  # a step that solves the problem: every further one stays
            growth[k:] = -np.inf
            break
        growth[k] = math.log(new / size)
        e, past, size = e / new, past / new, 1.0
    return growth
