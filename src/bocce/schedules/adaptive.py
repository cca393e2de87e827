"""Schedules that know the batch: they accelerate as far as it allows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import _checks
from . import _rules
from .bernstein import Number
from .damped import damped_table, suits
from .minimax import minimax_heavy_ball
from .schedule import FloatArray, Schedule

EPS = float(np.finfo(np.float64).eps)

DECAY_START = 0.4  # of T, where the rate is not known
DECAY_POWER = 0.9


class Averaging(NamedTuple):
    """When and how lookahead averages the noise out; found by exact dynamics, see docs/auto.md."""

    after: float = 3.5  # time constants,
    latest: float = 0.5  # but at most this share of T
    growth: float = 1.0 / 3.0  # of the memory, a step
    forgetting: float = 1.5  # the slowest direction forgets as this power of the time
    shortest: float = 0.25  # of 1/L_m, the least effective step

    def start(self, tau: float, T: int) -> float:
        """K, the first step that is not of the constant part, for the time constant tau."""
        return min(self.after * tau, self.latest * T)


AVERAGING = Averaging()


def sampling_noise(where: str, n: object, b: object) -> float:
    """zeta0^2 = (n - b)/((n - 1) b), the variance factor of a batch without replacement."""
    n_ = _rules.rows(where, n)
    b_ = _rules.batch(where, b, n_)
    return 0.0 if b_ == n_ else (n_ - b_) / ((n_ - 1) * b_)


def expected_smoothness(L: float, L_max: float, zeta2: float) -> float:
    """The curvature of a batch, (1 - zeta0^2) L + zeta0^2 L_max: the constant of SGD's safe step.

    >>> expected_smoothness(2.0, 10.0, 0.5)
    6.0
    """
    return (1.0 - zeta2) * L + zeta2 * L_max


def expected_leverage(kappa_tilde: float, zeta2: float) -> float:
    """kappa~ of a batch, (1 - zeta0^2) + zeta0^2 kappa~, and at least 1.

    >>> expected_leverage(3.0, 0.5)
    2.0
    """
    return max(1.0, (1.0 - zeta2) + zeta2 * kappa_tilde)


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
    L_m = expected_smoothness(L, L_max, zeta2)
    kappa_m = expected_leverage(kappa_tilde, zeta2)
    return _with_memory(memory(L, mu, L_max, kappa_tilde, zeta2), L_m, kappa_m)


def visible_curvature(
    T: int, L: float, mu: float, L_max: float, zeta2: float, how: Averaging = AVERAGING
) -> float:
    """The least curvature that T steps of heavy ball can see; mu where T is long enough for it.

    Rule 1 forgets the start in about tau(m) = (zeta0^2 L_max + sqrt(m L))/m steps along a
    direction of curvature m. The answer is the m with ``how.after`` tau(m) = T, or mu if mu is
    larger. A momentum made for a smaller curvature would still be swinging at T.

    >>> visible_curvature(35, L=100.0, mu=1e-3, L_max=100.0, zeta2=0.0)  # (3.5/T)^2 L
    1.0
    >>> visible_curvature(7000, L=100.0, mu=1.0, L_max=100.0, zeta2=0.5)
    1.0
    """
    time = max(1.0, T / how.after)
    root = (math.sqrt(L) + math.sqrt(L + 4.0 * time * zeta2 * L_max)) / (2.0 * time)
    return min(L, max(mu, root * root))


def memory(L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float) -> float:
    """c = sqrt(kappa_m L_m/mu) of rule 2: its error falls by 1 - 1/(2c) a step.

    >>> memory(4.0, 1.0, 8.0, 3.0, zeta2=0.0)
    2.0
    """
    L_m = expected_smoothness(L, L_max, zeta2)
    kappa_m = expected_leverage(kappa_tilde, zeta2)
    return max(1.0, math.sqrt(kappa_m * L_m / mu))  # L_m >= mu, but for rounding


def _with_memory(c: Number, L_m: float, kappa_m: float) -> tuple[Number, Number, Number]:
    """(alpha, beta, theta) of rule 2 that remembers about c steps."""
    beta = (c - 1.0) / (c + 1.0)
    e1 = 1.0 / L_m
    alpha = e1 * (1.0 + c / kappa_m) / (c + 1.0)  # e1 - e2, without cancellation
    return alpha, beta, beta * e1 / alpha


def certified_lookahead_rule(
    L: float, mu: float, L_max: float, kappa_tilde: float, zeta2: float
) -> tuple[float, float, float]:
    """Rule 2 inside its certificate: at b = 1, alpha is at most 1/((1 + theta) L_max).

    Rule 2 moves y by alpha (1 + theta), which at b = 1 (the only batch with zeta0^2 > 1/2) is up
    to (1 + 1/kappa~)/L_max: longer than the certificate allows where kappa~ is small (at
    kappa~ = 1 it holds for 0.66 of the noise). From b = 2 on rule 2 is certified as it is.

    >>> alpha, beta, theta = certified_lookahead_rule(4.0, 1.0, 8.0, 3.0, zeta2=1.0)
    >>> round(alpha * (1 + theta) * 8.0, 12)
    1.0
    """
    alpha, beta, theta = lookahead_rule(L, mu, L_max, kappa_tilde, zeta2)
    if zeta2 > 0.5:
        alpha = min(alpha, 1.0 / ((1.0 + theta) * L_max))
    return alpha, beta, theta


def mass(T: int, L: float, mu: float, L_max: float, kappa_tilde: float, n: int, b: int) -> Schedule:
    """MaSS (momentum-added stochastic solver), constant, for a batch without replacement.

    With L_m = (1 - z) L + z L_max, kappa_m = max(1, (1 - z) + z kappa~), z = zeta0^2 and
    c = sqrt(kappa_m L_m/mu):  e1 = 1/L_m,  e2 = e1 c/(c+1) (1 - 1/kappa_m),
    alpha = e1 - e2,  beta = (c-1)/(c+1),  theta = beta e1/alpha.

    Guarantee: Liu and Belkin's rate 1 - 1/c a step under interpolation (for z = 1/b;
    ``mass_published`` has that z). Source: Liu and Belkin (2020), with 1/b replaced by zeta0^2 (b =
    n: Nesterov's scheme).

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
    T = _rules.horizon("mass", T)
    L, mu = _rules.curvatures("mass", L, mu)
    L_max = _rules.row_smoothness("mass", L, L_max)
    kappa_tilde = _rules.leverage("mass", kappa_tilde)
    zeta2 = sampling_noise("mass", n, b)
    return _rules.constant(T, *lookahead_rule(L, mu, L_max, kappa_tilde, zeta2), "mass")


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

    The schedule has two parts. The first part forgets the start; the second averages the noise out.
    Let z = zeta0^2 = (n - b)/((n - 1) b) be the variance factor of a batch.

    Heavy ball (theta = 0) is used where kappa~ is unknown or ``family="shb"``. It takes the step,
    at most 1/L, and the momentum of the smallest certified rate (``minimax.minimax_heavy_ball``)
    for the curvatures that T steps can see (``visible_curvature``).

    Lookahead is used where kappa~ is known. On quadratics with z L_max <= L/2 and T >= 50 it is
    rule 3 (``damped.damped_table``): the slowest direction is critically damped, the steepest has
    the longest step that is certified with a margin. Towards the end of the accelerated part the
    momentum falls to 0.25; then noise is averaged out. (On all rows T may also be below 50, but at
    least 5 + 2.5 sqrt(L/mu).) Elsewhere it is rule 2, MaSS with 1/b replaced by z
    (``lookahead_rule``), which is partly accelerated even at b = 1. Rule 2 remembers
    c = sqrt(kappa_m L_m/mu) steps, and c_k = min(c, k + 2) at step k, so that fast directions need
    not wait for slow ones.

    With rule 2 and heavy ball the first part takes K = min(3.5 tau, T/2) steps, where tau is the
    time constant (2c, or 1/(1 - rate)). The second part exists only if b < n. Heavy ball then
    shortens its step, alpha_k = alpha T^(-0.9 (k - K)/(T - K)), at constant momentum. Growing
    momentum would keep the effective step s = alpha/(1 - beta), and with it the noise.
    Lookahead lengthens its memory and shortens its effective step: with t = k - K,

        c_k = c_K + t/3,   s_k = max(1/(4 L_m), s_K/(1 + mu_T s_K t/1.5)),
        alpha = 2 s/(c + 1),   beta = (c - 1)/(c + 1),   alpha theta = beta/L_m.

    Here mu_T = max(mu, kappa_m L_m (7/T)^2) is the smallest curvature that T steps can see. The
    method so turns from an accelerated one into one whose iterates are averages of SGD's iterates:
    with s = 1/(2 L_m) and c = 1, 2, 3 .. the iterates are exactly these averages.

    Guarantee: on least squares with L >= lambda_max the schedule is mean-square stable at every
    batch size (with rule 2, from c_k = c on). At every step zeta0^2 is inside
    ``theory.certificate`` (heavy ball) or ``theory.lookahead_certificate``. ``theory.certify``
    bounds the error at T. A mu that is too small costs speed, never stability.

    Limits: on other convex losses only what ``theory.certify_convex`` proves holds. A mu far too
    small costs the square root of the ratio at b = n. Reshuffled batches are not covered.

    Source: the problem that ``sec:conclusion`` leaves open; rule 2 after Liu and Belkin (2020).

    Parameters
    ----------
    T, n, b : int
        Numbers of steps, of rows and of rows in a batch: T >= 1, 1 <= b <= n.
    L, mu, L_max : float
        Extreme eigenvalues of the Hessian A, 0 < mu <= L; largest curvature L_max >= L of one row's
        loss, in whose place ``Constants.R2`` may stand on least squares.
    kappa_tilde : float, optional
        Largest x_i^T A^-1 x_i over the rows (on least squares ``Constants.R2_tilde`` may stand
        here). Without it the schedule is heavy ball.
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
    T = _rules.horizon("auto", T)
    L, mu = _rules.curvatures("auto", L, mu)
    L_max = max(_rules.row_smoothness("auto", L, L_max), L)
    zeta2 = sampling_noise("auto", n, b)
    if family is not None:
        _checks.choice("auto", "family", family, ["shb"])
    if kappa_tilde is not None:
        kappa_tilde = _rules.leverage("auto", kappa_tilde)
    if family == "shb":
        kappa_tilde = None
    name = "auto-shb" if family == "shb" else "auto"
    if kappa_tilde is not None:
        known = (T, L, mu, L_max, kappa_tilde, zeta2)
        closes = quadratic and suits(T, L, mu, L_max, zeta2)
        table = damped_table if closes else lookahead_table
        return Schedule(*table(*known), name)
    seen = visible_curvature(T, L, mu, L_max, zeta2)
    alpha, beta, rate = minimax_heavy_ball(zeta2, L_max, seen, L, longest=1.0 / L)
    shape = np.ones(T)
    if zeta2 > 0.0:  # the full batch has no noise to average out
        tau = 1.0 / max(1.0 - rate, EPS)  # kappa may be beyond a double
        shape = decay(T, AVERAGING.start(tau, T) / T)
    return Schedule(alpha * shape, np.full(T, beta), np.zeros(T), name)


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
    L_m = expected_smoothness(L, L_max, zeta2)
    kappa_m = expected_leverage(kappa_tilde, zeta2)
    whole = memory(L, mu, L_max, kappa_tilde, zeta2)
    k = np.arange(T, dtype=np.float64)
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
    return _within(alpha, theta, L_max, zeta2), beta, theta


def with_step(c: Number, effective: Number, short: float) -> tuple[Number, Number, Number]:
    """(alpha, beta, theta) with memory c, alpha = (1 - beta) effective, alpha theta = beta short.

    ``effective`` is how far a gradient moves w in the long run.

    >>> with_step(3.0, 0.5, 0.25)
    (0.25, 0.5, 0.5)
    """
    alpha, beta = 2.0 * effective / (c + 1.0), (c - 1.0) / (c + 1.0)
    return alpha, beta, beta * short / alpha


def _within(alpha: FloatArray, theta: FloatArray, L_max: float, zeta2: float) -> FloatArray:
    """The cap of ``certified_lookahead_rule``, step by step."""
    return np.minimum(alpha, 1.0 / ((1.0 + theta) * L_max)) if zeta2 > 0.5 else alpha


def decay(T: int, start: float = DECAY_START) -> FloatArray:
    """What the steps of ``auto`` are multiplied by: 1 up to the share ``start``, then to T^-0.9.

    >>> decay(10).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.708, 0.501, 0.355, 0.251, 0.178]
    """
    late = np.maximum(np.arange(T) - start * T, 0.0) / ((1.0 - start) * T)
    return np.asarray(float(T) ** (-DECAY_POWER * late))


def design(
    L: float,
    mu: float,
    L_max: float,
    kappa_tilde: float | None,
    zeta2: float,
) -> tuple[float, float, float]:
    """Constant (alpha, beta, theta) inside a certificate: lookahead when kappa~ is known.

    What runs without T take stage by stage: rule 2, and where kappa~ is unknown rule 1, which is
    smooth in its arguments and has at least a quarter of the best certified 1 - rate.

    >>> design(4.0, 1.0, 8.0, None, zeta2=0.0)
    (0.25, 0.5, 0.0)
    """
    if kappa_tilde is None:
        return (*heavy_ball_rule(L, mu, L_max, zeta2), 0.0)
    return certified_lookahead_rule(L, mu, L_max, kappa_tilde, zeta2)
