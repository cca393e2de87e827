"""The best that heavy ball can do, whatever its step and momentum, and the proof of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .. import _checks
from ..schedules import Schedule, _rules
from .minimax import best_steps, minimax_heavy_ball

MOST_COPIES = 1000  # rows on the slow coordinate of an instance
PROVED = (1e-6, 1e-5, 1e-4)  # how much better than the best, of 1 - rate, is proved impossible
MOST_PIECES = 20_000  # pieces into which the proof cuts the interval of momenta
Cubic = tuple[Fraction, Fraction, Fraction, Fraction]


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
        if self.rate > 0.0:
            return math.log(self.rate) / math.log(self.sgd_rate)
        return 1.0

    def schedule(self, T: int, L: float = 1.0) -> Schedule:
        """The step and momentum as a schedule, for a problem whose largest eigenvalue is L.

        Parameters
        ----------
        T, L : int, float
            Number of steps; largest eigenvalue of the problem's Hessian, ``p.constants().L``.

        Returns
        -------
        Schedule
        """
        (L,) = _rules.given("BestHeavyBall.schedule", L=L)
        return Schedule(self.alpha / L, self.beta, T=T, name="best-heavy-ball")


def best_heavy_ball(kappa: float, R: float, zeta2: float) -> BestHeavyBall:
    """The minimax heavy ball: step, momentum and rate for condition number, rows and batch.

        rate* = min over alpha, beta of the rate of Theorem S (``certified_rate``),

    with lambda_max = 1, mu = 1/kappa, L_max = R. Rows that touch one of two coordinates
    (``bocce.data.extremal``) attain it. For large kappa momentum is worth nothing, beta = 0
    exactly, once zeta0^2 (R + 1) >= 1. On all rows, zeta2 = 0, it is Polyak's heavy ball.

    Guarantee: ``rate`` is certified for every data set with these constants. It is found by a
    search; ``none_better`` proves that no (alpha, beta) has a smaller rate than ``lowest``, and 1 -
    lowest exceeds 1 - rate by a millionth of it (1e-4 at worst). Source: not in the paper;
    docs/theory/minimax.md.

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
    """
    kappa, R, zeta2 = _rules.given("best_heavy_ball", kappa=kappa, R=R, zeta2=zeta2)
    mu = 1.0 / kappa
    slow, step = best_steps(np.zeros(1), zeta2, R, mu, 1.0, math.inf)
    plain = (float(step[0]), 0.0, 1.0 - float(slow[0]))
    if zeta2 == 0.0:
        alpha, beta, rate = _polyak(kappa)
    else:
        alpha, beta, rate = minimax_heavy_ball(zeta2, R, mu, 1.0)
    if rate >= plain[2]:
        alpha, beta, rate = plain
    lowest = _proved(rate, kappa, R, zeta2)
    return BestHeavyBall(alpha, beta, rate, lowest, plain[2], _instance(kappa, R))


def _polyak(kappa: float) -> tuple[float, float, float]:
    """The best step, momentum and rate on all rows, in closed form (Polyak, 1964)."""
    root = math.sqrt(1.0 / kappa)
    rate = (1.0 - root) / (1.0 + root)
    return 4.0 / (1.0 + root) ** 2, rate**2, rate


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
    pairs = ((first, kappa), (second, R * kappa))
    near = all(math.isclose(x, y, rel_tol=1e-12) for x, y in pairs)
    if not near or copies > MOST_COPIES or second < first + 1:
        return None
    return {"kappa": kappa, "R": R, "copies": copies}


def none_better(rate: float, kappa: float, R: float, zeta2: float) -> bool:
    """Whether it is proved that Theorem S certifies no rate <= ``rate`` for any alpha and beta.

    No step serves both mu and lambda_max = 1 if a discriminant, a cubic in beta, is negative. The
    momenta 0 <= beta < rate^2 are cut into pieces until the Bernstein coefficients of every cubic
    are negative, in fractions.

    Guarantee: True is a proof. False says only that none was found. Source: not in the paper;
    docs/theory/minimax.md.

    Parameters
    ----------
    rate, kappa, R, zeta2 : float
        Rate to exclude, 0 < rate < 1; the others as for ``best_heavy_ball``.

    Returns
    -------
    bool

    Examples
    --------
    >>> best = best_heavy_ball(kappa=100.0, R=2.0, zeta2=0.01)
    >>> faster = 1 - (1 - best.rate) * (1 + 1e-6)  # a millionth better than what was found
    >>> [none_better(rate, 100.0, 2.0, 0.01) for rate in (faster, best.rate)]
    [True, False]
    """
    where = "none_better"
    rate = _checks.real(where, "rate", rate, above=0.0, below=1.0, remedy="a factor a step")
    kappa, R, zeta2 = _rules.given(where, kappa=kappa, R=R, zeta2=zeta2)
    if zeta2 == 0.0:
        # without noise the rate of a quadratic is known: (sqrt(kappa) - 1)/(sqrt(kappa) + 1)
        r = Fraction(rate)
        k = Fraction(kappa)
        return (1 + r) ** 2 < k * (1 - r) ** 2
    problem = _Problem(rate, kappa, R, zeta2)
    pieces = [(Fraction(0), problem.r2)]
    for _ in range(MOST_PIECES):
        if not pieces:
            return True
        low, high = pieces.pop()
        middle = (low + high) / 2
        if not _negative(problem.cubic(problem.weight(float(middle))), low, high):
            if high - low < Fraction(1, 10**15):
                return False
            pieces += [(low, middle), (middle, high)]
    return False


class _Problem:
    """The discriminants for one rate and one set of constants, lambda_max = 1."""

    def __init__(self, rate: float, kappa: float, R: float, zeta2: float) -> None:
        self.r2 = Fraction(rate) ** 2
        self.mu = 1 / Fraction(kappa)
        noise = Fraction(zeta2)
        L_max = Fraction(R)
        # (r2 - beta) + nu (r2 + beta), times lam^2, nu = zeta0^2 (L_max - lam)/lam: const, slope
        self.bends = []
        for lam in (self.mu, Fraction(1)):
            nu = noise * (L_max - lam) / lam
            self.bends.append((lam**2 * self.r2 * (1 + nu), lam**2 * (nu - 1)))

    def cubic(self, u: Fraction) -> Cubic:
        """(1+beta)^2 (r2-beta) (u mu + 1-u)^2 - (1-r2)(1-beta^2/r2)(p0 + p1 beta), by powers."""
        g = (u * self.mu + 1 - u) ** 2
        q = 1 - self.r2
        r2 = self.r2
        (a0, a1), (b0, b1) = self.bends
        p0 = u * a0 + (1 - u) * b0
        p1 = u * a1 + (1 - u) * b1
        return (
            g * r2 - q * p0,
            g * (2 * r2 - 1) - q * p1,
            g * (r2 - 2) + q * p0 / r2,
            -g + q * p1 / r2,
        )

    def weight(self, beta: float) -> Fraction:
        """The u with the smallest discriminant at beta, a convex quadratic in u; to rounding."""
        mu = float(self.mu)
        r2 = float(self.r2)
        (a0, a1), (b0, b1) = ((float(x), float(y)) for x, y in self.bends)
        slope = -(1 - r2) * (1 - beta * beta / r2) * (a0 + a1 * beta - b0 - b1 * beta)
        bend = 2 * (1 + beta) ** 2 * (r2 - beta) * (1 - mu)
        if bend <= 0.0:
            return Fraction(1 if slope < 0.0 else 0)
        return Fraction(min(1.0, max(0.0, (1.0 - slope / bend) / (1.0 - mu))))


def _negative(cubic: Cubic, low: Fraction, high: Fraction) -> bool:
    """Are the Bernstein coefficients on [low, high] negative? Then so is the cubic."""
    d0, d1, d2, d3 = cubic
    w = high - low
    # powers of s = (beta - low)/w
    c0 = d0 + low * (d1 + low * (d2 + low * d3))
    c1 = w * (d1 + low * (2 * d2 + 3 * low * d3))
    c2 = w * w * (d2 + 3 * low * d3)
    c3 = w**3 * d3
    values = (c0, c0 + c1 / 3, c0 + (2 * c1 + c2) / 3, c0 + c1 + c2 + c3)
    return all(value < 0 for value in values)
