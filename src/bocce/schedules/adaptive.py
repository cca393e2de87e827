"""Schedules that know the batch: they accelerate as far as it allows."""

from __future__ import annotations

import math

import numpy as np

from .. import _checks
from . import _rules
from .optimise import fastest
from .schedule import FloatArray, Schedule

DECAY_START = 0.4  # of T: chosen by exact dynamics over a grid of problems, see docs/auto.md
DECAY_POWER = 0.9


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
    c = max(1.0, math.sqrt(kappa_m * L_m / mu))  # L_m >= mu, but for rounding
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
    ``mass_published`` has that z).

    Source: Liu and Belkin (2020), with 1/b replaced by zeta0^2 (b = n: Nesterov's scheme).

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
    optimise: bool = False,
) -> Schedule:
    """Heavy ball that needs no tuning: full acceleration when the batch allows it, SGD when not.

    With z = zeta0^2 = (n - b)/((n - 1) b): heavy ball (``heavy_ball_rule``) limits the effective
    step, for it is alpha/(1 - beta) that sampling noise limits, as it limits the step of SGD:

        1/s = z L_max + sqrt(mu L),  alpha = min(1/L, s),  beta = 1 - alpha/s,  theta = 0;

    lookahead (``certified_lookahead_rule``), taken when kappa~ is known unless ``family="shb"``,
    is MaSS with 1/b replaced by z, partly accelerated even at b = 1. Then

        alpha_k = alpha for k < 0.4 T,  alpha T^(-0.9 (k - 0.4 T)/(0.6 T)) after (if b < n),

    with constant momentum: 0.4 T steps forget the start, the rest average the noise out. Letting
    momentum grow as the step falls would keep the effective step, and with it the noise.
    ``optimise=True`` minimises the certified rate over (alpha, beta, theta) from there, in tens
    of milliseconds.

    Guarantee: on least squares with L >= lambda_max, mean-square stable at every batch size:
    zeta0^2 is inside ``theory.certificate`` (heavy ball) or ``theory.lookahead_certificate``;
    a smaller step at the same momentum keeps that. A mu that is too small costs speed, never
    stability. Limits: nothing is proved for logistic loss; mu far too small costs sqrt of the
    ratio at b = n; reshuffled batches are not covered.

    Source: the problem that ``sec:conclusion`` leaves open; rule 2 after Liu and Belkin (2020).

    >>> s = auto(4, L=4.0, mu=1.0, L_max=9.0, n=10, b=5, family="shb")
    >>> s.alpha.round(3).tolist(), round(float(s.beta[0]), 3)
    ([0.25, 0.25, 0.203, 0.121], 0.25)
    """
    T = _rules.horizon("auto", T)
    L, mu = _rules.curvatures("auto", L, mu)
    L_max = _rules.row_smoothness("auto", L, L_max)
    zeta2 = sampling_noise("auto", n, b)
    if family is not None:
        _checks.choice("auto", "family", family, ["shb"])
    if kappa_tilde is not None:
        kappa_tilde = _rules.leverage("auto", kappa_tilde)
    if family == "shb":
        kappa_tilde = None
    alpha, beta, theta = design(L, mu, L_max, kappa_tilde, zeta2, optimise)
    shape = decay(T) if zeta2 > 0.0 else np.ones(T)  # the full batch has no noise to average out
    return Schedule(
        alpha * shape,
        np.full(T, beta),
        np.full(T, theta),
        "auto-shb" if family == "shb" else "auto",
    )


def decay(T: int) -> FloatArray:
    """What the steps of ``auto`` are multiplied by: 1 for 0.4 T, then down to T^-0.9.

    >>> decay(10).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.708, 0.501, 0.355, 0.251, 0.178]
    """
    late = np.maximum(np.arange(T) - DECAY_START * T, 0.0) / ((1.0 - DECAY_START) * T)
    return np.asarray(float(T) ** (-DECAY_POWER * late))


def design(
    L: float,
    mu: float,
    L_max: float,
    kappa_tilde: float | None,
    zeta2: float,
    optimise: bool = False,
) -> tuple[float, float, float]:
    """The constant (alpha, beta, theta) of ``auto``: lookahead when kappa~ is known.

    >>> design(4.0, 1.0, 8.0, None, zeta2=0.0)
    (0.25, 0.5, 0.0)
    """
    if kappa_tilde is None:
        three = (*heavy_ball_rule(L, mu, L_max, zeta2), 0.0)
    else:
        three = certified_lookahead_rule(L, mu, L_max, kappa_tilde, zeta2)
    if not optimise:
        return three
    return fastest(three, zeta2, max(L_max, L), kappa_tilde, mu, L)
