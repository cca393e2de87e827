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
    remedy = "add l2 > 0, or use a method that needs no mu (auto, sgd)"
    mu_ = _checks.real(where, "mu", mu, above=0.0, remedy=remedy)
    if mu_ > L_:
        raise ValueError(
            f"{where}: mu={mu_!r} must be <= L={L_!r}; mu is the smallest curvature and L the "
            "largest: were they swapped?"
        )
    return L_, mu_


def run(where: str, T: object, L: object, mu: object) -> tuple[int, float, float]:
    return (horizon(where, T), *curvatures(where, L, mu))


def row_smoothness(where: str, L: float, L_max: object, name: str = "L") -> float:
    """L_max, which is at least L but for rounding."""
    L_max_ = _checks.real(where, "L_max", L_max, above=0.0, remedy="the largest curvature of a row")
    if L_max_ < L * (1.0 - 1e-12):
        raise ValueError(
            f"{where}: L_max={L_max_!r} must be >= {name}={L!r}; the largest row bounds the mean: "
            "take both from problem.constants()."
        )
    return L_max_


def leverage(where: str, kappa_tilde: object) -> float:
    remedy = "the largest x_i^T A^-1 x_i"
    return _checks.real(where, "kappa_tilde", kappa_tilde, above=0.0, remedy=remedy)


def condition_number(where: str, kappa: object) -> float:
    return _checks.real(where, "kappa", kappa, least=1.0, remedy="kappa is L/mu")


def scale(where: str, a: object) -> float:
    return _checks.real(where, "a", a, above=0.0, most=1.0, remedy="a scales the step a/L")


def rows(where: str, n: object, least: int = 1) -> int:
    return _checks.integer(where, "n", n, least=least, remedy="n is the number of rows")


def batch(where: str, b: object, n: int) -> int:
    return _checks.integer(where, "b", b, most=n, remedy="b is the batch size in rows")


def share(where: str, c: object) -> float:
    remedy = "c is the share of the first phase"
    return _checks.real(where, "c", c, above=0.0, below=1.0, remedy=remedy)


def phases(where: str, T: int, c: object, tau: object) -> tuple[int, int, float]:
    """T_0 = ceil(cT), T_1 = T - T_0 and tau < T_1."""
    c_ = share(where, c)
    T_0 = math.ceil(c_ * T)
    tau_ = _checks.real(where, "tau", tau, least=1.0, remedy="tau lies in [1, T - ceil(cT))")
    if tau_ >= T - T_0:
        raise ValueError(
            f"{where}: T={T} leaves {T - T_0} steps for the second phase (c={c_:g}), must be more "
            f"than tau={tau_:g}; raise T or lower c."
        )
    return T_0, T - T_0, tau_


def decay(where: str, T: int, tau: object) -> float:
    """gamma = (tau/T)^(1/T), for 1 <= tau < T (steps would grow otherwise)."""
    remedy = f"tau lies in [1, T) and T={T}: raise T"
    tau_ = _checks.real(where, "tau", tau, least=1.0, below=T, remedy=remedy)
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
