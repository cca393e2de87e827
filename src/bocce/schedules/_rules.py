"""The arguments and formulas that several factories and theorems share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _checks
from .schedule import FloatArray

INTEGERS = {
    "T": "give the number of steps",
    "n": "n is the number of rows",
    "b": "b is the batch size in rows",
}
POSITIVE = {"above": 0.0}
NOT_NEGATIVE = {"least": 0.0}
AT_LEAST_ONE = {"least": 1.0}
REALS: dict[str, tuple[dict[str, float], str]] = {
    "L": (POSITIVE, "L is the largest curvature"),
    "mu": (POSITIVE, "add l2 > 0, or use a method that needs no mu (auto, sgd)"),
    "lam_max": (POSITIVE, "the largest eigenvalue of the Hessian"),
    "L_max": (POSITIVE, "the largest curvature of a row"),
    "lam": (POSITIVE, "lam is an eigenvalue of the Hessian"),
    "kappa": (AT_LEAST_ONE, "kappa is L/mu"),
    "R": (AT_LEAST_ONE, "R is L_max/lambda_max"),
    "kappa_tilde": (POSITIVE, "the largest x_i^T A^-1 x_i"),
    "a": ({"above": 0.0, "most": 1.0}, "a scales the step a/L"),
    "c": ({"above": 0.0, "below": 1.0}, "c is the share of the first phase"),
    "alpha": (POSITIVE, "alpha is the step size"),
    "beta": ({"least": 0.0, "below": 1.0}, "beta is the momentum, for example 0.9"),
    "theta": (NOT_NEGATIVE, "theta is the lookahead, 0 for heavy ball"),
    "rate": ({"above": 0.0, "most": 1.0}, "1 is stability"),
    "zeta2": (NOT_NEGATIVE, "use theory.zeta2(n, b)"),
    "D": (NOT_NEGATIVE, "D is the distance ||w_0 - w*||"),
    "chi": (NOT_NEGATIVE, "chi is the root of noise().chi2"),
    "chi2": (NOT_NEGATIVE, "chi2 is noise().chi2"),
    "sigma2": (NOT_NEGATIVE, "sigma2 is noise().sigma2"),
}


def given(where: str, **values: object) -> list[Any]:
    """The arguments of a factory or theorem, each checked by the rule for its name.

    Where several are given, also mu <= L, mu <= lam_max, b <= n, and L_max >= L (or lam_max) except
    for rounding.

    >>> given("shb", T=3, L=2, mu=1.0)
    [3, 2.0, 1.0]
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name in INTEGERS:
            most = found.get("n") if name == "b" else None
            found[name] = _checks.integer(where, name, value, most=most, remedy=INTEGERS[name])
        else:
            limits, remedy = REALS[name]
            found[name] = _checks.real(where, name, value, **limits, remedy=remedy)
    for top in {"L", "lam_max"} & set(found):
        L = found[top]
        if found.get("mu", 0.0) > L:
            raise ValueError(
                f"{where}: mu={found['mu']!r} must be <= {top}={L!r}; mu is the smallest curvature "
                f"and {top} the largest: were they swapped?"
            )
        if found.get("L_max", math.inf) < L * (1.0 - 1e-12):
            raise ValueError(
                f"{where}: L_max={found['L_max']!r} must be >= {top}={L!r}; the largest row bounds "
                "the mean: take both from problem.constants()."
            )
    return list(found.values())


def phases(where: str, T: int, c: object, tau: object) -> tuple[int, int, float]:
    """T_0 = ceil(cT), T_1 = T - T_0 and tau < T_1."""
    (c_,) = given(where, c=c)
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
    """The momentum that belongs to a constant step: B(alpha) = (1 - sqrt(alpha mu)/2)^2.

    Guarantee: with alpha <= 1/L and all rows, heavy ball with B(alpha) is accelerated.
    Source: Theorem 2 (thm:SHB_quad).

    Parameters
    ----------
    alpha, mu : float
        The step size; the least curvature.

    Returns
    -------
    float
        The momentum beta.

    Raises
    ------
    ValueError, TypeError
        alpha or mu is not a positive number.

    Examples
    --------
    >>> momentum(alpha=0.25, mu=1.0)
    0.5625
    """
    alpha, mu = given("momentum", alpha=alpha, mu=mu)
    return float((1.0 - 0.5 * math.sqrt(alpha * mu)) ** 2)


def averaging(
    eta: FloatArray, mu: float, omega: float, form: str, where: str
) -> tuple[FloatArray, FloatArray]:
    """(alpha, beta) of the averaging form with steps eta_0 .. eta_T (one more than the schedule).

    lambda_k = omega/(eta_k mu) (1 - (1 - eta_k mu)^k);  alpha_k = eta_k/(1 + lambda_{k+1});
    beta_k = lambda_k (1 - eta_k mu)/(1 + lambda_{k+1}) ("proof") or lambda_k/(1 + lambda_{k+1}).
    """
    _checks.choice(where, "form", form, ["proof", "average"])
    shrink = -np.expm1(np.arange(eta.size) * np.log1p(-eta * mu))
    lam = omega / (eta * mu) * shrink
    alpha = eta[:-1] / (1.0 + lam[1:])
    beta = lam[:-1] / (1.0 + lam[1:])
    return alpha, beta * (1.0 - eta[:-1] * mu) if form == "proof" else beta


def batch_rows(where: str, batch_size: object, n: int) -> int:
    """The batch size in rows: an int is rows, a float in (0, 1] a share of n (at least one row).

    >>> batch_rows("minimize", 0.9, 50), batch_rows("minimize", 7, 50)
    (45, 7)
    """
    remedy = f"give rows (1 to n={n}), or a share of n above 0 and at most 1, such as 0.5"
    if isinstance(batch_size, (float, np.floating)):
        share = float(batch_size)
        share = _checks.real(where, "batch_size", share, above=0.0, most=1.0, remedy=remedy)
        return max(1, round(share * n))
    return _checks.integer(where, "batch_size", batch_size, most=n, remedy=remedy)
