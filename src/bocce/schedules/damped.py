"""Rule 3: the slowest direction critically damped, the steepest inside a certificate.

The shape of the tables was read off the best schedules that ``exact.best_schedule`` computes. The
step is the longest that a closed form of ``theory.lookahead_certificate`` allows;
docs/theory/best-schedule.md has the derivation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .schedule import FloatArray

EPS = float(np.finfo(np.float64).eps)

FIXED_POINT_STEPS = 100  # The distance to the critical damping at least halves in two steps.


class Shape(NamedTuple):
    """The numbers in the formulas of ``damped_table``; chosen by exact dynamics, see docs/auto.md.

    The accelerated part is certified for ``margin`` times the sampling noise. Its lookahead is
    divided by 1 + ``bend`` (1 - beta) sqrt(1 + theta_0), and its 1 - beta is at least ``run``/T.
    """

    margin: float = 1.2
    bend: float = 6.0
    run: float = 6.0
    after: float = 8.0  # The accelerated part takes so many time constants, plus share T.
    share: float = 0.05
    latest: float = 0.8  # The accelerated part takes at most this share of T.
    corner: float = 4.0  # The two lengths are joined as a harmonic mean of this power.
    closing: float = 3.0  # 1 - beta is at least this over the rest of the accelerated part.
    reset: float = 0.75  # 1 - beta is at most this.
    weight: float = 3.0  # The unit of the second part is L_m = L + weight zeta0^2 L_max.
    falling: float = 0.5  # In the second part 1/alpha grows by this share of L_m a step.
    growth: float = 0.1  # In the second part 1 - beta falls as 1/(1 + growth t)^2.
    forgetting: float = 0.5  # alpha/(1 - beta) is at most 1/L_m, or this over mu t if larger.
    inner: float = 1.75  # In the second part alpha theta grows to this over L_m.


SHAPE = Shape()
MOST_NOISE = 0.5  # of L: where zeta0^2 L_max is larger, rule 2 needs fewer steps.
CLOSING_STEPS = 50  # In fewer steps a run cannot close and then average.


def suits(T: int, L: float, mu: float, L_max: float, zeta2: float) -> bool:
    """Is rule 3 the one to take: is there little sampling noise, and is T long enough?

    On all rows, where nothing is averaged, five time constants of Polyak's heavy ball are enough.

    >>> [suits(T, L=100.0, mu=1.0, L_max=900.0, zeta2=0.01) for T in (40, 60)]
    [False, True]
    """
    if zeta2 > 0.0:
        return zeta2 * L_max <= MOST_NOISE * L and T >= CLOSING_STEPS
    return min(CLOSING_STEPS, 5.0 + 2.5 * math.sqrt(L / mu)) <= T


class SamplingNoise(NamedTuple):
    """What sampling does: q = zeta0^2 L_max/L, p = zeta0^2 kappa~, and p/q = kappa~ L/L_max."""

    q: float
    p: float
    ratio: float

    def lookahead(self, slack: FloatArray) -> FloatArray:
        """theta at the momentum 1 - slack: theta_0, which allows the longest step, or less."""
        first = 0.5 * (self.p + (1.0 + self.p) * math.sqrt(self.q / (1.0 + self.q)))
        return first / (1.0 + SHAPE.bend * slack * math.sqrt(1.0 + first))

    def longest(self, slack: FloatArray, theta: FloatArray) -> FloatArray:
        """The longest alpha L at 1 - slack and theta, certified for all data with q and p.

        Let h = 2 - slack and w = 1 + 2 theta. The noise gain of the certificate is a sum of two
        partial fractions. Their numerators are A = (h - w slack)/(2 h + w slack/theta) and
        B = h w^2/(w slack + 2 h theta). The largest value of each gives the sufficient condition

            A/(slack/(q X) + theta/p) + q X B/(D - w X) <= 1,   X = alpha L,

        with D = (1 + sqrt(1 - slack))^2 <= 2 h. Equality is a quadratic equation in X. On all rows
        X = D at theta = 0: Polyak's step.

        >>> few = SamplingNoise(q=0.1, p=0.5, ratio=5.0)
        >>> few.longest(np.array([0.1, 0.01]), np.array([0.3, 0.5])).round(2).tolist()
        [1.75, 1.46]
        """
        h, w, D = 2.0 - slack, 1.0 + 2.0 * theta, (1.0 + np.sqrt(1.0 - slack)) ** 2
        A = np.maximum(h - w * slack, 0.0) * theta / (2.0 * h * theta + w * slack)
        B = h * w * w / (w * slack + 2.0 * h * theta)
        square = theta * (w + self.q * B) - A * self.p * w
        linear = self.ratio * slack * (w + self.q * B) + D * (A * self.p - theta)
        constant = D * self.ratio * slack
        root = np.sqrt(linear * linear + 4.0 * square * constant)
        rising = linear > 0.0  # two forms of the one root, neither of which cancels
        return np.where(
            rising,
            2.0 * constant / np.where(rising, linear + root, 1.0),
            (root - linear) / (2.0 * np.where(rising, 1.0, square)),
        )


class Damped(NamedTuple):
    """Constant parameters of rule 3: the step, the lookahead and 1 - beta."""

    alpha: float
    theta: float
    slack: float


def damped_rule(L: float, mu: float, noise: SamplingNoise, least: float = 0.0) -> Damped:
    """The longest certified step, with 1 - beta = 1 - (1 - sqrt(alpha mu))^2, or ``least``.

    That momentum damps the slowest direction critically. On all rows this is Polyak's heavy ball.

    >>> rule = damped_rule(100.0, 1.0, SamplingNoise(0.0, 0.0, 5.0))
    >>> round(rule.alpha, 6), round(1.0 - rule.slack, 6), rule.theta  # 4/121 and (9/11)^2
    (0.033058, 0.669421, 0.0)
    """
    slack = max(least, min(1.0, math.sqrt(mu / L)))
    for _ in range(FIXED_POINT_STEPS):
        at = np.array(slack)
        theta = noise.lookahead(at)
        alpha = float(noise.longest(at, theta)) / L
        root = min(1.0, math.sqrt(alpha * mu))
        before, slack = slack, 0.5 * (slack + max(least, root * (2.0 - root)))
    return Damped(alpha, float(theta), before)


def damped_table(
    T: int, L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three columns of rule 3: an accelerated part that closes, then an average.

    Let tau = 2/slack be the time constant of ``damped_rule``. The accelerated part ends at K, which
    is T on all rows, and else K^-4 = (8 tau + T/20)^-4 + (0.8 T)^-4. At step k < K

        1 - beta = max(slack, 2/(k + 3), min(0.75, 3/(K - k))),

    theta is that of ``SamplingNoise.lookahead``, and alpha the longest step for both. So the memory
    grows to its size and shrinks again, and the noise of slow directions is gone at K. After K,
    with t = k - K, L_m = L + 3 zeta0^2 L_max and s = max(1/L_m, 1/(2 mu t)),

        alpha = 1/(L_m (1 + t/2)),   1 - beta = max(0.75/(1 + t/10)^2, alpha/s),

    and alpha theta = 1.75 beta/L_m, with a shorter alpha where the certificate asks for it: w
    becomes an average of SGD's iterates. Where T is short, slack is 6/T, and mu is the curvature
    that is critically damped by it.

    >>> alpha, beta, theta = damped_table(100, 40.0, 0.1, 80.0, 3.0, zeta2=0.01)
    >>> (1 - beta).round(2)[[1, 20, 60, 70, 80, 99]].tolist()
    [0.5, 0.16, 0.21, 0.75, 0.29, 0.06]
    """
    how = SHAPE
    noise = SamplingNoise(zeta2 * L_max / L, zeta2 * kappa_tilde, kappa_tilde * L / L_max)
    more = noise._replace(q=how.margin * noise.q, p=how.margin * noise.p)
    rule = damped_rule(L, mu, more, min(1.0, how.run / T))
    k = np.arange(T, dtype=np.float64)
    most, K = max(how.reset, rule.slack), float(T)
    if zeta2 > 0.0:  # otherwise there is no noise to average out
        ends = (2.0 * how.after / rule.slack + how.share * T, how.latest * T)
        K = sum(end**-how.corner for end in ends) ** (-1.0 / how.corner)
    left, t = np.maximum(K - k, EPS), np.maximum(k - K, EPS)
    slack = np.maximum(rule.slack, 2.0 / (k + 3.0))
    slack = np.maximum(slack, np.minimum(most, how.closing / left))
    theta = more.lookahead(slack)
    alpha = np.minimum(rule.alpha, more.longest(slack, theta) / L)
    steepest = L + how.weight * zeta2 * L_max
    seen = (1.0 - math.sqrt(1.0 - rule.slack)) ** 2 / rule.alpha  # mu, where T is long enough
    steps = 1.0 / (steepest * (1.0 + how.falling * t))
    effective = np.maximum(1.0 / steepest, how.forgetting / (seen * t))
    late = np.minimum(most, np.maximum(most / (1.0 + how.growth * t) ** 2, steps / effective))
    ahead = how.inner * (1.0 - late) / (steepest * steps)
    first = k < K
    return (
        np.where(first, alpha, np.minimum(steps, noise.longest(late, ahead) / L)),
        1.0 - np.where(first, slack, late),
        np.where(first, theta, ahead),
    )
