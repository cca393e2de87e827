"""Rule 3: the slowest direction critically damped, the steepest at the edge of stability.

The rule was read off the best schedules that ``exact.best_schedule`` computes. For momenta near 1
it follows from the certificate of ``theory.lookahead_certificate``, and its constant part has no
number that was fitted; docs/theory/best-schedule.md has the derivation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .schedule import FloatArray

EPS = float(np.finfo(np.float64).eps)

FIXED_POINT_STEPS = 100  # far more than the damping takes to settle
SETTLED = 1e-14
MOST_NOISE = 0.25  # Rule 3 is for zeta0^2 L_max up to this share of L; beyond it rule 2 is better.
CLOSING_STEPS = 50  # Runs of so many steps close and average; shorter ones have a tail,
CLOSING_MOST = 10.0  # and so have runs of more time constants than this.
LEAST_RUN = 5.0  # A short run needs so many time constants: steep directions settle slowly.


class Close(NamedTuple):
    """How a run of medium length ends; chosen by exact dynamics, see docs/auto.md.

    Effective steps and alpha theta are in units of 1/(L + zeta0^2 L_max).
    """

    run: float = 6.0  # 1 - beta is at least this over T.
    after: float = 9.0  # The accelerated part takes about so many time constants,
    latest: float = 0.78  # or this share of T, the smaller one;
    corner: float = 5.0  # the power with which the two are joined.
    closing: float = 3.0  # 1 - beta is at least this over the steps that are left of that part,
    reset: float = 0.6  # but at most this.
    falling: float = 0.5  # Then 1/alpha grows by this share of L + zeta0^2 L_max a step,
    growth: float = 0.1  # and 1 - beta falls as the square of 1/(1 + t/10);
    effective: float = 1.0  # but alpha/(1 - beta) stays below this,
    forgetting: float = 0.5  # or below this over mu t, the larger one.
    inner: float = 1.75  # alpha theta grows to this.


class Tail(NamedTuple):
    """How a short or very long run ends where there is noise; units as in ``Close``."""

    after: float = 12.0  # time constants of the constant part,
    latest: float = 0.4  # but at most this share of T
    growth: float = 1.0 / 3.0  # of the memory, a step
    target: float = 2.0  # the effective step at T, where T is short
    shortest: float = 0.25  # the least effective step
    inner: float = 1.2  # the most alpha theta grows to


CLOSE, TAIL = Close(), Tail()


class Damped(NamedTuple):
    """Constant parameters: the step, the lookahead, 1 - beta, and 1/alpha without noise apart."""

    alpha: float
    theta: float
    slack: float  # 1 - beta
    noise: float  # what sampling adds to 1/alpha


def damped_rule(
    L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float, least: float = 0.0
) -> Damped:
    """The parameters of rule 3, with 1 - beta at least ``least``.

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
        steepest = max(
            0.25 * (math.sqrt(L) + math.sqrt(mu)) ** 2, L / (1.0 + math.sqrt(1.0 - slack)) ** 2
        )
        alpha = 1.0 / ((1.0 + 2.0 * theta) * steepest + noise)
        root = min(1.0, math.sqrt(alpha * mu))
        before, slack = slack, max(least, root * (2.0 - root))
        if slack - before <= SETTLED * slack:
            break
    return Damped(alpha, theta, slack, noise)


def suits(T: int, L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float) -> bool:
    """Is rule 3 the one to take: is there little sampling noise, and is T long enough?

    Examples
    --------
    >>> [suits(T, 100.0, 1.0, 100.0, 5.0, zeta2=0.01) for T in (3, 300)]
    [False, True]
    """
    if zeta2 * L_max > MOST_NOISE * L:
        return False
    return T >= CLOSING_STEPS or _constants(T, L, mu, L_max, kappa_tilde, zeta2) >= LEAST_RUN


def damped_table(
    T: int, L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three columns of rule 3: ``closing_table``, or ``tail_table`` for other lengths.

    A run closes if it has at least 50 steps and at most 10 time constants.
    """
    known = (T, L, mu, L_max, kappa_tilde, zeta2)
    closes = T >= CLOSING_STEPS and _constants(*known) <= CLOSING_MOST
    return closing_table(*known) if closes else tail_table(*known)


def _constants(
    T: int, L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float
) -> float:
    """The time constants of rule 3 that T steps are."""
    return 0.5 * T * damped_rule(L, mu, L_max, kappa_tilde, zeta2).slack


def closing_table(
    T: int,
    L: float,
    mu: float,
    L_max: float,
    kappa_tilde: float,
    zeta2: float,
    how: Close = CLOSE,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rule 3 for runs of medium length: an accelerated part that closes, then an average.

    Let tau = 2/slack be the time constant of the rule, and K the end of the accelerated part,
    K^-5 = (9 tau)^-5 + (0.78 T)^-5, or T on all rows. At step k < K

        1 - beta = max(slack, 2/(k + 3), min(0.6, 3/(K - k))).

    So the memory grows to its size and shrinks again, and the noise of slow directions is gone at
    K. After K, with t = k - K, L_m = L + zeta0^2 L_max and s = max(1/L_m, 1/(2 mu t)),

        alpha = 1/(L_m (1 + t/2)),   1 - beta = max(0.6/(1 + t/10)^2, alpha/s),

    and alpha theta = 1.75 beta/L_m, as far as the edge of stability allows: w becomes an average of
    SGD's iterates. Where T is short, slack is 6/T, and mu is the curvature that is critically
    damped by it.

    Examples
    --------
    >>> alpha, beta, theta = closing_table(100, 40.0, 0.1, 80.0, 3.0, zeta2=0.01)
    >>> (1 - beta).round(2)[[1, 20, 60, 70, 74, 80, 99]].tolist()
    [0.5, 0.16, 0.19, 0.51, 0.6, 0.3, 0.05]
    """
    rule = damped_rule(L, mu, L_max, kappa_tilde, zeta2, least=min(1.0, how.run / T))
    k = np.arange(T, dtype=np.float64)
    most, K = max(how.reset, rule.slack), float(T)
    if zeta2 > 0.0:  # otherwise there is no noise to average out
        K = (rule.slack / (2.0 * how.after)) ** how.corner + (1.0 / (how.latest * T)) ** how.corner
        K **= -1.0 / how.corner
    left, t = np.maximum(K - k, EPS), np.maximum(k - K, EPS)
    slack = np.maximum(rule.slack, 2.0 / (k + 3.0))
    slack = np.maximum(slack, np.minimum(most, how.closing / left))
    steepest = L + zeta2 * L_max
    seen = (1.0 - math.sqrt(1.0 - rule.slack)) ** 2 / rule.alpha  # mu, where T is long enough
    steps = 1.0 / (steepest * (1.0 + how.falling * t))
    longest = np.maximum(how.effective / steepest, how.forgetting / (seen * t))
    late = np.minimum(most, np.maximum(most / (1.0 + how.growth * t) ** 2, steps / longest))
    ahead = np.minimum(
        _lookahead(rule, late, L, steps), how.inner * (1.0 - late) / steepest / steps
    )
    first = k < K
    return (
        np.where(first, _step(rule, slack, L), steps),
        1.0 - np.where(first, slack, late),
        np.where(first, rule.theta, ahead),
    )


def tail_table(
    T: int,
    L: float,
    mu: float,
    L_max: float,
    kappa_tilde: float,
    zeta2: float,
    how: Tail = TAIL,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rule 3 for short and very long runs: memory that grows, a constant part, a tail.

    At step k the momentum is 1 - max(slack, 2/(k + 3)). From step K = min(12 tau, 0.4 T) on, with
    tau = 2/slack the time constant, noise is averaged out. Let L_m = L + zeta0^2 L_max. The
    memory c = 2/(1 - beta) - 1 grows by 1/3 a step. The effective step s = alpha/(1 - beta) falls
    as s_K (1 + mu s_K t)^-m after t steps, but not below 1/(4 L_m). m is at least 1, and such that
    s ends at 2/L_m or below. alpha (1 + 2 theta) stays at what the edge allows, until alpha
    theta is 1.2/L_m.

    Examples
    --------
    >>> alpha, beta, theta = tail_table(40, 4.0, 1.0, 8.0, 3.0, zeta2=0.01)
    >>> (alpha / (1 - beta)).round(3)[[5, 15, 20, 39]].tolist()  # the effective step
    [0.428, 0.428, 0.158, 0.061]
    """
    rule = damped_rule(L, mu, L_max, kappa_tilde, zeta2)
    k = np.arange(T, dtype=np.float64)
    slack = np.maximum(rule.slack, 2.0 / (k + 3.0))
    alpha, theta = _step(rule, slack, L), np.full(T, rule.theta)
    if zeta2 > 0.0:  # the full batch has no noise to average out
        K = min(how.after * 2.0 / rule.slack, how.latest * T)
        first = max(rule.slack, 2.0 / (K + 3.0))
        longest = float(_step(rule, np.array(first), L))
        t = np.maximum(k - K, 0.0)
        steepest = L + zeta2 * L_max
        late = 1.0 / (1.0 / first + 0.5 * how.growth * t)
        steps = _effective(longest / first, t, T - K, mu, steepest, how) * late
        inner = np.maximum(rule.theta, how.inner / (steepest * steps))
        ahead = np.minimum(_lookahead(rule, late, L, steps), inner)
        alpha, slack, theta = (
            np.where(t > 0.0, new, old)
            for new, old in ((steps, alpha), (late, slack), (ahead, theta))
        )
    return alpha, 1.0 - slack, theta


def _edge(rule: Damped, slack: FloatArray, L: float) -> FloatArray:
    """The largest alpha (1 + 2 theta) that the rule allows at a momentum of 1 - slack."""
    wide = 1.0 + 2.0 * rule.theta
    return wide / (L * wide / (1.0 + np.sqrt(1.0 - slack)) ** 2 + rule.noise)


def _step(rule: Damped, slack: FloatArray, L: float) -> FloatArray:
    """alpha while the momentum is not the rule's."""
    return np.minimum(rule.alpha, _edge(rule, slack, L) / (1.0 + 2.0 * rule.theta))


def _lookahead(rule: Damped, slack: FloatArray, L: float, alpha: FloatArray) -> FloatArray:
    """The largest theta that the edge allows at so short an alpha."""
    return 0.5 * np.maximum(_edge(rule, slack, L) / alpha - 1.0, 0.0)


def _effective(
    first: float, t: FloatArray, rest: float, mu: float, steepest: float, how: Tail
) -> FloatArray:
    """alpha/(1 - beta), t steps after the constant part, of ``rest`` that are left."""
    target, shortest = min(first, how.target / steepest), min(first, how.shortest / steepest)
    pace = mu * first
    power = max(1.0, math.log(first / target) / math.log1p(pace * rest))
    falling = first * np.exp(-power * np.log1p(pace * t))
    return np.maximum(shortest, np.maximum(falling, target / (1.0 + mu * target * t)))
