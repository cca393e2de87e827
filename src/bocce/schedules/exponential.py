"""Exponentially decaying steps: they adapt to the noise without knowing it."""

from __future__ import annotations

import math

import numpy as np

from .. import _checks
from . import _rules
from .constant import shb
from .schedule import Schedule


def sgd_exponential(T: int, L: float, tau: float = 1.0) -> Schedule:
    """SGD with exponential steps: alpha_k = gamma^(k+1)/L, gamma = (tau/T)^(1/T).

    Guarantee: exp(-T/kappa) + sigma^2/T up to logarithms, for L = L_max. Source: SGD-EXP of
    ``sec:experiments`` (Vaswani et al. 2022).

    Parameters
    ----------
    T, L, tau : int, float, float
        Number of steps; largest eigenvalue of the Hessian, or an upper bound; the last step size is
        about tau/T of the first, 1 <= tau < T.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> sgd_exponential(4, L=1.0).alpha.round(4).tolist()
    [0.7071, 0.5, 0.3536, 0.25]
    """
    T, L = _rules.given("sgd_exponential", T=T, L=L)
    gamma = _rules.decay("sgd_exponential", T, tau)
    return Schedule(_rules.powers(gamma, T) / L, 0.0, name="sgd-exp")


def shb_exponential(T: int, L: float, mu: float, tau: float = 1.0, form: str = "proof") -> Schedule:
    """Noise-adaptive stochastic heavy ball with exponential steps.

    gamma = (tau/T)^(1/T),  eta_k = gamma^(k+1)/(4L),
    lambda_k = (1 - gamma/2)/(eta_k mu) (1 - (1 - eta_k mu)^k),
    alpha_k = eta_k/(1 + lambda_{k+1}),  beta_k = lambda_k (1 - eta_k mu)/(1 + lambda_{k+1}).

    Guarantee: ``theory.bound_exponential``, for any batch size, with L = L_max and form "proof"
    (docs/deviations.md says why). Source: ``thm:SHB_exp``.

    Parameters
    ----------
    T, L, mu, tau : int, float, float, float
        Number of steps; extreme eigenvalues of the Hessian, 0 < mu <= L; the last step size is
        about tau/T of the first, 1 <= tau < T.
    form : {"proof", "average"}, default "proof"
        beta_k as above, or without the factor 1 - eta_k mu, as in the main text.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = shb_exponential(100, L=10.0, mu=1.0, form="average")
    >>> float(s.alpha[0]).__round__(8), float(s.beta[1]).__round__(6)
    (0.01568129, 0.256932)
    """
    T, L, mu = _rules.given("shb_exponential", T=T, L=L, mu=mu)
    gamma = _rules.decay("shb_exponential", T, tau)
    eta = _rules.powers(gamma, T + 1) / (4.0 * L)
    alpha, beta = _rules.averaging(eta, mu, 1.0 - gamma / 2.0, form, "shb_exponential")
    return Schedule(alpha, beta, name="shb-exp")


def two_phase(
    T: int, L: float, mu: float, c: float = 0.5, tau: float = 1.0, form: str = "proof"
) -> Schedule:
    """Accelerate first, then average the noise out.

    Steps 0 .. T_0 - 1, T_0 = ceil(cT), are ``shb`` with a = 1. The other T_1 steps are
    ``shb_exponential`` on its own clock, started from rest.

    Guarantee: ``theory.bound_two_phase`` for L = L_max and a batch above the threshold. Source:
    ``algo:mix_shb``, ``thm:shb_mix``.

    Parameters
    ----------
    T, L, mu, tau, form : number, str
        As for ``shb_exponential``, with tau < T_1.
    c : float, default 0.5
        Share of T that the first phase takes, 0 < c < 1.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = two_phase(10, L=4.0, mu=1.0)
    >>> s.T, float(s.alpha[4]), float(s.beta[5])
    (10, 0.25, 0.0)
    """
    T, L, mu = _rules.given("two_phase", T=T, L=L, mu=mu)
    T_0, T_1, tau = _rules.phases("two_phase", T, c, tau)
    return shb(T_0, L, mu).then(shb_exponential(T_1, L, mu, tau, form), name="2p-shb")


def nesterov_exponential(
    T: int, L: float, mu: float, rho: float = 1.0, tau: float = 1.0
) -> Schedule:
    """Nesterov's acceleration with exponential steps.

    gamma = (tau/T)^(1/T),  r_j = sqrt(mu/(rho L)) gamma^(j/2),  alpha_k = gamma^(k+1)/(rho L),
    beta_k = theta_k = (1 - r_k) r_k gamma/(r_{k+1} + gamma r_k^2).

    Guarantee: accelerated and noise-adaptive under the strong growth condition with constant rho.
    Source: Vaswani et al. (2022), the baseline of ``sec:experiments``.

    Parameters
    ----------
    T, L, mu, tau : number
        As for ``shb_exponential``.
    rho : float, default 1.0
        Constant of the strong growth condition, >= 1.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = nesterov_exponential(4, L=4.0, mu=1.0)
    >>> round(float(s.beta[0]), 4), bool((s.beta == s.theta).all())
    (0.296, True)
    """
    where = "nesterov_exponential"
    T, L, mu = _rules.given(where, T=T, L=L, mu=mu)
    rho = _checks.real(where, "rho", rho, least=1.0, remedy="1 is no growth of the noise")
    gamma = _rules.decay(where, T, tau)
    r = math.sqrt(mu / (rho * L)) * np.power(gamma, 0.5 * np.arange(T + 1))
    beta = (1.0 - r[:-1]) * r[:-1] * gamma / (r[1:] + gamma * r[:-1] ** 2)
    return Schedule(_rules.powers(gamma, T) / (rho * L), beta, beta, "nesterov-exp")
