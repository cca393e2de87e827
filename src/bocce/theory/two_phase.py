"""The two-phase theorem: accelerate, then average the noise out."""

from __future__ import annotations

import math

from .. import _checks
from ..schedules import _rules
from ._arguments import noise_root, run
from .batch import above, batch_threshold, zeta
from .exponential import NOT_PROVED, Decay, batch_noise, corrected_terms, decay
from .result import MEAN_NORM_BEFORE_LAST, Bound, grown, row_smoothness, verdict


def two_phase_exponent(kappa: float, c: float = 0.5) -> float:
    """q = 1 - ln(c sqrt(kappa) + 1 - c)/ln kappa: the two-phase bias falls as exp(-T/kappa^q).

    q = 1/2 is acceleration, q = 1 none. For c = 1/2 it falls from .7075 at kappa = 4 towards 1/2.

    Source: ``thm:shb_mix``, ``col:two-phase-c2``.

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
    where, remedy = "two_phase_exponent", "ln kappa is the denominator"
    kappa = _checks.real(where, "kappa", kappa, above=1.0, remedy=remedy)
    c = _rules.share(where, c)
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

    With T_0 = ceil(cT), T_1 = T - T_0 and gamma, ell, c2, cL of Theorem 1 at T_1,

        E||w_{T-1} - w*|| <= sqrt(c2/cL) {exp(-T_1 gamma/(8 kappa ell))
              [6 sqrt2 sqrt(kappa) exp(-3 T_0/(8 sqrt kappa)) D + 12 zeta chi/mu]
              + sqrt(8/L) kappa ell s_B/(e gamma sqrt(T_1))},

    s_B^2 being the noise of a batch as in Theorem 1 (``bound_exponential``). ``which="printed"``
    has the printed constants of Theorem 1 in it and is no guarantee.

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
        The proved constants, or those that the paper prints.

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
    which = _checks.choice(where, "which", which, ["corrected", "printed"])
    T, L, mu, D = run(where, T, L, mu, D)
    T_0, T_1, tau = _rules.phases(where, T, c, tau)
    s = decay(where, T_1, L, mu, tau)
    chi = noise_root(where, chi)
    noise = zeta(where, n, b)
    zeta2 = min(1.0, noise * noise / 3.0)
    sigma2, energy = batch_noise(where, s, sigma2, zeta2, chi * chi if chi else None)
    if which == "printed":
        return _printed_two_phase(T, s, c, D, noise / math.sqrt(3.0), math.sqrt(sigma2))
    start = grown(6.0 * math.sqrt(2.0 * s.kappa) * D, -3.0 * T_0 / (8.0 * math.sqrt(s.kappa)))
    bias2, noise2 = corrected_terms(s, 1.0, start, energy)
    floor2, _ = corrected_terms(s, 1.0, 12.0 * noise * chi / mu, 0.0)
    conditions, trusted = row_smoothness(where, L, L_max)
    conditions.append(above(b, batch_threshold(n, s.kappa, interpolation=True)))
    bias, floor = math.sqrt(bias2), math.sqrt(floor2) + math.sqrt(noise2)
    return Bound(MEAN_NORM_BEFORE_LAST, bias, floor, *verdict(conditions, trusted))


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
