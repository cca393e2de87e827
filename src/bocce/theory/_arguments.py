"""The arguments that several theorems share, checked once and in the same words."""

from __future__ import annotations

from .. import _checks
from ..schedules import _rules


def run(where: str, T: object, L: object, mu: object, D: object) -> tuple[int, float, float, float]:
    """How long, on what, and from how far: T, L >= mu > 0 and D."""
    return (*_rules.run(where, T, L, mu), distance(where, D))


def distance(where: str, D: object) -> float:
    return _checks.real(where, "D", D, least=0.0, remedy="D is the distance ||w_0 - w*||")


def nonnegative(where: str, name: str, value: object, remedy: str) -> float:
    return _checks.real(where, name, value, least=0.0, remedy=remedy)


def noise_root(where: str, chi: object) -> float:
    return nonnegative(where, "chi", chi, "chi is the root of noise().chi2")


def batch_share(where: str, zeta2: object) -> float:
    return nonnegative(where, "zeta2", zeta2, "use theory.zeta2(n, b)")


def step(where: str, alpha: object, beta: object) -> tuple[float, float]:
    alpha_ = _checks.real(where, "alpha", alpha, above=0.0, remedy="alpha is the step size")
    beta_ = _checks.real(where, "beta", beta, least=0.0, below=1.0, remedy="beta is the momentum")
    return alpha_, beta_


def lookahead(where: str, theta: object) -> float:
    return nonnegative(where, "theta", theta, "theta is the lookahead, 0 for heavy ball")


def spectrum(where: str, L_max: object, mu: object, lam_max: object) -> tuple[float, float, float]:
    """0 < mu <= lam_max <= L_max."""
    remedies = (f"the {which} eigenvalue of the Hessian" for which in ("largest", "smallest"))
    lam_max_ = _checks.real(where, "lam_max", lam_max, above=0.0, remedy=next(remedies))
    mu_ = _checks.real(where, "mu", mu, above=0.0, most=lam_max_, remedy=next(remedies))
    L_max_ = _rules.row_smoothness(where, lam_max_, L_max, "lam_max")
    return max(L_max_, lam_max_), mu_, lam_max_
