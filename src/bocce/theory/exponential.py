"""Exponential steps: Theorem 1, the same with a wrong L or mu, and the two-phase theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _checks
from ..schedules import _rules
from .batch import above, batch_threshold, zeta
from .result import (
    MEAN_NORM_BEFORE_LAST,
    MEAN_SQUARE_BEFORE_LAST,
    Bound,
    grown,
    verdict_for_rows,
)

NOT_PROVED = "as printed this is no guarantee: docs/theory corrects its constants"
E2 = math.e**2
WHICH = ("corrected", "printed")


@dataclass(frozen=True)
class Decay:
    """The numbers that every bound on exponential steps is made of."""

    T: int
    tau: float
    gamma: float
    ell: float  # ln(T/tau)
    kappa: float
    L: float
    mu: float

    @classmethod
    def of(cls, where: str, T: int, L: float, mu: float, tau: float) -> Decay:
        T, L, mu = _rules.given(where, T=T, L=L, mu=mu)
        gamma = _rules.decay(where, T, tau)
        # log1p keeps ln(T/tau) positive for tau just below T
        return cls(T, float(tau), gamma, -math.log1p((tau - T) / T), L / mu, L, mu)

    def printed_c_L(self, nu_mu: float = 1.0) -> float:
        """4 (1 - gamma)/(nu mu)^2 (1 - exp(-nu gamma/(2 kappa))), ``lemma:Et_bound``."""
        reach = -math.expm1(-nu_mu * self.gamma / (2.0 * self.kappa))
        return -4.0 * math.expm1(-self.ell / self.T) / (nu_mu * self.mu) ** 2 * reach

    def corrected(self, D: float, energy: float, nu: float = 1.0) -> tuple[float, float]:
        """(bias, noise) of ``bound_misestimated_L``; ``energy`` is what its brackets hold."""
        log_c2 = nu * self.tau / (2.0 * self.kappa * self.ell)
        c_L = -math.expm1(-nu * self.tau * self.gamma / (4.0 * self.kappa))
        c_L = (1.0 - self.gamma / 2.0) * c_L
        reach = self.kappa * self.ell / self.gamma
        spread = 8.0 * reach * reach / (self.L * E2 * self.T)
        contraction = nu * self.T * self.gamma / (4.0 * self.kappa * self.ell)
        return grown(D * D / c_L, log_c2 - contraction), grown(spread * energy / c_L, log_c2)

    def printed(
        self, D: float, zeta2: float, energy: float, slower: float, nu_mu: float = 1.0
    ) -> Bound:
        """(c2/cL) [D^2 exp(-slower T gamma/(2 kappa ell)) + C zeta0^2 energy/T], as printed."""
        c_L = self.printed_c_L(nu_mu)
        log_c2 = self.tau / (self.kappa * self.ell)
        pace = self.T * self.gamma / (2.0 * self.kappa * self.ell)
        kappa_cubed = self.kappa * self.kappa * self.kappa  # ** would raise where this is infinite
        spread = 32.0 * self.L * kappa_cubed * zeta2 * self.ell / (E2 * self.gamma**2 * self.T)
        bias = grown(D * D / c_L, log_c2 - slower * pace)
        noise = grown(spread * energy / c_L, log_c2)
        return Bound(MEAN_SQUARE_BEFORE_LAST, bias, noise, False, NOT_PROVED)

    def batch_noise(
        self, where: str, sigma2: object, zeta2: object, chi2: object = None
    ) -> tuple[float, float]:
        """sigma^2, and s_B^2: what stands for the noise of a batch, see ``bound_exponential``.

        >>> s = Decay.of("example", T=100, L=10.0, mu=10.0, tau=1.0)
        >>> s.batch_noise("example", sigma2=0.3, zeta2=0.1, chi2=2.0)
        (0.3, 0.01)
        """
        (sigma2_,), remedy = _rules.given(where, sigma2=sigma2), "use theory.zeta2(n, b)"
        zeta2_ = _checks.real(where, "zeta2", zeta2, least=0.0, most=1.0, remedy=remedy)
        share = zeta2_ / (1.0 - zeta2_ * (1.0 - 1.0 / self.kappa) / (2.0 - 1.0 / self.kappa))
        energy = sigma2_ * min(1.0, share)  # share is c_B zeta0^2
        if chi2 is not None:
            (chi2_,) = _rules.given(where, chi2=chi2)
            energy = min(energy, share * chi2_ / (2.0 * self.L))
        return sigma2_, energy


def bound_exponential(
    T: int,
    L: float,
    mu: float,
    tau: float = 1.0,
    D: float = 1.0,
    sigma2: float = 0.0,
    zeta2: float = 1.0,
    L_max: float | None = None,
    which: str = "corrected",
    chi2: float | None = None,
) -> Bound:
    """Theorem 1: noise-adaptive heavy ball with exponential steps (``schedules.shb_exponential``).

    With ell = ln(T/tau), gamma = (tau/T)^(1/T), kappa = L/mu,

        E||w_{T-1} - w*||^2 <= (c2/cL) [D^2 exp(-T gamma/(4 kappa ell))
                                        + 8 kappa^2 ell^2 s_B^2/(L e^2 gamma^2 T)],
        c2 = exp(tau/(2 kappa ell)),  cL = (1 - gamma/2)(1 - exp(-tau gamma/(4 kappa))),

    where s_B^2 is the least of sigma^2, c_B zeta0^2 sigma^2 and, if chi^2 is given,
    c_B zeta0^2 chi^2/(2L), with c_B = (2 kappa - 1)/(2 kappa - 1 - zeta0^2 (kappa - 1)) < 2.

    Guarantee: any batch size, any convex L-smooth rows, form "proof", L >= L_max. Source:
    ``thm:SHB_exp``.

    Parameters
    ----------
    T, L, mu, tau, D, L_max : number
        As for ``bound_shb``; the schedule's tau, 1 <= tau < T.
    sigma2, zeta2, chi2 : float
        ``problem.noise().sigma2``; variance factor of a batch, ``theory.zeta2(n, b)``;
        ``problem.noise().chi2``, which sharpens the noise term.
    which : {"corrected", "printed"}, default "corrected"
        "printed" has the paper's C_4 and C_5, which exact dynamics exceed.

    Returns
    -------
    Bound

    Examples
    --------
    >>> bound = bound_exponential(10_000, L=10.0, mu=1.0, sigma2=0.01, L_max=10.0)
    >>> f"{bound.bias:.3e} {bound.noise:.3e} {bound.valid}"
    '1.360e-10 7.494e-02 True'
    """
    where = "bound_exponential"
    which = _checks.choice(where, "which", which, WHICH)
    s, (D,) = Decay.of(where, T, L, mu, tau), _rules.given(where, D=D)
    sigma2, energy = s.batch_noise(where, sigma2, zeta2, chi2)
    if which == "printed":
        return s.printed(D, zeta2, 2.0 * s.ell * sigma2, 0.5)
    why = verdict_for_rows(where, s.L, L_max)
    return Bound(MEAN_SQUARE_BEFORE_LAST, *s.corrected(D, energy), *why)


def bound_misestimated_L(
    T: int,
    L: float,
    mu: float,
    nu: float,
    tau: float = 1.0,
    D: float = 1.0,
    sigma2: float = 0.0,
    delta_f: float | None = None,
    zeta2: float = 1.0,
    L_max: float | None = None,
    which: str = "corrected",
    chi2: float | None = None,
) -> Bound:
    """Theorem 1 when the schedule was built with L_hat = L/nu instead of the true L.

        (c2/cL) {D^2 exp(-nu T gamma/(4 kappa ell)) + 8 kappa^2/(L e^2 gamma^2 T)
                 [ell^2 s_B^2 + 2 delta_f ((nu-1)/nu) ceil(k_0) ell^2/T  if nu > 1]},
        c2 = exp(nu tau/(2 kappa ell)),  cL = (1 - gamma/2)(1 - exp(-nu tau gamma/(4 kappa))).

    For nu > 1 (L under-estimated) the steps are too long for the first k_0 = T ln(nu)/ell steps.

    Guarantee: nu gamma <= 4 kappa, L >= L_max, form "proof". Source: ``thm:SHB_mis_L``.

    Parameters
    ----------
    T, L, mu, tau, D, sigma2, zeta2, L_max, chi2, which : number
        As for ``bound_exponential``.
    nu, delta_f : float
        The true L over the one of the schedule, > 0; the largest E f(w_k) - f* over the first k_0
        steps, needed for nu > 1.

    Returns
    -------
    Bound

    Raises
    ------
    ValueError
        ``delta_f`` is missing for nu > 1, or an argument is out of its range.

    Examples
    --------
    >>> bound = bound_misestimated_L(10_000, L=10.0, mu=1.0, nu=2.0, sigma2=0.01, delta_f=5.0)
    >>> f"{bound.bias:.3e} {bound.noise:.3e}"
    '1.156e-22 1.474e+00'
    """
    where = "bound_misestimated_L"
    which = _checks.choice(where, "which", which, WHICH)
    s, (D,) = Decay.of(where, T, L, mu, tau), _rules.given(where, D=D)
    nu = _checks.real(where, "nu", nu, above=0.0, remedy="nu is L divided by its estimate")
    sigma2, energy = s.batch_noise(where, sigma2, zeta2, chi2)
    if delta_f is None and nu > 1.0:
        raise ValueError(
            f"{where}: delta_f=None must be given for nu={nu!r} > 1; it is the largest "
            "E f(w_k) - f* over the first T ln(nu)/ln(T/tau) steps."
        )
    remedy = "the largest expected gap of the first steps"
    gap = _checks.real(where, "delta_f", delta_f or 0.0, least=0.0, remedy=remedy)
    excess = 2.0 * gap * max(0.0, nu - 1.0) / nu
    log_nu = max(0.0, math.log(nu))
    if which == "printed":
        total = max(1.0, nu * nu / (4.0 * s.L)) * s.ell * sigma2
        total += log_nu * (sigma2 + excess / s.kappa)
        return s.printed(D, zeta2, total, min(nu, 1.0))
    early = math.ceil(s.T * log_nu / s.ell) / s.T
    first = nu * s.gamma / (4.0 * s.kappa)
    condition = (first <= 1.0, f"nu gamma/(4 kappa)={first:.6g} is above 1")
    why = verdict_for_rows(where, s.L, L_max, condition)
    return Bound(MEAN_SQUARE_BEFORE_LAST, *s.corrected(D, energy + excess * early, nu), *why)


def bound_misestimated_mu(
    T: int,
    L: float,
    mu: float,
    nu: float,
    tau: float = 1.0,
    D: float = 1.0,
    sigma2: float = 0.0,
    zeta2: float = 1.0,
    L_max: float | None = None,
    which: str = "corrected",
    chi2: float | None = None,
) -> Bound:
    """Theorem 1 when the schedule was built with mu_hat = nu mu, nu <= 1, instead of the true mu.

        (c2/cL) [nu D^2 exp(-nu T gamma/(4 kappa ell)) + 8 kappa^2 ell^2 s_B^2/(nu L e^2 gamma^2 T)]

    with c2 and cL as in ``bound_misestimated_L``.

    Guarantee: L >= L_max, form "proof"; nothing is promised for mu over-estimated. Source:
    ``thm:SHB_mis_mu``.

    Parameters
    ----------
    T, L, mu, tau, D, sigma2, zeta2, L_max, chi2, which : number
        As for ``bound_exponential``.
    nu : float
        The schedule's mu over the true one, 0 < nu <= 1.

    Returns
    -------
    Bound

    Examples
    --------
    >>> bound = bound_misestimated_mu(10_000, L=10.0, mu=1.0, nu=0.5, sigma2=0.01)
    >>> f"{bound.bias:.3e} {bound.noise:.3e}"
    '1.043e-04 2.971e-01'
    """
    where = "bound_misestimated_mu"
    remedy = "nu is mu's estimate divided by mu"
    which = _checks.choice(where, "which", which, WHICH)
    s, (D,) = Decay.of(where, T, L, mu, tau), _rules.given(where, D=D)
    nu = _checks.real(where, "nu", nu, above=0.0, most=1.0, remedy=remedy)
    sigma2, energy = s.batch_noise(where, sigma2, zeta2, chi2)
    if which == "printed":
        return s.printed(D, zeta2, s.ell * sigma2 / nu**2, nu, nu_mu=nu)
    bias, noise = s.corrected(D, energy, nu)
    why = verdict_for_rows(where, s.L, L_max)
    return Bound(MEAN_SQUARE_BEFORE_LAST, nu * bias, noise / nu, *why)


def two_phase_exponent(kappa: float, c: float = 0.5) -> float:
    """q = 1 - ln(c sqrt(kappa) + 1 - c)/ln kappa: the two-phase bias falls as exp(-T/kappa^q).

    q = 1/2 is acceleration, q = 1 none. Source: ``thm:shb_mix``, ``col:two-phase-c2``.

    Parameters
    ----------
    kappa, c : float
        Condition number L/mu > 1; share of T that the first phase takes, 0 < c < 1.

    Returns
    -------
    float

    Examples
    --------
    >>> [round(two_phase_exponent(kappa), 4) for kappa in (4.0, 100.0, 1e4, 1e8)]
    [0.7075, 0.6298, 0.5742, 0.5376]
    """
    where = "two_phase_exponent"
    remedy = "ln kappa is the denominator"
    kappa = _checks.real(where, "kappa", kappa, above=1.0, remedy=remedy)
    (c,) = _rules.given(where, c=c)
    return 1.0 - math.log(c * math.sqrt(kappa) + 1.0 - c) / math.log(kappa)


def bound_two_phase(
    T: int,
    L: float,
    mu: float,
    n: int,
    b: int,
    c: float = 0.5,
    tau: float = 1.0,
    D: float = 1.0,
    chi: float = 0.0,
    sigma2: float = 0.0,
    L_max: float | None = None,
    which: str = "corrected",
) -> Bound:
    """The two-phase theorem: accelerate, then average the noise out (``schedules.two_phase``).

    With T_0 = ceil(cT), T_1 = T - T_0 and gamma, ell, c2, cL, s_B of ``bound_exponential`` at T_1,

        E||w_{T-1} - w*|| <= sqrt(c2/cL) {exp(-T_1 gamma/(8 kappa ell))
              [6 sqrt2 sqrt(kappa) exp(-3 T_0/(8 sqrt kappa)) D + 12 zeta chi/mu]
              + sqrt(8/L) kappa ell s_B/(e gamma sqrt(T_1))}.

    Guarantee: L >= L_max and b >= b* of the interpolation case, form "proof". Source:
    ``thm:shb_mix``; the exponent q is ``two_phase_exponent``.

    Parameters
    ----------
    T, L, mu, n, b, D, chi, L_max : number
        As for ``bound_shb``.
    c, tau, sigma2 : float
        Share of T that the first phase takes, 0 < c < 1; the schedule's tau, 1 <= tau < T_1;
        ``problem.noise().sigma2``.
    which : {"corrected", "printed"}, default "corrected"
        "printed" has the printed constants of Theorem 1 in it and is no guarantee.

    Returns
    -------
    Bound

    Examples
    --------
    >>> bound = bound_two_phase(4000, L=10.0, mu=1.0, n=10_000, b=9_950, chi=0.1, sigma2=0.01)
    >>> f"{bound.bias:.3e} {bound.noise:.3e} {bound.valid}"
    '9.106e-103 5.827e-04 True'
    """
    where = "bound_two_phase"
    which = _checks.choice(where, "which", which, WHICH)
    T, L, mu, D, chi = _rules.given(where, T=T, L=L, mu=mu, D=D, chi=chi)
    T_0, T_1, tau = _rules.phases(where, T, c, tau)
    s = Decay.of(where, T_1, L, mu, tau)
    noise = zeta(where, n, b)
    zeta2 = min(1.0, noise * noise / 3.0)
    sigma2, energy = s.batch_noise(where, sigma2, zeta2, chi * chi if chi else None)
    if which == "printed":
        return _printed_two_phase(T, s, c, D, noise / math.sqrt(3.0), math.sqrt(sigma2))
    start = grown(6.0 * math.sqrt(2.0 * s.kappa) * D, -3.0 * T_0 / (8.0 * math.sqrt(s.kappa)))
    bias2, noise2 = s.corrected(start, energy)
    floor2, _ = s.corrected(12.0 * noise * chi / mu, 0.0)
    enough = above(b, batch_threshold(n, s.kappa, interpolation=True))
    why = verdict_for_rows(where, L, L_max, enough)
    floor = math.sqrt(floor2) + math.sqrt(noise2)
    return Bound(MEAN_NORM_BEFORE_LAST, math.sqrt(bias2), floor, *why)


def _printed_two_phase(T: int, s: Decay, c: float, D: float, zeta0: float, sigma: float) -> Bound:
    """``thm:shb_mix`` as printed, kappa > 4, tau = 1."""
    if s.kappa <= 4.0 or s.tau != 1.0:
        raise ValueError(
            f"bound_two_phase: L / mu={s.kappa!r} must be > 4 and tau={s.tau!r} must be 1 for "
            'which="printed"; use which="corrected".'
        )
    T_1 = (1.0 - c) * T
    half_log_c2 = 0.5 / (s.kappa * math.log(T_1))
    root_c_L = math.sqrt(s.printed_c_L())
    slow = T / s.kappa ** two_phase_exponent(s.kappa, c) * s.gamma / (8.0 * math.log(T_1))
    bias = grown(6.0 * math.sqrt(2.0 * s.kappa) * D / root_c_L, half_log_c2 - slow)
    forgotten = T_1 * s.gamma / (8.0 * s.kappa * math.log(T))
    first = 12.0 * math.sqrt(6.0 * s.L) * zeta0 * sigma / (root_c_L * s.mu)
    second = 8.0 * math.sqrt(s.L) * math.log(T) * zeta0 * s.kappa**1.5 * sigma
    second /= math.e * s.gamma * root_c_L * math.sqrt(T_1)
    noise = grown(first, half_log_c2 - forgotten) + grown(second, half_log_c2)
    return Bound(MEAN_NORM_BEFORE_LAST, bias, noise, False, NOT_PROVED)
