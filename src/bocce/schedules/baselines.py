"""Rivals worth comparing with, each as a table of the one update."""

from __future__ import annotations

import math

import numpy as np

from .. import _checks
from . import _rules
from .accelerated import batch_constants, expected_smoothness, lookahead_rule, sampling_noise
from .schedule import Schedule

BELOW_ONE = 1.0 - 2.0**-53  # the largest momentum that float64 has below 1


def sgd_safe(T: int, L: float, L_max: float, n: int, b: int) -> Schedule:
    """SGD with the expected-smoothness step: w_{k+1} = w_k - g_k/((1 - z) L + z L_max).

    z = zeta0^2 = (n - b)/((n - 1) b): L_max at b = 1, L at b = n.

    Guarantee: linear convergence at 1 - alpha mu to a neighbourhood, at every batch size. Source:
    Gower et al. (2019), batches without replacement.

    Parameters
    ----------
    T, L, L_max, n, b : number
        As for ``mass``; L may be an upper bound.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> float(sgd_safe(1, L=2.0, L_max=10.0, n=100, b=1).alpha[0])
    0.1
    """
    T, L, L_max = _rules.given("sgd_safe", T=T, L=L, L_max=L_max)
    smooth = expected_smoothness(L, L_max, sampling_noise("sgd_safe", n, b))
    return Schedule(1.0 / smooth, 0.0, T=T, name="sgd-safe")


def mass_published(
    T: int, L: float, mu: float, L_max: float, kappa_tilde: float, n: int, b: int
) -> Schedule:
    """MaSS with the constants as printed: ``mass`` with z = 1/b, of sampling with replacement.

    Guarantee: 1 - 1/sqrt(kappa_m L_m/mu) a step under interpolation. Source: Liu and Belkin (2020),
    theorem for batches of size m, whose L_1 is L_max.

    Parameters
    ----------
    T, L, mu, L_max, kappa_tilde, n, b : number
        As for ``mass``.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> a, b = (mass_published(1, 4.0, 1.0, 8.0, 3.0, n=10, b=b).beta[0] for b in (1, 10))
    >>> bool(a > b)
    True
    """
    known = {"T": T, "L": L, "mu": mu, "L_max": L_max, "kappa_tilde": kappa_tilde, "n": n, "b": b}
    T, L, mu, L_max, tilde, n, b = _rules.given("mass_published", **known)
    return Schedule(*lookahead_rule(L, mu, L_max, tilde, 1.0 / b), "mass-published", T=T)


def asgd(T: int, L: float, mu: float, L_max: float, kappa_tilde: float, n: int, b: int) -> Schedule:
    """Accelerated SGD of Jain et al., in the form of the one update.

    With R2 = (1 - z) L + z L_max and kappa~ of a batch as in ``mass``, q = sqrt(kappa~ R2/mu):
    p = 1/(1 + 1/(3 sqrt5 q)),  a = 1/(9 q),  delta = 1/(5 R2),  xi = 1/(3 sqrt5 mu q), and

        y_k = p w_k + (1-p) v_k,    w_{k+1} = y_k - delta g_k(y_k),
        v_{k+1} = a y_k + (1-a) v_k - xi g_k(y_k).

    The same y_k come from alpha (1+theta) = p delta + (1-p) xi, alpha theta = (1-a) p delta,
    beta = p (1-a).

    Guarantee: 1 - 1/(9 q) a step on least squares; the noise averages out over the tail. Source:
    Jain et al. (2018), theorem 1, whose R2 and kappa~ are those of b = 1.

    Parameters
    ----------
    T, L, mu, L_max, kappa_tilde, n, b : number
        As for ``mass``.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = asgd(1, L=4.0, mu=1.0, L_max=8.0, kappa_tilde=3.0, n=10, b=1)
    >>> bool(s.theta[0] > 0)
    True
    """
    known = {"T": T, "L": L, "mu": mu, "L_max": L_max, "kappa_tilde": kappa_tilde}
    T, L, mu, L_max, tilde = _rules.given("asgd", **known)
    smooth, _, q = batch_constants(L, mu, L_max, tilde, sampling_noise("asgd", n, b))
    long = 3.0 * math.sqrt(5.0) * q
    p = 1.0 / (1.0 + 1.0 / long)
    a = 1.0 / (9.0 * q)
    delta = 0.2 / smooth
    xi = 1.0 / (mu * long)
    # alpha (1+theta) less alpha theta, without a difference: with a large q nothing would be left.
    alpha = a * p * delta + xi / (1.0 + long)
    beta = min(p * (1.0 - a), BELOW_ONE)
    return Schedule(alpha, beta, (1.0 - a) * p * delta / alpha, "asgd", T=T)


def triple_momentum(T: int, L: float, mu: float) -> Schedule:
    """The triple momentum method, for a full batch.

    rho = 1 - 1/sqrt(kappa),  alpha = (1 + rho)/L,  beta = rho^2/(2 - rho),
    theta = rho^2/((1 + rho)(2 - rho)).

    Guarantee: rho a step for any smooth strongly convex function at full batch, the fastest known.
    Source: Van Scoy, Freeman and Lynch (2018).

    Parameters
    ----------
    T, L, mu : number
        As for ``shb``.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = triple_momentum(1, L=4.0, mu=1.0)
    >>> float(s.alpha[0]), round(float(s.beta[0]), 4), round(float(s.theta[0]), 4)
    (0.375, 0.1667, 0.1111)
    """
    T, L, mu = _rules.given("triple_momentum", T=T, L=L, mu=mu)
    rho = 1.0 - math.sqrt(mu / L)
    beta = rho**2 / (2.0 - rho)
    return Schedule((1.0 + rho) / L, beta, beta / (1.0 + rho), "triple-momentum", T=T)


def robust_heavy_ball(T: int, L: float, mu: float, rate: float | None = None) -> Schedule:
    """Heavy ball with a chosen rate r on quadratics: alpha = (1 - r)^2/mu, beta = r^2.

    Guarantee: r a step on quadratics at full batch. Additive gradient noise leaves the least error
    that a method of the one update with this rate can have (numerical evidence in the source).
    Source: Van Scoy and Lessard (arXiv 2109.05059), the Robust Heavy Ball.

    Parameters
    ----------
    T, L, mu : number
        As for ``shb``.
    rate : float, optional
        Error factor a step, from (sqrt(kappa) - 1)/(sqrt(kappa) + 1), which is Polyak's method, up
        to but not including 1. By default the speed 1 - rate is half of Polyak's.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = robust_heavy_ball(1, L=9.0, mu=1.0, rate=0.5)  # Polyak's method
    >>> float(s.alpha[0]), float(s.beta[0])
    (0.25, 0.25)
    """
    where = "robust_heavy_ball"
    T, L, mu = _rules.given(where, T=T, L=L, mu=mu)
    root = math.sqrt(L / mu)
    r = _slowed(where, rate, (root - 1.0) / (root + 1.0), "Polyak's rate")
    return Schedule((1.0 - r) ** 2 / mu, r * r, T=T, name="robust-hb")


def robust_accelerated(T: int, L: float, mu: float, rate: float | None = None) -> Schedule:
    """Triple momentum slowed down to a chosen rate r, which leaves less noise.

    With d = (L - mu)(3 - r):

        alpha = (1 + r)(1 - r)^2/mu,   beta = r (L (1 - r + 2 r^2) - mu (1 + r))/d,
        theta = r (L (1 - r^2) - mu (1 + 2 r - r^2))/(d (1 - r^2)).

    Guarantee: r a step for any smooth strongly convex function at full batch. Source: Van Scoy and
    Lessard (arXiv 2109.05059), the Robust Accelerated Method.

    Parameters
    ----------
    T, L, mu : number
        As for ``shb``.
    rate : float, optional
        Error factor a step, from 1 - 1/sqrt(kappa), which is triple momentum, to the rate at which
        theta is 0. By default half of triple momentum's speed, or the rate at which theta is 0.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s, fast = robust_accelerated(1, 4.0, 1.0, rate=0.5), triple_momentum(1, 4.0, 1.0)
    >>> bool(abs(s.theta[0] - fast.theta[0]) < 1e-15), bool(abs(s.beta[0] - fast.beta[0]) < 1e-15)
    (True, True)
    """
    where = "robust_accelerated"
    name = "robust-accelerated"
    T, L, mu = _rules.given(where, T=T, L=L, mu=mu)
    if mu == L:
        return Schedule(1.0 / L, 0.0, T=T, name=name)
    over = (L - mu) / mu
    slowest = over / (1.0 + math.hypot(1.0, over))  # where theta is 0
    r = _slowed(where, rate, 1.0 - math.sqrt(mu / L), "triple momentum's rate", slowest)
    d = (L - mu) * (3.0 - r)
    beta = r * (L * (1.0 - r + 2.0 * r * r) - mu * (1.0 + r)) / d
    # L (1 - r^2) - mu (1 + 2r - r^2), which is 0 at the slowest rate
    lead = (slowest - r) * ((L - mu) * (r + slowest) + 2.0 * mu)
    theta = max(0.0, r * lead / (d * (1.0 - r * r)))
    return Schedule((1.0 + r) * (1.0 - r) ** 2 / mu, beta, theta, name, T=T)


def _slowed(where: str, rate: float | None, fastest: float, name: str, most: float = 1.0) -> float:
    """The given rate, checked; without one, half of the fastest speed 1 - r, at most ``most``."""
    if rate is None:
        usual = min(0.5 * (1.0 + fastest), most)
        if usual == 1.0:
            raise ValueError(
                f"{where}: the error factor a step is 1 but for rounding, must be below 1; L/mu is "
                "too large for float64: raise mu."
            )
        return usual
    remedy = f"{fastest:.6g} is {name}; leave rate out for half of its speed"
    least = fastest - 1e-12  # the caller's own rounding of the fastest rate
    if most < 1.0:
        limits = {"most": most}
    else:
        limits = {"below": 1.0}
    return max(fastest, _checks.real(where, "rate", rate, least=least, remedy=remedy, **limits))


def schedule_free(
    T: int, L: float, L_max: float, n: int, b: int, momentum: float = 0.9
) -> Schedule:
    """Schedule-free SGD: gradients between the iterate and its running mean, no horizon needed.

    With c_k = 1/(k+1), x_0 = z_0 = w_0 and the step gamma of ``sgd_safe``::

        y_k     = (1 - momentum) z_k + momentum x_k
        z_{k+1} = z_k - gamma g_k(y_k)
        x_{k+1} = (1 - c_k) x_k + c_k z_{k+1}

    w_k is x_k, the mean that the method returns. In the one update, for k >= 1,

        alpha_k = gamma/(k+1),  beta_k = (k-1)/(k+1),  theta_k = (1 - momentum)(k-1).

    Guarantee: for convex Lipschitz f the mean reaches the O(1/sqrt(T)) of the best gamma for any
    momentum in [0, 1]; with this gamma nothing is promised for strongly convex f. Source: Defazio
    et al. (2024), "The Road Less Scheduled", arXiv 2405.15682.

    Parameters
    ----------
    T, L, L_max, n, b : number
        As for ``sgd_safe``.
    momentum : float, default 0.9
        The weight of the running mean in y_k, from 0 to 1.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = schedule_free(4, L=2.0, L_max=10.0, n=100, b=1)
    >>> s.alpha.round(4).tolist(), s.beta.round(4).tolist(), s.theta.round(4).tolist()
    ([0.1, 0.05, 0.0333, 0.025], [0.0, 0.0, 0.3333, 0.5], [0.0, 0.0, 0.1, 0.2])
    """
    where = "schedule_free"
    T, L, L_max = _rules.given(where, T=T, L=L, L_max=L_max)
    momentum = _checks.real(where, "momentum", momentum, least=0.0, most=1.0, remedy="0.9 is usual")
    gamma = 1.0 / expected_smoothness(L, L_max, sampling_noise(where, n, b))
    k = np.arange(T, dtype=np.float64)
    past = np.maximum(k - 1.0, 0.0)
    return Schedule(gamma / (k + 1.0), past / (k + 1.0), (1.0 - momentum) * past, "schedule-free")
