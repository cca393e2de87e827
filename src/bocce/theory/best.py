"""The best that heavy ball can do, whatever its step and momentum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .. import _checks
from ..schedules import Schedule, _rules
from ..schedules.minimax import best_steps, minimax_heavy_ball
from ._arguments import batch_share
from .none_better import none_better

MOST_COPIES = 1000  # rows on the slow coordinate of an instance
PROVED = (1e-6, 1e-5, 1e-4)  # how much better than the best, of 1 - rate, is proved impossible


@dataclass(frozen=True)
class BestHeavyBall:
    """The result of ``best_heavy_ball``, in units where lambda_max = 1.

    Attributes
    ----------
    alpha, beta : float
        The step size, to be divided by lambda_max of your problem; the momentum.
    rate, sgd_rate : float
        Certified factor of the root-mean-square error a step; the best one with beta = 0.
    lowest : float
        A rate that provably no step and momentum has; 0 where no proof was found.
    instance : dict or None
        The arguments of ``bocce.data.extremal`` for a problem on which no heavy ball is faster.
        None if no problem has exactly these constants.
    """

    alpha: float
    beta: float
    rate: float
    lowest: float
    sgd_rate: float
    instance: dict[str, float] | None

    @property
    def gain(self) -> float:
        """How many steps of SGD one step is worth: ln rate / ln sgd_rate, 1 where beta = 0."""
        return math.log(self.rate) / math.log(self.sgd_rate) if self.rate > 0.0 else 1.0

    def schedule(self, T: int, L: float = 1.0) -> Schedule:
        """The step and momentum as a schedule, for a problem whose largest eigenvalue is L.

        Parameters
        ----------
        T, L : int, float
            Number of steps; largest eigenvalue of the problem's Hessian, ``p.constants().L``.

        Returns
        -------
        Schedule

        Examples
        --------
        >>> best_heavy_ball(kappa=100.0, R=2.0, zeta2=0.01).schedule(500, L=4.0).T
        500
        """
        L = _rules.smoothness("BestHeavyBall.schedule", L)
        return Schedule(self.alpha / L, self.beta, T=T, name="best-heavy-ball")


def best_heavy_ball(kappa: float, R: float, zeta2: float) -> BestHeavyBall:
    """The minimax heavy ball: step, momentum and rate for condition number, rows and batch.

        rate* = min over alpha, beta of the rate of Theorem S (``certified_rate``),

    with lambda_max = 1, mu = 1/kappa, L_max = R. Theorem S is attained by rows that touch one of
    two coordinates (``bocce.data.extremal``), so this is the smallest rate that any constant step
    and momentum has on all least squares with these constants. With nu = zeta0^2 (kappa R - 1)

        1 - rate* <= min{ 2/(sqrt(kappa) + 1), 1 - sqrt(nu/(1 + nu)) },

    and at least half of that in every case looked at. Momentum is worth nothing at all, beta = 0
    exactly, once 1 + zeta0^2 (R - 1) <= (2 - 1/kappa)(1/kappa + zeta0^2 (R - 1/kappa)): for large
    kappa, once zeta0^2 (R + 1) >= 1.

    Guarantee: ``rate`` is certified for every data set with these constants. It is found by a
    search; that no other (alpha, beta) has a smaller one than ``lowest`` is proved
    (``none_better``), and 1 - lowest exceeds 1 - rate by a millionth of it (1e-4 at worst). On
    the instance it is the truth.

    Source: not in the paper, whose Theorem 3 (``thm:divergence-n-case``) is about its own step and
    momentum; docs/theory/minimax.md.

    Parameters
    ----------
    kappa, R, zeta2 : float
        Condition number lambda_max/mu >= 1; ratio L_max/lambda_max >= 1; variance factor of a
        batch, ``theory.zeta2(n, b)``.

    Returns
    -------
    BestHeavyBall

    Examples
    --------
    >>> best = best_heavy_ball(kappa=100.0, R=2.0, zeta2=0.01)
    >>> round(1 - best.rate, 3), round(1 - best.sgd_rate, 4)
    (0.102, 0.0192)
    >>> best_heavy_ball(kappa=100.0, R=2.0, zeta2=1.0).beta
    0.0
    """
    where = "best_heavy_ball"
    kappa = _rules.condition_number(where, kappa)
    R = _checks.real(where, "R", R, least=1.0, remedy="R is L_max/lambda_max")
    zeta2 = batch_share(where, zeta2)
    mu = 1.0 / kappa
    slow, step = best_steps(np.zeros(1), zeta2, R, mu, 1.0, math.inf)
    plain = (float(step[0]), 0.0, 1.0 - float(slow[0]))
    alpha, beta, rate = minimax_heavy_ball(zeta2, R, mu, 1.0)
    if rate >= plain[2]:
        alpha, beta, rate = plain
    lowest = _proved(rate, kappa, R, zeta2)
    return BestHeavyBall(alpha, beta, rate, lowest, plain[2], _instance(kappa, R))


def _proved(rate: float, kappa: float, R: float, zeta2: float) -> float:
    """The largest of a few rates below ``rate`` that provably nothing attains."""
    for better in PROVED:
        lower = 1.0 - (1.0 - rate) * (1.0 + better)
        if lower > 0.0 and none_better(lower, kappa, R, zeta2):
            return lower
    return 0.0


def _instance(kappa: float, R: float) -> dict[str, float] | None:
    """kappa = k2/k1 and R = n/k2 for rows k1 on the slow coordinate, k2 on the fast one, of n."""
    first = Fraction(kappa).limit_denominator(MOST_COPIES)
    second = Fraction(R * kappa).limit_denominator(MOST_COPIES)
    copies = math.lcm(first.denominator, second.denominator)
    near = math.isclose(first, kappa, rel_tol=1e-12) and math.isclose(
        second, R * kappa, rel_tol=1e-12
    )
    if not near or copies > MOST_COPIES or second < first + 1:
        return None
    return {"kappa": kappa, "R": R, "copies": copies}
