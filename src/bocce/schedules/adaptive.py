"""Schedules that know the batch: they accelerate as far as it allows."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np

from .. import _checks
from . import _rules
from .damped import damped_table, suits
from .minimax import minimax_heavy_ball
from .schedule import FloatArray, Schedule

Number = TypeVar("Number", float, FloatArray)
EPS = float(np.finfo(np.float64).eps)

DECAY_START = 0.4  # The share of T after which steps decay, where the rate is not known.
DECAY_POWER = 0.9  # The last step is the first one times T to this negative power.


class Averaging(NamedTuple):
    """When and how lookahead averages the noise out; found by exact dynamics, see docs/auto.md."""

    after: float = 3.5  # The first part takes so many time constants,
    latest: float = 0.5  # but at most this share of T.
    growth: float = 1.0 / 3.0  # The memory grows by so much a step.
    forgetting: float = 1.5  # The slowest direction forgets as this power of the time.
    shortest: float = 0.25  # The least effective step is this over L_m.

    def start(self, tau: float, T: int) -> float:
        """K, the first step that is not of the constant part, for the time constant tau."""
        return min(self.after * tau, self.latest * T)


AVERAGING = Averaging()


def sampling_noise(where: str, n: object, b: object) -> float:
    """zeta0^2 = (n - b)/((n - 1) b), the variance factor of a batch without replacement."""
    n_, b_ = _rules.given(where, n=n, b=b)
    return 0.0 if b_ == n_ else float((n_ - b_) / ((n_ - 1) * b_))


def expected_smoothness(L: float, L_max: float, zeta2: float) -> float:
    """The curvature of a batch, (1 - zeta0^2) L + zeta0^2 L_max: the constant of SGD's safe step.

    >>> expected_smoothness(2.0, 10.0, 0.5)
    6.0
    """
    return (1.0 - zeta2) * L + zeta2 * L_max


def batch_constants(
    L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float
) -> tuple[float, float, float]:
    """L_m, kappa_m and c = sqrt(kappa_m L_m/mu) of a batch: rule 2 has the rate 1 - 1/(2c).

    kappa_m = (1 - zeta0^2) + zeta0^2 kappa~, and at least 1.

    >>> batch_constants(4.0, 1.0, 8.0, 3.0, zeta2=0.5)
    (6.0, 2.0, 3.4641016151377544)
    """
    L_m = expected_smoothness(L, L_max, zeta2)
    kappa_m = max(1.0, (1.0 - zeta2) + zeta2 * kappa_tilde)
    return L_m, kappa_m, max(1.0, math.sqrt(kappa_m * L_m / mu))  # L_m >= mu, but for rounding


def heavy_ball_rule(L: float, mu: float, L_max: float, zeta2: float) -> tuple[float, float]:
    """Rule 1: limit the effective step alpha/(1 - beta) to 1/(zeta0^2 L_max + sqrt(mu L)).

    >>> alpha, beta = heavy_ball_rule(L=100.0, mu=1.0, L_max=100.0, zeta2=0.0)
    >>> alpha, round(beta, 12)
    (0.01, 0.9)
    """
    effective = 1.0 / (zeta2 * L_max + math.sqrt(mu * L))
    alpha = min(1.0 / L, effective)
    return alpha, max(0.0, 1.0 - alpha / effective)


def lookahead_rule(
    L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float
) -> tuple[float, float, float]:
    """Rule 2: MaSS with 1/m replaced by zeta0^2; b = n gives Nesterov's constant scheme.

    >>> alpha, beta, theta = lookahead_rule(4.0, 1.0, 8.0, 3.0, zeta2=0.0)
    >>> alpha, round(beta, 12) == round(theta, 12) == round(1 / 3, 12)
    (0.25, True)
    """
    L_m, kappa_m, c = batch_constants(L, mu, L_max, kappa_tilde, zeta2)
    return _with_memory(c, L_m, kappa_m)


def visible_curvature(T: int, L: float, mu: float, L_max: float, zeta2: float) -> float:
    """The least curvature that T steps of heavy ball can see; mu where T is long enough for it.

    Rule 1 forgets the start in about tau(m) = (zeta0^2 L_max + sqrt(m L))/m steps along a
    direction of curvature m. The answer is the m with 3.5 tau(m) = T, or mu if mu is larger. A
    momentum made for a smaller curvature would still be swinging at T.

    >>> visible_curvature(35, L=100.0, mu=1e-3, L_max=100.0, zeta2=0.0)  # (3.5/T)^2 L
    1.0
    """
    time = max(1.0, T / AVERAGING.after)
    root = (math.sqrt(L) + math.sqrt(L + 4.0 * time * zeta2 * L_max)) / (2.0 * time)
    return min(L, max(mu, root * root))


def _with_memory(c: Number, L_m: float, kappa_m: float) -> tuple[Number, Number, Number]:
    """(alpha, beta, theta) of rule 2 that remembers about c steps."""
    beta = (c - 1.0) / (c + 1.0)
    e1 = 1.0 / L_m
    alpha = e1 * (1.0 + c / kappa_m) / (c + 1.0)  # e1 - e2, without cancellation
    return alpha, beta, beta * e1 / alpha


def mass(T: int, L: float, mu: float, L_max: float, kappa_tilde: float, n: int, b: int) -> Schedule:
    """MaSS (momentum-added stochastic solver), constant, for a batch without replacement.

    With L_m = (1 - z) L + z L_max, kappa_m = max(1, (1 - z) + z kappa~), z = zeta0^2 and
    c = sqrt(kappa_m L_m/mu):  e1 = 1/L_m,  e2 = e1 c/(c+1) (1 - 1/kappa_m),
    alpha = e1 - e2,  beta = (c-1)/(c+1),  theta = beta e1/alpha.

    Guarantee: the rate 1 - 1/c a step under interpolation, proved for z = 1/b
    (``mass_published``). Source: Liu and Belkin (2020); at b = n this is Nesterov's scheme.

    Parameters
    ----------
    T, n, b : int
        Numbers of steps, of rows and of rows in a batch: T >= 1, 1 <= b <= n.
    L, mu, L_max, kappa_tilde : float
        Extreme eigenvalues of the Hessian A, 0 < mu <= L; largest curvature L_max >= L of one row's
        loss; largest x_i^T A^-1 x_i over the rows.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = mass(1, L=4.0, mu=1.0, L_max=8.0, kappa_tilde=3.0, n=10, b=10)
    >>> round(float(s.beta[0]), 4) == round(float(s.theta[0]), 4) == 0.3333
    True
    """
    known = {"T": T, "L": L, "mu": mu, "L_max": L_max, "kappa_tilde": kappa_tilde}
    T, L, mu, L_max, tilde = _rules.given("mass", **known)
    three = lookahead_rule(L, mu, L_max, tilde, sampling_noise("mass", n, b))
    return Schedule(*three, "mass", T=T)


def auto(
    T: int,
    L: float,
    mu: float,
    L_max: float,
    n: int,
    b: int,
    kappa_tilde: float | None = None,
    family: str | None = None,
    quadratic: bool = True,
) -> Schedule:
    """Heavy ball that needs no tuning: full acceleration when the batch allows it, SGD when not.

    The first part of the schedule forgets the start; the second part, which exists only if b < n,
    averages the noise out. Let z = zeta0^2 = (n - b)/((n - 1) b). docs/auto.md has the formulas.

    - Rule 1, where kappa~ is unknown or ``family="shb"``: heavy ball with the smallest certified
      rate for the curvatures that T steps can see, alpha <= 1/L; then alpha falls to T^-0.9 of it.
    - Rule 3, on quadratics with z L_max <= L/2 and T >= 50 (fewer steps are enough on all rows):
      the slowest direction is critically damped, the steepest has the longest certified step.
    - Rule 2, elsewhere: MaSS with 1/b replaced by z, partly accelerated even at b = 1. Its memory
      grows as c_k = min(c, k + 2); then, t steps after K = min(7 c, T/2),

        c_k = c_K + t/3,   s_k = max(1/(4 L_m), s_K/(1 + mu_T s_K t/1.5)),
        alpha = 2 s/(c + 1),   beta = (c - 1)/(c + 1),   alpha theta = beta/L_m,

      where s = alpha/(1 - beta) and mu_T = max(mu, kappa_m L_m (7/T)^2).

    Guarantee: on least squares with L >= lambda_max every step is inside ``theory.certificate`` or
    ``theory.lookahead_certificate`` (with rule 2, from c_k = c on), so the schedule is mean-square
    stable at every batch size; reshuffled batches are not covered. A mu that is too small costs
    speed, never stability. On other convex losses only ``theory.certify_convex`` holds. Source: the
    problem that ``sec:conclusion`` leaves open.

    Parameters
    ----------
    T, L, mu, L_max, n, b : number
        As for ``mass``. On least squares ``Constants.R2`` may stand in place of L_max.
    kappa_tilde : float, optional
        As for ``mass`` (or ``Constants.R2_tilde``). Without it the schedule is heavy ball.
    family : {"shb"}, optional
        "shb" forces heavy ball, theta = 0, even where kappa_tilde is known.
    quadratic : bool
        Is the loss quadratic? If not, lookahead is rule 2 at every batch and T.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = auto(20, L=4.0, mu=1.0, L_max=9.0, n=10, b=5, family="shb")
    >>> s.alpha.round(3)[[0, 9, 19]].tolist(), round(float(s.beta[0]), 3)
    ([0.25, 0.25, 0.022], 0.29)
    """
    T, L, mu, L_max = _rules.given("auto", T=T, L=L, mu=mu, L_max=L_max)
    L_max = max(L_max, L)
    zeta2 = sampling_noise("auto", n, b)
    name = "auto" if family is None else f"auto-{_checks.choice('auto', 'family', family, ['shb'])}"
    if kappa_tilde is not None:
        (kappa_tilde,) = _rules.given("auto", kappa_tilde=kappa_tilde)
    if kappa_tilde is not None and family is None:
        closes = quadratic and suits(T, L, mu, L_max, zeta2)
        table = damped_table if closes else lookahead_table
        return Schedule(*table(T, L, mu, L_max, kappa_tilde, zeta2), name)
    seen = visible_curvature(T, L, mu, L_max, zeta2)
    alpha, beta, rate = minimax_heavy_ball(zeta2, L_max, seen, L, longest=1.0 / L)
    shape = np.ones(T)
    if zeta2 > 0.0:  # the full batch has no noise to average out
        tau = 1.0 / max(1.0 - rate, EPS)  # kappa may be beyond a double
        shape = decay(T, AVERAGING.start(tau, T) / T)
    return Schedule(alpha * shape, beta, name=name)


def lookahead_table(
    T: int,
    L: float,
    mu: float,
    L_max: float,
    kappa_tilde: float,
    zeta2: float,
    how: Averaging = AVERAGING,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three columns of ``auto`` with lookahead: rule 2, then averages.

    >>> alpha, beta, theta = lookahead_table(100, 4.0, 1.0, 8.0, 3.0, zeta2=0.1)
    >>> (alpha / (1 - beta)).round(3)[[5, 17, 50, 99]].tolist()  # the effective step
    [0.331, 0.276, 0.057, 0.057]
    """
    k = np.arange(T, dtype=np.float64)
    L_m, kappa_m, whole = batch_constants(L, mu, L_max, kappa_tilde, zeta2)
    alpha, beta, theta = _with_memory(np.minimum(whole, k + 2.0), L_m, kappa_m)
    if zeta2 > 0.0:  # the full batch has no noise to average out
        K = how.start(2.0 * whole, T)
        c = min(whole, K + 2.0)
        effective = 0.5 * (1.0 + c / kappa_m) / L_m
        t = np.maximum(k - K, 0.0)
        # a curvature that needs a longer first part than T cannot be told from a smaller one
        seen = kappa_m * L_m / min(whole, max(1.0, 0.5 * T / how.after)) ** 2
        slowing = 1.0 + seen * effective * t / how.forgetting
        steps = np.maximum(how.shortest / L_m, effective / slowing)
        later = with_step(c + how.growth * t, steps, 1.0 / L_m)
        alpha, beta, theta = (
            np.where(t > 0.0, new, old) for new, old in zip(later, (alpha, beta, theta))
        )
    return np.minimum(alpha, _longest(theta, L_max, zeta2)), beta, theta


def with_step(c: Number, effective: Number, short: float) -> tuple[Number, Number, Number]:
    """(alpha, beta, theta) with memory c, alpha = (1 - beta) effective, alpha theta = beta short.

    ``effective`` is how far a gradient moves w in the long run.

    >>> with_step(3.0, 0.5, 0.25)
    (0.25, 0.5, 0.5)
    """
    alpha, beta = 2.0 * effective / (c + 1.0), (c - 1.0) / (c + 1.0)
    return alpha, beta, beta * short / alpha


def _longest(theta: Number, L_max: float, zeta2: float) -> Number | float:
    """The longest alpha that the certificate allows to rule 2.

    Rule 2 moves y by alpha (1 + theta), which at b = 1 (the only batch with zeta0^2 > 1/2) is up
    to (1 + 1/kappa~)/L_max: longer than the certificate allows where kappa~ is small (at
    kappa~ = 1 it holds for 0.66 of the noise). From b = 2 on rule 2 is certified as it is.
    """
    return 1.0 / ((1.0 + theta) * L_max) if zeta2 > 0.5 else math.inf


def decay(T: int, start: float = DECAY_START) -> FloatArray:
    """What the steps of ``auto`` are multiplied by: 1 up to the share ``start``, then to T^-0.9.

    >>> decay(10).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.708, 0.501, 0.355, 0.251, 0.178]
    """
    late = np.maximum(np.arange(T) - start * T, 0.0) / ((1.0 - start) * T)
    return np.asarray(float(T) ** (-DECAY_POWER * late))


def design(
    L: float, mu: float, L_max: float, kappa_tilde: float | None, zeta2: float
) -> tuple[float, float, float]:
    """Constant (alpha, beta, theta) inside a certificate, for the stages of a run without T.

    Where kappa~ is known this is rule 2, with the shorter step that its certificate asks for at
    b = 1. Elsewhere it is rule 1, which is smooth in its arguments and has at least a quarter of
    the best certified 1 - rate.

    >>> design(4.0, 1.0, 8.0, None, zeta2=0.0)
    (0.25, 0.5, 0.0)
    >>> alpha, beta, theta = design(4.0, 1.0, 8.0, 3.0, zeta2=1.0)
    >>> round(alpha * (1 + theta) * 8.0, 12)
    1.0
    """
    if kappa_tilde is None:
        return (*heavy_ball_rule(L, mu, L_max, zeta2), 0.0)
    alpha, beta, theta = lookahead_rule(L, mu, L_max, kappa_tilde, zeta2)
    return min(alpha, _longest(theta, L_max, zeta2)), beta, theta
