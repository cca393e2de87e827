"""Theorem S: mean-square stability of heavy ball, certified from (L_max, mu, lambda_max) alone."""

from __future__ import annotations

import math

import numpy as np

from .. import _checks
from ..schedules import _rules
from ..schedules.schedule import FloatArray
from .batch import fraction_for
from .result import Bound, bisect, verdict


def _certified(
    r: float, alpha: float, beta: float, L_max: float, mu: float, lam_max: float
) -> float:
    """min over [mu, lam_max] of K (alpha - slack/lam) (room - alpha lam)/(L_max - lam).

    slack = (1-r)(1-beta/r) and room = (1+r)(1+beta/r): r^2 ((1+beta')^2 - t'^2) in two factors, so
    that nothing cancels. The minimum is at an end (docs/theory/certificate.md).
    """
    slack = (1.0 - r) * (1.0 - beta / r)
    room = (1.0 + r) * (1.0 + beta / r)

    def product(lam: float) -> float:
        top = (alpha - slack / lam) * (room - alpha * lam)
        if lam < L_max:
            return top / (L_max - lam)
        if top != 0.0:
            return math.copysign(math.inf, top)
        return 0.0

    gain = (r * r - beta) / (r * r + beta) / (alpha * alpha)
    return gain * min(product(mu), product(lam_max))


def certificate(
    alpha: float, beta: float, L_max: float, mu: float, lam_max: float, rate: float = 1.0
) -> float:
    """Theorem S: the largest zeta0^2 for which heavy ball contracts by ``rate`` in mean square.

    With r = rate, beta' = beta/r^2, t' = (1 + beta - alpha lam)/r,

        zeta_S^2(r) = min over lam in [mu, lam_max] of
                      r^2 (1-beta') ((1+beta')^2 - t'^2)/((1+beta') alpha^2 lam (L_max - lam)).

    Guarantee: on least squares with any l2 and these constants, zeta0^2 <= zeta_S^2(r) makes the
    mean-square radius at most r^2. A value <= 0 certifies nothing; infinity certifies every batch.
    Source: not in the paper; replaces the batch condition of ``thm:SHB_quad``. Proof:
    docs/theory/certificate.md.

    Parameters
    ----------
    alpha, beta, L_max, mu, lam_max : float
        Step size > 0; momentum 0 <= beta < 1; largest curvature of one row's loss; extreme
        eigenvalues of the Hessian, mu <= lam_max.
    rate : float, default 1.0
        Factor r of the root-mean-square error a step, sqrt(beta) < r <= 1; 1 asks for stability.

    Returns
    -------
    float

    Examples
    --------
    >>> round(certificate(alpha=0.1, beta=0.7, L_max=100.0, mu=1.0, lam_max=10.0), 6)
    0.047059
    """
    known = {"alpha": alpha, "beta": beta, "L_max": L_max, "mu": mu, "lam_max": lam_max}
    alpha, beta, *interval = _rules.given("certificate", **known)
    remedy = "heavy ball never contracts faster than sqrt(beta)"
    rate = _checks.real("certificate", "rate", rate, above=math.sqrt(beta), most=1.0, remedy=remedy)
    return _certified(rate, alpha, beta, *interval)


def noise_free_rate(alpha: float, beta: float, theta: float, lam: FloatArray) -> float:
    """The largest |root| of z^2 - c1 z - c2 without noise, c1 + c2 = 1 - alpha lam."""
    c2 = theta * alpha * lam - beta
    c1 = 1.0 - alpha * lam - c2
    spread = c1**2 + 4.0 * c2
    real = 0.5 * (np.abs(c1) + np.sqrt(np.maximum(spread, 0.0)))
    return float(np.max(np.where(spread < 0.0, np.sqrt(np.maximum(-c2, 0.0)), real)))


def certified_rate(
    alpha: float, beta: float, zeta2: float, L_max: float, mu: float, lam_max: float
) -> float:
    """The smallest rate r that Theorem S certifies: sqrt(E||w_k - w*||^2) falls as r^k.

    ``certificate`` grows with r, so r is one root; the end of the bisection that is returned is the
    certified one. Infinity if not even r = 1 is certified.

    Guarantee: as ``certificate``; with noise at the minimiser the error approaches the floor of
    ``bound_stationary`` at this rate.

    Parameters
    ----------
    alpha, beta, zeta2, L_max, mu, lam_max : float
        As for ``certificate``; zeta2 is the variance factor of a batch, ``theory.zeta2(n, b)``.

    Returns
    -------
    float

    Examples
    --------
    >>> known = dict(L_max=100.0, mu=1.0, lam_max=10.0)
    >>> [round(certified_rate(0.1, 0.7, zeta2, **known), 6) for zeta2 in (0.01, 0.05)]
    [0.871238, inf]
    """
    known = {"alpha": alpha, "beta": beta, "L_max": L_max, "mu": mu, "lam_max": lam_max}
    *known_, zeta2 = _rules.given("certified_rate", **known, zeta2=zeta2)
    low = noise_free_rate(alpha, beta, 0.0, np.array([mu, lam_max]))
    if low >= 1.0 or _certified(1.0, *known_) < zeta2:
        return math.inf
    if zeta2 == 0.0:
        return low
    return bisect(lambda r: _certified(r, *known_) >= zeta2, low, 1.0)


def certified_batch_size(
    n: int, alpha: float, beta: float, L_max: float, mu: float, lam_max: float
) -> float:
    """The real b from which Theorem S certifies mean-square stability: n/(1 + (n-1) zeta_S^2).

    Guarantee: never below ``exact.critical_batch_size``, which needs the data; equal to it on the
    diagonal problem if alpha L_max >= 2(1+beta). Infinity if the full batch is unstable.

    Parameters
    ----------
    n, alpha, beta, L_max, mu, lam_max : number
        Rows of the data; the others as for ``certificate``.

    Returns
    -------
    float

    Examples
    --------
    >>> round(certified_batch_size(10_000, 0.1, 0.7, L_max=100.0, mu=1.0, lam_max=10.0), 2)
    21.21
    """
    known = {"alpha": alpha, "beta": beta, "L_max": L_max, "mu": mu, "lam_max": lam_max}
    n, *known_ = _rules.given("certified_batch_size", n=n, **known)
    limit = _certified(1.0, *known_)
    if limit <= 0.0:
        return math.inf
    return fraction_for(n, limit)


def bound_stationary(
    alpha: float, beta: float, zeta2: float, L_max: float, mu: float, lam_max: float, chi2: float
) -> Bound:
    """Theorem S (iii): the floor of heavy ball with constant step and momentum.

    At stationarity E||w - w*||^2 <= G alpha^2 zeta0^2 chi^2/(1 - zeta0^2/zeta_S^2(1)), G the
    largest (1+beta)/((1-beta) alpha lam (2(1+beta) - alpha lam)) at mu or lam_max. For
    ``schedules.shb`` it is about sqrt(a/kappa)/2 zeta0^2 chi^2/mu^2, so it falls with sqrt(a).

    Guarantee: least squares, zeta2 < ``certificate(...)``.

    Parameters
    ----------
    alpha, beta, zeta2, L_max, mu, lam_max, chi2 : float
        As for ``certified_rate``; E_i||grad f_i(w*)||^2, ``problem.noise().chi2``.

    Returns
    -------
    Bound

    Examples
    --------
    >>> bound = bound_stationary(0.1, 0.7, 0.01, L_max=100.0, mu=1.0, lam_max=10.0, chi2=1.0)
    >>> f"{bound.noise:.4e}", bound.valid
    ('2.1805e-03', True)
    """
    known = {"alpha": alpha, "beta": beta, "L_max": L_max, "mu": mu, "lam_max": lam_max}
    *known_, zeta2, chi2 = _rules.given("bound_stationary", **known, zeta2=zeta2, chi2=chi2)
    limit = _certified(1.0, *known_)
    stable = certifies(zeta2, limit)
    noise = math.inf
    if stable[0]:
        # lam (2(1+beta) - alpha lam) is concave: its least value is at an end
        narrow = min(lam * (2.0 * (1.0 + beta) - alpha * lam) for lam in (mu, lam_max))
        gain = (1.0 + beta) / ((1.0 - beta) * alpha * narrow)
        noise = gain * alpha * alpha * zeta2 * chi2 / (1.0 - zeta2 / limit)
    return Bound("E||w - w*||^2 at stationarity", 0.0, noise, *stable)


def certifies(zeta2: float, limit: float) -> tuple[bool, str]:
    """(valid, why): is zeta0^2 below the limit that Theorem S has for stability?"""
    message = f"zeta2={zeta2:.6g} is not below the certified {limit:.6g}"
    return verdict((limit > 0.0 and zeta2 < limit, message))
