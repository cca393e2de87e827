"""Rule 3: the slowest direction critically damped, the steepest at the edge of stability.

The rule was read off the best schedules that ``exact.best_schedule`` computes. For momenta near 1
it follows from the certificate of ``theory.lookahead_certificate``, and its constant part has no
number that was fitted; docs/theory/best-schedule.md has the derivation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .schedule import FloatArray

FIXED_POINT_STEPS = 100  # far more than the damping takes to settle
SETTLED = 1e-14


class Tail(NamedTuple):
    """How rule 3 ends where there is noise; chosen by exact dynamics, see docs/auto.md."""

    after: float = 12.0  # time constants of the constant part,
    latest: float = 0.4  # but at most this share of T
    growth: float = 1.0 / 3.0  # of the memory, a step
    target: float = 2.0  # the effective step at T, over 1/(L + zeta0^2 L_max), where T is short
    shortest: float = 0.25  # the least effective step, in the same unit
    inner: float = 1.2  # the most alpha theta grows to, in the same unit


TAIL = Tail()
MOST_NOISE = 0.25  # rule 3 is for zeta0^2 L_max up to this share of L; beyond it rule 2 is better
LEAST_RUN = 5.0  # time constants: in a shorter run steep directions, near the edge, do not settle


class Damped(NamedTuple):
    """Constant parameters: the step, the lookahead, 1 - beta, and 1/alpha without noise apart."""

    alpha: float
    theta: float
    slack: float  # 1 - beta
    noise: float  # what sampling adds to 1/alpha


def damped_rule(L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float) -> Damped:
    """The parameters of rule 3.

    With p = zeta0^2 kappa~ and q = zeta0^2 L_max/L, the certificate asks in the limit beta -> 1 for

        p/(2 theta) + q u/2 (1 + w/(4 theta))/(1 - u w/4) <= 1,

    u = alpha (1 + theta) L and w = (1 + 2 theta)/(1 + theta). The theta that allows the largest
    alpha is (p + t)/2 with t^2 = q (1 + 3 p + p^2)/(1 + q), and

        1/alpha = L (1 + 2 theta)/(1 + sqrt(beta))^2 + L q (theta (1 + theta) + (1 + 2 theta)/4)/t

    with sqrt(beta) = 1 - sqrt(alpha mu). That momentum damps the slowest direction critically. A
    beta below 1 needs less lookahead: p and q are divided by 1 + p (1 - beta)/2, and p is
    multiplied by beta. On all rows this is Polyak's heavy ball.

    Examples
    --------
    >>> rule = damped_rule(L=100.0, mu=1.0, L_max=100.0, kappa_tilde=5.0, zeta2=0.0)
    >>> round(rule.alpha, 6), round(1.0 - rule.slack, 6), rule.theta  # 4/121 and (9/11)^2
    (0.033058, 0.669421, 0.0)
    """
    q, p = zeta2 * L_max / L, zeta2 * max(kappa_tilde, L_max / L)
    slack = 0.0
    for _ in range(FIXED_POINT_STEPS):  # slack only grows, and each value is on the safe side
        share = 1.0 / (1.0 + 0.5 * p * slack)
        lever, t = share * p * (1.0 - slack), 0.0
        if zeta2 > 0.0:
            square = 1.0 + 3.0 * lever + lever * lever
            t = math.sqrt(q * square / (share * (1.0 + q * share)))
            if slack > 0.0:
                t = min(t, 2.0 * (1.0 - slack) / slack)
        theta = 0.5 * (lever + share * t)
        noise = 0.0 if t == 0.0 else L * q * (theta * (1.0 + theta) + 0.25 + 0.5 * theta) / t
        still = 0.25 * (1.0 + 2.0 * theta) * (math.sqrt(L) + math.sqrt(mu)) ** 2
        alpha = 1.0 / (still + noise)
        root = min(1.0, math.sqrt(alpha * mu))
        before, slack = slack, root * (2.0 - root)
        if slack - before <= SETTLED * slack:
            break
    return Damped(alpha, theta, slack, noise)


def suits(T: int, L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float) -> bool:
    """Is rule 3 the one to take: is there little noise, and is T long enough for its momentum?

    Examples
    --------
    >>> [suits(T, 100.0, 1.0, 100.0, 5.0, zeta2=0.01) for T in (3, 300)]
    [False, True]
    """
    if zeta2 * L_max > MOST_NOISE * L:
        return False
    return T * damped_rule(L, mu, L_max, kappa_tilde, zeta2).slack >= 2.0 * LEAST_RUN


def damped_table(
    T: int,
    L: float,
    mu: float,
    L_max: float,
    kappa_tilde: float,
    zeta2: float,
    how: Tail = TAIL,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three columns of rule 3: memory that grows to its size, a constant part, a tail.

    At step k the momentum is 1 - max(slack, 2/(k + 3)). From step K = min(12 tau, 0.4 T) on, with
    tau = 2/slack the time constant, noise is averaged out. Let L_m = L + zeta0^2 L_max. The
    memory c = 2/(1 - beta) - 1 grows by 1/3 a step. The effective step s = alpha/(1 - beta) falls
    as s_K (1 + mu s_K t)^-m after t steps, but not below 1/(4 L_m). m is at least 1, and such that
    s ends at 2/L_m or below. alpha (1 + 2 theta) stays at what the edge allows, until alpha
    theta is 1.2/L_m.

    Examples
    --------
    >>> alpha, beta, theta = damped_table(100, 4.0, 1.0, 8.0, 3.0, zeta2=0.01)
    >>> (alpha / (1 - beta)).round(3)[[5, 30, 50, 99]].tolist()  # the effective step
    [0.428, 0.266, 0.061, 0.061]
    """
    rule = damped_rule(L, mu, L_max, kappa_tilde, zeta2)
    k = np.arange(T, dtype=np.float64)
    slack = np.maximum(rule.slack, 2.0 / (k + 3.0))
    alpha, theta = _step(rule, slack, L), np.full(T, rule.theta)
    if zeta2 > 0.0:  # the full batch has no noise to average out
        K = min(how.after * 2.0 / rule.slack, how.latest * T)
        first = max(rule.slack, 2.0 / (K + 3.0))
        longest = float(_step(rule, first, L))
        t = np.maximum(k - K, 0.0)
        steepest = L + zeta2 * L_max
        effective = _effective(longest / first, t, T - K, mu, steepest, how)
        late = 1.0 / (1.0 / first + 0.5 * how.growth * t)
        steps = effective * late
        ahead = np.minimum(
            0.5 * np.maximum(_edge(rule, late, L) / steps - 1.0, 0.0),
            np.maximum(rule.theta, how.inner / (steepest * steps)),
        )
        alpha, slack, theta = (
            np.where(t > 0.0, new, old)
            for new, old in ((steps, alpha), (late, slack), (ahead, theta))
        )
    return alpha, 1.0 - slack, theta


def _edge(rule: Damped, slack: Any, L: float) -> Any:
    """The largest alpha (1 + 2 theta) that the rule allows at a momentum of 1 - slack."""
    wide = 1.0 + 2.0 * rule.theta
    return wide / (L * wide / (1.0 + np.sqrt(1.0 - slack)) ** 2 + rule.noise)


def _step(rule: Damped, slack: Any, L: float) -> Any:
    """alpha while the momentum is not yet the rule's."""
    return np.minimum(rule.alpha, _edge(rule, slack, L) / (1.0 + 2.0 * rule.theta))


def _effective(
    first: float, t: FloatArray, rest: float, mu: float, steepest: float, how: Tail
) -> FloatArray:
    """alpha/(1 - beta), t steps after the constant part, of ``rest`` that are left."""
    target, shortest = min(first, how.target / steepest), min(first, how.shortest / steepest)
    pace = mu * first
    power = max(1.0, math.log(first / target) / math.log1p(pace * rest))
    falling = first * np.exp(-power * np.log1p(pace * t))
    return np.maximum(shortest, np.maximum(falling, target / (1.0 + mu * target * t)))
