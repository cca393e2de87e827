"""The arguments and formulas that several factories share."""

from __future__ import annotations

import math

import numpy as np

from .. import _checks
from .schedule import FloatArray, Schedule


def horizon(where: str, T: object) -> int:
    return _checks.integer(where, "T", T, least=1, remedy="give the number of steps")


def smoothness(where: str, L: object) -> float:
    return _checks.real(where, "L", L, above=0.0, remedy="L is the largest curvature")


def curvatures(where: str, L: object, mu: object) -> tuple[float, float]:
    """L and mu with 0 < mu <= L."""
    L_ = smoothness(where, L)
    mu_ = _checks.real(
        where, "mu", mu, above=0.0, remedy="add l2 regularisation, or use a method without mu (sgd)"
    )
    if mu_ > L_:
        raise ValueError(
            f"{where}: mu={mu_!r} must be <= L={L_!r}; mu is the smallest curvature and L the "
            "largest: were they swapped?"
        )
    return L_, mu_


def decay(where: str, T: int, tau: object) -> float:
    """gamma = (tau/T)^(1/T), for 1 <= tau < T (steps would grow otherwise)."""
    tau_ = _checks.real(
        where, "tau", tau, least=1.0, below=T, remedy=f"tau lies in [1, T) and T={T}: raise T"
    )
    return float((tau_ / T) ** (1.0 / T))


def powers(gamma: float, count: int) -> FloatArray:
    """gamma^1 .. gamma^count."""
    return np.power(gamma, np.arange(1, count + 1, dtype=np.float64))


def momentum(alpha: float, mu: float) -> float:
    """B(alpha) = (1 - sqrt(alpha mu)/2)^2, the paper's momentum for a constant step."""
    return (1.0 - 0.5 * math.sqrt(alpha * mu)) ** 2


def averaging(
    eta: FloatArray, mu: float, omega: float, form: str, where: str
) -> tuple[FloatArray, FloatArray]:
    """(alpha, beta) of the averaging form with steps eta_0 .. eta_T (one more than the schedule).

    lambda_k = omega/(eta_k mu) (1 - (1 - eta_k mu)^k);  alpha_k = eta_k/(1 + lambda_{k+1});
    beta_k = lambda_k (1 - eta_k mu)/(1 + lambda_{k+1}) ("proof") or lambda_k/(1 + lambda_{k+1}).
    """
    _checks.choice(where, "form", form, ["proof", "average"])
    k = np.arange(eta.size)
    shrink = -np.expm1(k * np.log1p(-eta * mu))
    lam = omega / (eta * mu) * shrink
    alpha = eta[:-1] / (1.0 + lam[1:])
    beta = lam[:-1] / (1.0 + lam[1:])
    if form == "proof":
        beta = beta * (1.0 - eta[:-1] * mu)
    return alpha, beta


def heavy_ball(alpha: FloatArray, beta: FloatArray, name: str) -> Schedule:
    return Schedule(alpha, beta, np.zeros(alpha.size), name)


def constant(T: int, alpha: float, beta: float, theta: float, name: str) -> Schedule:
    return Schedule(np.full(T, alpha), np.full(T, beta), np.full(T, theta), name)
