"""Exponential steps: Theorem 1 and what it becomes when L or mu is estimated badly."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _checks
from ..schedules import _rules
from ._arguments import distance, nonnegative
from .result import MEAN_SQUARE_BEFORE_LAST, Bound, grown, row_smoothness, verdict

NOT_PROVED = "as printed this is no guarantee: docs/theory corrects its constants"
E2 = math.e**2


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

    def printed_c_L(self, nu_mu: float = 1.0) -> float:
        """4 (1 - gamma)/(nu mu)^2 (1 - exp(-nu gamma/(2 kappa))), ``lemma:Et_bound``."""
        reach = -math.expm1(-nu_mu * self.gamma / (2.0 * self.kappa))
        return -4.0 * math.expm1(-self.ell / self.T) / (nu_mu * self.mu) ** 2 * reach


def decay(where: str, T: int, L: float, mu: float, tau: float) -> Decay:
    T = _rules.horizon(where, T)
    L, mu = _rules.curvatures(where, L, mu)
    gamma = _rules.decay(where, T, tau)
    # log1p keeps ln(T/tau) positive for tau just below T
    return Decay(T, float(tau), gamma, -math.log1p((tau - T) / T), L / mu, L, mu)


def corrected_terms(s: Decay, nu: float, D: float, energy: float) -> tuple[float, float]:
    """(bias, noise) of E||w_{T-1} - w*||^2 when eta_k = nu gamma^(k+1)/(4L).

    (c2/cL) [D^2 exp(-nu T gamma/(4 kappa ell)) + 8 kappa^2 ell^2 energy/(L e^2 gamma^2 T)],
    c2 = exp(nu tau/(2 kappa ell)), cL = (1 - gamma/2)(1 - exp(-nu tau gamma/(4 kappa))).
    """
    log_c2 = nu * s.tau / (2.0 * s.kappa * s.ell)
    c_L = (1.0 - s.gamma / 2.0) * -math.expm1(-nu * s.tau * s.gamma / (4.0 * s.kappa))
    reach = s.kappa * s.ell / s.gamma
    spread = 8.0 * reach * reach / (s.L * E2 * s.T)
    contraction = nu * s.T * s.gamma / (4.0 * s.kappa * s.ell)
    return grown(D * D / c_L, log_c2 - contraction), grown(spread * energy / c_L, log_c2)


def batch_noise(
    where: str, s: Decay, sigma2: object, zeta2: object, chi2: object = None
) -> tuple[float, float]:
    """sigma^2, and s_B^2: what stands for the noise of a batch in Theorem 1.

    The one-step inequality holds with 2 L eta^2 s_B^2 for two values of s_B^2; this is the smaller
    of those that are known (docs/theory/exponential.md):

        sigma_B^2 <= sigma^2,    c_B zeta0^2 chi^2/(2L) <= c_B zeta0^2 sigma^2,
        c_B = (2 kappa - 1)/(2 kappa - 1 - zeta0^2 (kappa - 1)), from 1 to 2.

    >>> s = decay("example", T=100, L=10.0, mu=10.0, tau=1.0)
    >>> batch_noise("example", s, sigma2=0.3, zeta2=0.1, chi2=2.0)
    (0.3, 0.01)
    """
    sigma2_ = nonnegative(where, "sigma2", sigma2, "sigma2 is noise().sigma2")
    remedy = "use theory.zeta2(n, b)"
    zeta2_ = _checks.real(where, "zeta2", zeta2, least=0.0, most=1.0, remedy=remedy)
    share = zeta2_ / (1.0 - zeta2_ * (1.0 - 1.0 / s.kappa) / (2.0 - 1.0 / s.kappa))  # c_B zeta0^2
    energy = sigma2_ * min(1.0, share)
    if chi2 is not None:
        chi2_ = nonnegative(where, "chi2", chi2, "use noise().chi2")
        energy = min(energy, share * chi2_ / (2.0 * s.L))
    return sigma2_, energy


def _printed(
    s: Decay, D: float, zeta2: float, energy: float, slower: float, nu_mu: float = 1.0
) -> Bound:
    """The printed bounds: (c2/cL) [D^2 exp(-slower T gamma/(2 kappa ell)) + C zeta0^2 energy/T]."""
    c_L, log_c2 = s.printed_c_L(nu_mu), s.tau / (s.kappa * s.ell)
    pace = s.T * s.gamma / (2.0 * s.kappa * s.ell)
    kappa_cubed = s.kappa * s.kappa * s.kappa  # ** would raise where this is infinite
    spread = 32.0 * s.L * kappa_cubed * zeta2 * s.ell / (E2 * s.gamma**2 * s.T)
    bias, noise = grown(D * D / c_L, log_c2 - slower * pace), grown(spread * energy / c_L, log_c2)
    return Bound(MEAN_SQUARE_BEFORE_LAST, bias, noise, False, NOT_PROVED)


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
    c_B zeta0^2 chi^2/(2L), with c_B = (2 kappa - 1)/(2 kappa - 1 - zeta0^2 (kappa - 1)) < 2. So the
    noise falls with the batch: at b = 0.9 n it is about 9 n times smaller than at b = 1.

    Guarantee: any batch size, any convex L-smooth rows, form "proof", L >= L_max. Source:
    ``thm:SHB_exp``.

    Parameters
    ----------
    T, L, mu : int, float, float
        Number of steps; extreme eigenvalues of the Hessian of f, 0 < mu <= L.
    tau, D, sigma2, zeta2 : float
        The schedule's tau, 1 <= tau < T; distance ||w_0 - w*|| of the start; E_i[f_i(w*) - min
        f_i], ``problem.noise().sigma2``; variance factor of a batch, ``theory.zeta2(n, b)``.
    L_max, chi2 : float, optional
        Largest curvature of one row's loss, if L >= L_max is to be checked;
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
    >>> batch = bound_exponential(10_000, L=10.0, mu=1.0, sigma2=0.01, zeta2=1e-4)
    >>> f"{bound.noise / batch.noise:.0f}"
    '10000'
    """
    where = "bound_exponential"
    which = _checks.choice(where, "which", which, ["corrected", "printed"])
    s = decay(where, T, L, mu, tau)
    D = distance(where, D)
    sigma2, energy = batch_noise(where, s, sigma2, zeta2, chi2)
    if which == "printed":
        return _printed(s, D, zeta2, 2.0 * s.ell * sigma2, 0.5)
    terms = corrected_terms(s, 1.0, D, energy)
    return Bound(MEAN_SQUARE_BEFORE_LAST, *terms, *verdict(*row_smoothness(where, s.L, L_max)))


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

    For nu > 1 (L under-estimated) the steps are too long for the first k_0 = T ln(nu)/ell steps;
    ``delta_f`` = max over k < k_0 of E f(w_k) - f* is then needed. s_B^2 is as there.

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
    which = _checks.choice(where, "which", which, ["corrected", "printed"])
    s = decay(where, T, L, mu, tau)
    nu = _checks.real(where, "nu", nu, above=0.0, remedy="nu is L divided by its estimate")
    D = distance(where, D)
    sigma2, energy = batch_noise(where, s, sigma2, zeta2, chi2)
    if delta_f is None:
        if nu > 1.0:
            raise ValueError(
                f"{where}: delta_f=None must be given for nu={nu!r} > 1; it is the largest "
                "E f(w_k) - f* over the first T ln(nu)/ln(T/tau) steps."
            )
        delta_f = 0.0
    delta_f = nonnegative(where, "delta_f", delta_f, "the largest expected gap of the first steps")
    excess = 2.0 * delta_f * max(0.0, nu - 1.0) / nu
    log_nu = max(0.0, math.log(nu))
    if which == "printed":
        total = max(1.0, nu * nu / (4.0 * s.L)) * s.ell * sigma2
        total += log_nu * (sigma2 + excess / s.kappa)
        return _printed(s, D, zeta2, total, min(nu, 1.0))
    early = math.ceil(s.T * log_nu / s.ell) / s.T
    terms = corrected_terms(s, nu, D, energy + excess * early)
    conditions, trusted = row_smoothness(where, s.L, L_max)
    first = nu * s.gamma / (4.0 * s.kappa)
    conditions.append((first <= 1.0, f"nu gamma/(4 kappa)={first:.6g} is above 1"))
    return Bound(MEAN_SQUARE_BEFORE_LAST, *terms, *verdict(conditions, trusted))


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

        (c2/c_mu) [D^2 exp(-nu T gamma/(4 kappa ell))
                   + 8 kappa^2 ell^2 s_B^2/(nu^2 L e^2 gamma^2 T)],
        c2 = exp(nu tau/(2 kappa ell)),
        c_mu = ((1 - gamma/2)/nu)(1 - exp(-nu tau gamma/(4 kappa))).

    with s_B^2 as there. Guarantee: L >= L_max, form "proof"; nothing is promised for mu
    over-estimated. Source: ``thm:SHB_mis_mu``.

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
    which = _checks.choice(where, "which", which, ["corrected", "printed"])
    s = decay(where, T, L, mu, tau)
    remedy = "nu is mu's estimate divided by mu"
    nu = _checks.real(where, "nu", nu, above=0.0, most=1.0, remedy=remedy)
    D = distance(where, D)
    sigma2, energy = batch_noise(where, s, sigma2, zeta2, chi2)
    if which == "printed":
        return _printed(s, D, zeta2, s.ell * sigma2 / nu**2, nu, nu_mu=nu)
    bias, noise = corrected_terms(s, nu, D, energy)
    why = verdict(*row_smoothness(where, s.L, L_max))
    # c_mu = c_L/nu, and the noise sum is that of kappa/nu
    return Bound(MEAN_SQUARE_BEFORE_LAST, nu * bias, noise / nu, *why)
