"""A certificate for all three parameters: heavy ball, Nesterov, MaSS.

In y_k the update is an ARMA recursion in every eigendirection. The proof, and why the check below
is rigorous, are in docs/theory/lookahead.md.
"""

from __future__ import annotations

import math

import numpy as np

from ..schedules import _rules
from ..schedules.bernstein import TailSetting, certifies, gain_factors, quartics
from .result import bisect


def _method(where: str, kappa_tilde: float | None, **known: float) -> TailSetting:
    """The numbers of a method, checked."""
    (tilde,) = (
        _rules.given(where, kappa_tilde=kappa_tilde) if kappa_tilde is not None else (math.inf,)
    )
    alpha, beta, theta, L_max, mu, lam_max = _rules.given(where, **known)
    return TailSetting(alpha, beta, theta, max(L_max, lam_max), tilde, mu, lam_max)


def lookahead_gain(alpha: float, beta: float, theta: float, lam: float, rate: float = 1.0) -> float:
    """g_r(lam): how much unit noise adds to sum_t r^(-2t) lam e_t^2 along a direction lam.

    With a' = alpha(1+theta), d' = alpha theta, c = -d'/r, phi1 = (1+beta-a' lam)/r,
    phi2 = -(beta - d' lam)/r^2:

        g_r(lam) = lam [(a'^2 + c^2)(1-phi2) + 2 a' c phi1]/((1+phi2)((1-phi2)^2 - phi1^2)).

    Infinite where the noise-free method does not contract faster than ``rate``. Source: not in the
    paper (the variance of an ARMA(2,1) sequence).

    Parameters
    ----------
    alpha, beta, theta, lam, rate : float
        Step size > 0; momentum 0 <= beta < 1; lookahead >= 0 (0 is heavy ball, beta is Nesterov);
        eigenvalue of the Hessian, > 0; factor of the root-mean-square error a step, at most 1.

    Returns
    -------
    float

    Examples
    --------
    >>> round(lookahead_gain(0.1, 0.7, 0.0, lam=10.0), 6)
    0.236111
    """
    known = {"alpha": alpha, "beta": beta, "theta": theta, "rate": rate, "lam": lam}
    alpha, beta, theta, rate, lam = _rules.given("lookahead_gain", **known)
    top, *bottom = gain_factors(alpha, beta, theta, rate, lam)
    return math.inf if min(bottom) <= 0.0 else float(rate**4 * lam * top / math.prod(bottom))


def _largest(m: TailSetting, where: str, rate: float, sharp: bool) -> float:
    """The largest certified zeta2 (0 if none), by bisection; the end returned is certified."""
    (r,) = _rules.given(where, rate=rate)
    two_sides = quartics(m, r, sharp)
    if two_sides is None:
        return 0.0
    second = math.isfinite(m.kappa_tilde)
    # at the two ends of the spectrum no choice of u can do better than the better of the two
    ratios = [
        np.divide(g[[0, 4]], h[[0, 4]], out=np.full(2, np.inf), where=h[[0, 4]] > 0.0)
        for g, h in zip(two_sides.gain, two_sides.noise)
    ]
    high = float(min(np.maximum(*ratios) if second else ratios[0]))
    if math.isinf(high):
        return math.inf
    low = high
    while not two_sides.holds(low, second):
        high, low = low, 0.5 * low
        if low < 1e-300:
            return 0.0
    while high > low * (1.0 + 1e-12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if two_sides.holds(middle, second) else (low, middle)
    return low


def lookahead_phi(
    alpha: float,
    beta: float,
    theta: float,
    L_max: float,
    kappa_tilde: float | None,
    mu: float,
    lam_max: float,
    rate: float = 1.0,
) -> float:
    """Phi_r = min{c1 L_max + c2 kappa~ : c1, c2 >= 0, g_r(lam) <= c1 + c2/lam on [mu, lam_max]}.

    Guarantee: zeta0^2 Phi_r <= r^2 certifies the contraction r^2 of E V, V >= 2 (f - f*), under
    interpolation. ``lookahead_certificate`` is never weaker. Infinite if the noise-free method
    does not contract faster than ``rate``.

    Parameters
    ----------
    alpha, beta, theta, rate : float
        As for ``lookahead_gain``.
    L_max, kappa_tilde, mu, lam_max : float
        Largest curvature of one row's loss; largest x_i^T A^-1 x_i over the rows, A the Hessian,
        None if unknown; extreme eigenvalues of the Hessian, mu <= lam_max.

    Returns
    -------
    float

    Examples
    --------
    >>> round(lookahead_phi(0.1, 0.7, 0.0, 100.0, None, mu=1.0, lam_max=10.0), 4)
    23.6111
    """
    known = {"alpha": alpha, "beta": beta, "theta": theta, "L_max": L_max, "mu": mu}
    m = _method("lookahead_phi", kappa_tilde, **known, lam_max=lam_max)
    largest = _largest(m, "lookahead_phi", rate, sharp=False)
    return math.inf if largest == 0.0 else rate * rate / largest


def lookahead_certificate(
    alpha: float,
    beta: float,
    theta: float,
    L_max: float,
    kappa_tilde: float | None,
    mu: float,
    lam_max: float,
    rate: float = 1.0,
) -> float:
    """The largest zeta0^2 for which (alpha, beta, theta) contracts by ``rate`` in mean square.

    The largest z with c1, c2 >= 0, c1 L_max + c2 kappa~ = 1, such that on [mu, lam_max]

        z g_r(lam) lam (1 - c1 lam) <= r^2 (c1 lam + c2).

    With theta = 0 and c2 = 0 (``kappa_tilde=None``) this is Theorem S. ``L_max`` may be any R2 with
    E[A_i^2] <= R2 A for the rows' Hessians A_i (l2 included).

    Guarantee: least squares, any data with these constants; 0 if nothing is certified. The quartic
    in lam is proved on the whole interval by Bernstein coefficients. Source: not in the paper.

    Parameters
    ----------
    alpha, beta, theta, L_max, kappa_tilde, mu, lam_max, rate : float
        As for ``lookahead_phi``.

    Returns
    -------
    float

    Examples
    --------
    >>> z = lookahead_certificate(0.1, 0.5, 0.5, 100.0, 20.0, mu=1.0, lam_max=10.0)
    >>> round(z, 6)
    0.044444
    """
    where = "lookahead_certificate"
    known = {"alpha": alpha, "beta": beta, "theta": theta, "L_max": L_max, "mu": mu}
    m = _method(where, kappa_tilde, **known, lam_max=lam_max)
    return _largest(m, where, rate, sharp=True)


def lookahead_rate(
    alpha: float,
    beta: float,
    theta: float,
    zeta2: float,
    L_max: float,
    kappa_tilde: float | None,
    mu: float,
    lam_max: float,
) -> float:
    """The smallest rate that ``lookahead_certificate`` certifies at zeta2; infinity if not even 1.

    Noise gains fall as r grows, so the rate is one root; the end of the bisection that is returned
    is the certified one.

    Parameters
    ----------
    alpha, beta, theta, zeta2, L_max, kappa_tilde, mu, lam_max : float
        As for ``lookahead_phi``; zeta2 is the variance factor of a batch, ``theory.zeta2(n, b)``.

    Returns
    -------
    float

    Examples
    --------
    >>> round(lookahead_rate(0.1, 0.5, 0.5, 0.01, 100.0, 20.0, mu=1.0, lam_max=10.0), 4)
    0.7682
    """
    where = "lookahead_rate"
    known = {"alpha": alpha, "beta": beta, "theta": theta, "L_max": L_max, "mu": mu}
    m = _method(where, kappa_tilde, **known, lam_max=lam_max)
    (zeta2,) = _rules.given(where, zeta2=zeta2)
    if not certifies(m, zeta2, 1.0):
        return math.inf
    return bisect(lambda rate: rate > 0.0 and certifies(m, zeta2, rate), 0.0, 1.0)
