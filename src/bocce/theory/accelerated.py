"""Constant step and momentum on quadratics: Theorem 2 and its variant under bounded noise."""

from __future__ import annotations

import math

from .. import _checks
from ..schedules import _rules
from .batch import above, batch_threshold, zeta
from .result import MEAN_NORM, MEAN_SQUARE, Bound, grown, verdict, verdict_for_rows


def bound_shb(
    T: int,
    L: float,
    mu: float,
    n: int,
    b: int,
    a: float = 1.0,
    D: float = 1.0,
    chi: float = 0.0,
    L_max: float | None = None,
    which: str = "corrected",
) -> Bound:
    """Theorem 2: accelerated heavy ball on quadratics, for a large batch (``schedules.shb``).

    With zeta^2 = 3 (n-b)/((n-1) b) and chi^2 = E_i||grad f_i(w*)||^2,

        E||w_T - w*|| <= 6 sqrt2 sqrt(kappa/a) exp(-(sqrt(a/kappa)/2)(1 - 2 sqrt(kappa zeta)) T) D
                         + 12 zeta chi/mu.

    "printed" has the paper's max{3/4, .} and min{1, zeta/sqrt a}, which never act. "gronwall", with
    x = 6 sqrt2 kappa zeta < 1 and a batch condition 72 times weaker in zeta0^2, is

        3 sqrt2 sqrt(kappa/a) exp(-(sqrt(a/kappa)/2)(1 - x) T) D + 6 zeta chi/(mu (1 - x)).

    Guarantee: L >= L_max and b >= b* (``batch_threshold``); false for L = lambda_max < L_max.
    Source: ``thm:SHB_quad``, ``thm:shb-interpolation`` (chi = 0).

    Parameters
    ----------
    T, n, b : int
        Numbers of steps, of rows and of rows in a batch: T >= 1, 1 <= b <= n.
    L, mu, a, D, chi, L_max : float
        Extreme eigenvalues of the Hessian, 0 < mu <= L; factor of the step a/L, 0 < a <= 1;
        distance ||w_0 - w*|| of the start; root of ``problem.noise().chi2``; largest curvature of
        one row's loss, if L >= L_max is to be checked.
    which : {"corrected", "printed", "gronwall"}, default "corrected"
        The form of the bound.

    Returns
    -------
    Bound

    Examples
    --------
    >>> bound = bound_shb(200, L=10.0, mu=1.0, n=10_000, b=9_950, chi=0.1, L_max=10.0)
    >>> f"{bound.bias:.3e} {bound.noise:.3e} {bound.valid}"
    '5.479e-10 1.473e-03 True'
    """
    where = "bound_shb"
    which = _checks.choice(where, "which", which, ["corrected", "printed", "gronwall"])
    T, L, mu, a, D, chi = _rules.given(where, T=T, L=L, mu=mu, a=a, D=D, chi=chi)
    kappa = L / mu
    noise = zeta(where, n, b)
    floor = 12.0 * noise * chi / mu
    size = 6.0 * math.sqrt(2.0 * kappa / a) * D
    rate = 1.0 - 2.0 * math.sqrt(kappa * noise)
    threshold = batch_threshold(n, kappa, a, interpolation=which == "corrected" or chi == 0.0)
    if which == "printed":
        rate = max(0.75, rate)
        floor = 12.0 * math.sqrt(a) * chi / mu * min(1.0, noise / math.sqrt(a))
    elif which == "gronwall":
        threshold = batch_threshold(n, kappa, which="gronwall")
        rate = 1.0 - 6.0 * math.sqrt(2.0) * kappa * noise
        floor, size = (0.5 * floor / rate, 0.5 * size) if rate > 0.0 else (math.inf, math.inf)
    bias = grown(size, -rate * 0.5 * math.sqrt(a / kappa) * T)
    return Bound(MEAN_NORM, bias, floor, *verdict_for_rows(where, L, L_max, above(b, threshold)))


def bound_bounded_noise(
    T: int,
    L: float,
    mu: float,
    n: int,
    b: int,
    a: float = 1.0,
    D: float = 1.0,
    sigma: float = 0.0,
    which: str = "corrected",
) -> Bound:
    """Theorem 2 when E_i||grad f(w) - grad f_i(w)||^2 <= sigma^2 along the run, for any batch.

        E||w_T - w*|| <= 3 sqrt2 sqrt(kappa/a) exp(-(sqrt(a/kappa)/2) T) D + 6 zeta0 sigma/mu,

    zeta0^2 = (n-b)/((n-1) b); "printed" divides by n instead of n - 1. "sqrt" bounds
    E||w_T - w*||^2, and its noise falls with sqrt(a): with rho = 1 - sqrt(a/kappa)/2,

        (18 kappa/a) rho^(2T) D^2 + 9 kappa a zeta0^2 sigma^2/(L^2 (1 - rho^2)).

    Guarantee: L >= lambda_max suffices, but on quadratics the noise grows with the distance, so
    that sigma exists is an assumption. Source: ``thm:shb-quad-bounded-noise``.

    Parameters
    ----------
    T, L, mu, n, b, a, D : number
        As for ``bound_shb``.
    sigma : float, default 0.0
        Bound on the noise of one row.
    which : {"corrected", "printed", "sqrt"}, default "corrected"
        The form of the bound.

    Returns
    -------
    Bound

    Examples
    --------
    >>> bound = bound_bounded_noise(T=100, L=10.0, mu=1.0, n=100, b=50, sigma=0.1, a=0.25)
    >>> f"{bound.bias:.3e} {bound.noise:.3e}"
    '9.892e-03 6.030e-02'
    """
    where = "bound_bounded_noise"
    remedy = "the root of a bound on the rows' variance"
    which = _checks.choice(where, "which", which, ["corrected", "printed", "sqrt"])
    T, L, mu, a, D = _rules.given(where, T=T, L=L, mu=mu, a=a, D=D)
    sigma = _checks.real(where, "sigma", sigma, least=0.0, remedy=remedy)
    kappa = L / mu
    noise = zeta(where, n, b) / math.sqrt(3.0)
    trust = verdict(trusted="the noise stays below sigma along the run; L >= lambda_max")
    if which == "sqrt":
        rho = 1.0 - 0.5 * math.sqrt(a / kappa)
        bias = grown(18.0 * kappa / a * D * D, 2.0 * T * math.log(rho))
        variance = 9.0 * kappa * a * (noise * sigma / L) ** 2 / ((1.0 - rho) * (1.0 + rho))
        return Bound(MEAN_SQUARE, bias, variance, *trust)
    bias = grown(3.0 * math.sqrt(2.0 * kappa / a) * D, -0.5 * math.sqrt(a / kappa) * T)
    if which == "corrected":
        return Bound(MEAN_NORM, bias, 6.0 * noise * sigma / mu, *trust)
    smaller = noise * math.sqrt((n - 1) / n)
    why = "as printed this is no guarantee: the variance of a batch has n - 1 where it prints n"
    return Bound(MEAN_NORM, bias, 6.0 * smaller * sigma / mu, b == n, "b = n" if b == n else why)
