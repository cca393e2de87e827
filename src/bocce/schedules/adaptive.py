"""Schedules that know the batch: they accelerate as far as it allows."""

from __future__ import annotations

import math

import numpy as np

from .. import _checks
from . import _rules
from .schedule import Schedule


def sampling_noise(where: str, n: object, b: object) -> float:
    """zeta0^2 = (n - b)/((n - 1) b), the variance factor of a batch without replacement."""
    n_ = _checks.integer(where, "n", n, remedy="n is the number of rows")
    b_ = _checks.integer(where, "b", b, most=n_, remedy="b is the batch size in rows")
    return 0.0 if b_ == n_ else (n_ - b_) / ((n_ - 1) * b_)


def _row_smoothness(where: str, L: float, L_max: object) -> float:
    L_max_ = _checks.real(where, "L_max", L_max, above=0.0, remedy="the largest curvature of a row")
    if L_max_ < L * (1.0 - 1e-12):
        raise ValueError(
            f"{where}: L_max={L_max_!r} must be >= L={L!r}; the largest row bounds the mean: "
            "take both from problem.constants()."
        )
    return L_max_


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
    L_m = (1.0 - zeta2) * L + zeta2 * L_max
    kappa_m = max(1.0, (1.0 - zeta2) + zeta2 * kappa_tilde)
    c = max(1.0, math.sqrt(kappa_m * L_m / mu))  # L_m >= mu, but for rounding
    beta = (c - 1.0) / (c + 1.0)
    e1 = 1.0 / L_m
    e2 = e1 * c / (c + 1.0) * (1.0 - 1.0 / kappa_m)
    alpha = e1 - e2
    return alpha, beta, beta * e1 / alpha


def mass(T: int, L: float, mu: float, L_max: float, kappa_tilde: float, n: int, b: int) -> Schedule:
    """MaSS (momentum-added stochastic solver), constant, for a batch without replacement.

    With L_m = (1 - z) L + z L_max, kappa_m = max(1, (1 - z) + z kappa~), z = zeta0^2 and
    c = sqrt(kappa_m L_m/mu):  e1 = 1/L_m,  e2 = e1 c/(c+1) (1 - 1/kappa_m),
    alpha = e1 - e2,  beta = (c-1)/(c+1),  theta = beta e1/alpha.

    Guarantee: Liu and Belkin's rate 1 - 1/c a step under interpolation (for z = 1/b).

    Source: Liu and Belkin (2020), with 1/b replaced by zeta0^2 (b = n: Nesterov's scheme).

    >>> s = mass(1, L=4.0, mu=1.0, L_max=8.0, kappa_tilde=3.0, n=10, b=10)
    >>> round(float(s.beta[0]), 4) == round(float(s.theta[0]), 4) == 0.3333
    True
    """
    T = _rules.horizon("mass", T)
    L, mu = _rules.curvatures("mass", L, mu)
    L_max = _row_smoothness("mass", L, L_max)
    kappa_tilde = _checks.real(
        "mass", "kappa_tilde", kappa_tilde, above=0.0, remedy="the largest x_i^T A^-1 x_i"
    )
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
) -> Schedule:
    """Heavy ball that needs no tuning: full acceleration when the batch allows it, SGD when not.

    With lookahead when kappa~ is known (``lookahead_rule``), else heavy ball
    (``heavy_ball_rule``; ``family="shb"`` forces it), with constant momentum and

        alpha_k = alpha for k < T/2,  alpha (1/T)^((k - T/2)/(T/2)) after.

    Guarantee: mean-square stable at every batch size on least squares with L = lambda_max (the
    effective step alpha/(1 - beta) stays below the limit that the sampling noise sets). A wrong
    mu costs speed, never stability, in the heavy-ball family.

    Source: the problem that ``sec:conclusion`` leaves open.

    >>> s = auto(4, L=4.0, mu=1.0, L_max=8.0, n=10, b=10, family="shb")
    >>> s.alpha.tolist(), float(s.beta[0])
    ([0.25, 0.25, 0.25, 0.125], 0.5)
    """
    T = _rules.horizon("auto", T)
    L, mu = _rules.curvatures("auto", L, mu)
    L_max = _row_smoothness("auto", L, L_max)
    zeta2 = sampling_noise("auto", n, b)
    if family is not None:
        _checks.choice("auto", "family", family, ["shb"])
    theta = 0.0
    if kappa_tilde is None or family == "shb":
        alpha, beta = heavy_ball_rule(L, mu, L_max, zeta2)
    else:
        kappa_tilde = _checks.real(
            "auto", "kappa_tilde", kappa_tilde, above=0.0, remedy="the largest x_i^T A^-1 x_i"
        )
        alpha, beta, theta = lookahead_rule(L, mu, L_max, kappa_tilde, zeta2)
    half = T / 2
    late = np.maximum(np.arange(T) - half, 0.0) / half
    return Schedule(
        alpha * (1.0 / T) ** late,
        np.full(T, beta),
        np.full(T, theta),
        "auto-shb" if family == "shb" else "auto",
    )
