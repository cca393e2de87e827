"""Theorem S: mean-square stability of heavy ball, certified from (L_max, mu, lambda_max) alone."""

from __future__ import annotations

import math

from .. import _checks
from ..schedules import _rules
from ._arguments import batch_share, nonnegative, spectrum, step
from .batch import fraction_for
from .result import Bound, bisect, verdict


def _certified(
    alpha: float, beta: float, L_max: float, mu: float, lam_max: float, r: float
) -> float:
    """min over [mu, lam_max] of K (alpha - slack/lam) (room - alpha lam)/(L_max - lam).

    slack = (1-r)(1-beta/r) and room = (1+r)(1+beta/r): r^2 ((1+beta')^2 - t'^2) in two factors, so
    that nothing cancels. Where both are positive the first grows with lam and the second is
    monotone, with a logarithm that bends down when it falls: the product may rise and then fall but
    has no minimum inside, and the two ends decide. Where a factor is negative, it is so at an end.
    """
    slack = (1.0 - r) * (1.0 - beta / r)
    room = (1.0 + r) * (1.0 + beta / r)

    def product(lam: float) -> float:
        top = (alpha - slack / lam) * (room - alpha * lam)
        if lam < L_max:
            return top / (L_max - lam)
        return math.copysign(math.inf, top) if top != 0.0 else 0.0

    gain = (r * r - beta) / (r * r + beta) / (alpha * alpha)
    return gain * min(product(mu), product(lam_max))


def certificate(
    alpha: float, beta: float, L_max: float, mu: float, lam_max: float, rate: float = 1.0
) -> float:
    """Theorem S: the largest zeta0^2 for which heavy ball contracts by ``rate`` in mean square.

    With r = rate, beta' = beta/r^2, t' = (1 + beta - alpha lam)/r,

        zeta_S^2(r) = min over lam in [mu, lam_max] of
                      r^2 (1-beta') ((1+beta')^2 - t'^2)/((1+beta') alpha^2 lam (L_max - lam)).

    Guarantee: on least squares (with or without l2), for any alpha, beta and every data set with
    these constants, zeta0^2 <= zeta_S^2(r) makes the mean-square radius at most r^2. Attained by
    the diagonal problem if alpha L_max >= 2(1+beta). A value <= 0 certifies nothing (even the
    full batch does not contract by ``rate``); infinity certifies every batch. The minimum over
    the interval is exact: it is at mu or at lam_max.

    Source: not in the paper; it replaces the batch condition of ``thm:SHB_quad``.

    Parameters
    ----------
    alpha, beta : float
        Step size > 0 and momentum 0 <= beta < 1.
    L_max, mu, lam_max : float
        Largest curvature of one row's loss; extreme eigenvalues of the Hessian, mu <= lam_max.
    rate : float, default 1.0
        Factor r of the root-mean-square error a step, sqrt(beta) < r <= 1; 1 asks for stability.

    Returns
    -------
    float

    Examples
    --------
    >>> round(certificate(alpha=0.1, beta=0.7, L_max=100.0, mu=1.0, lam_max=10.0), 6)
    0.047059
    >>> certificate(alpha=0.1, beta=0.7, L_max=100.0, mu=1.0, lam_max=10.0, rate=0.85) > 0
    True
    """
    alpha, beta = step("certificate", alpha, beta)
    L_max, mu, lam_max = spectrum("certificate", L_max, mu, lam_max)
    remedy = "heavy ball never contracts faster than sqrt(beta)"
    rate = _checks.real("certificate", "rate", rate, above=math.sqrt(beta), most=1.0, remedy=remedy)
    return _certified(alpha, beta, L_max, mu, lam_max, rate)


def _noise_free_rate(alpha: float, beta: float, lam: float) -> float:
    """The spectral radius of [[t, -beta], [1, 0]], t = 1 + beta - alpha lam."""
    t = abs(1.0 + beta - alpha * lam)
    discriminant = t * t - 4.0 * beta
    if discriminant <= 0.0:
        return math.sqrt(beta)
    return 0.5 * (t + math.sqrt(discriminant))


def certified_rate(
    alpha: float, beta: float, zeta2: float, L_max: float, mu: float, lam_max: float
) -> float:
    """The smallest rate r that Theorem S certifies: sqrt(E||w_k - w*||^2) falls as r^k.

    ``certificate`` grows with r, so this is one root, found by bisection; the end returned is the
    certified one. At zeta2 = 0 it is the spectral radius of the noise-free method. Infinity if
    not even r = 1 is certified.

    Guarantee: as ``certificate``; with noise at the minimiser the rate is that of the approach to
    the floor of ``bound_stationary``.

    Parameters
    ----------
    alpha, beta, L_max, mu, lam_max : float
        As for ``certificate``.
    zeta2 : float
        Variance factor of a batch, ``theory.zeta2(n, b)``.

    Returns
    -------
    float

    Examples
    --------
    >>> round(certified_rate(0.1, 0.7, zeta2=0.01, L_max=100.0, mu=1.0, lam_max=10.0), 6)
    0.871238
    >>> certified_rate(0.1, 0.7, zeta2=0.05, L_max=100.0, mu=1.0, lam_max=10.0)
    inf
    """
    where = "certified_rate"
    alpha, beta = step(where, alpha, beta)
    L_max, mu, lam_max = spectrum(where, L_max, mu, lam_max)
    zeta2 = batch_share(where, zeta2)
    low = max(_noise_free_rate(alpha, beta, mu), _noise_free_rate(alpha, beta, lam_max))
    if low >= 1.0 or _certified(alpha, beta, L_max, mu, lam_max, 1.0) < zeta2:
        return math.inf
    if zeta2 == 0.0:
        return low
    return bisect(lambda r: _certified(alpha, beta, L_max, mu, lam_max, r) >= zeta2, low, 1.0)


def certified_batch_size(
    n: int, alpha: float, beta: float, L_max: float, mu: float, lam_max: float
) -> float:
    """The real b from which Theorem S certifies mean-square stability: n/(1 + (n-1) zeta_S^2).

    Guarantee: never below the exact critical batch size (``exact.critical_batch_size``), which
    needs the data; equal to it on the diagonal problem if alpha L_max >= 2(1+beta). Infinity if
    the full batch is unstable.

    Parameters
    ----------
    n : int
        Rows of the data.
    alpha, beta, L_max, mu, lam_max : float
        As for ``certificate``.

    Returns
    -------
    float

    Examples
    --------
    >>> round(certified_batch_size(10_000, 0.1, 0.7, L_max=100.0, mu=1.0, lam_max=10.0), 2)
    21.21
    """
    n = _rules.rows("certified_batch_size", n)
    alpha, beta = step("certified_batch_size", alpha, beta)
    L_max, mu, lam_max = spectrum("certified_batch_size", L_max, mu, lam_max)
    limit = _certified(alpha, beta, L_max, mu, lam_max, 1.0)
    return math.inf if limit <= 0.0 else fraction_for(n, limit)


def bound_stationary(
    alpha: float, beta: float, zeta2: float, L_max: float, mu: float, lam_max: float, chi2: float
) -> Bound:
    """Theorem S (iii): the floor of heavy ball with constant step and momentum.

    At stationarity E||w - w*||^2 <= G alpha^2 zeta0^2 chi^2/(1 - zeta0^2/zeta_S^2(1)), G the
    largest (1+beta)/((1-beta) alpha lam (2(1+beta) - alpha lam)): at mu for alpha <= 1/lam_max.
    For ``schedules.shb`` it is about sqrt(a/kappa)/2 zeta0^2 chi^2/mu^2: it falls with sqrt(a),
    which the floor of ``bound_shb`` does not show.

    Guarantee: least squares, zeta2 < ``certificate(...)``; chi2 = E_i||grad f_i(w*)||^2.

    Parameters
    ----------
    alpha, beta, zeta2, L_max, mu, lam_max : float
        As for ``certified_rate``.
    chi2 : float
        E_i||grad f_i(w*)||^2, ``problem.noise().chi2``.

    Returns
    -------
    Bound

    Examples
    --------
    >>> bound = bound_stationary(0.1, 0.7, 0.01, L_max=100.0, mu=1.0, lam_max=10.0, chi2=1.0)
    >>> f"{bound.noise:.4e}", bound.valid
    ('2.1805e-03', True)
    """
    where = "bound_stationary"
    alpha, beta = step(where, alpha, beta)
    L_max, mu, lam_max = spectrum(where, L_max, mu, lam_max)
    zeta2 = batch_share(where, zeta2)
    chi2 = nonnegative(where, "chi2", chi2, "chi2 is noise().chi2")
    limit = _certified(alpha, beta, L_max, mu, lam_max, 1.0)
    stable = limit > 0.0 and zeta2 < limit
    noise = math.inf
    if stable:
        # lam (2(1+beta) - alpha lam) is concave: its least value is at an end
        narrow = min(lam * (2.0 * (1.0 + beta) - alpha * lam) for lam in (mu, lam_max))
        gain = (1.0 + beta) / ((1.0 - beta) * alpha * narrow)
        noise = gain * alpha * alpha * zeta2 * chi2 / (1.0 - zeta2 / limit)
    message = f"zeta2={zeta2:.6g} is not below the certified {limit:.6g}"
    return Bound("E||w - w*||^2 at stationarity", 0.0, noise, *verdict([(stable, message)]))
