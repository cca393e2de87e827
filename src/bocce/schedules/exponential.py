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

    Guarantee: noise-adaptive convergence exp(-T/kappa) + sigma^2/T up to logarithms (L = L_max).
    Source: the baseline SGD-EXP (Vaswani et al. 2022; ``sec:experiments``).

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
    T, L = _rules.horizon("sgd_exponential", T), _rules.smoothness("sgd_exponential", L)
    gamma = _rules.decay("sgd_exponential", T, tau)
    alpha = _rules.powers(gamma, T) / L
    return _rules.heavy_ball(alpha, np.zeros(T), "sgd-exp")


def shb_exponential(T: int, L: float, mu: float, tau: float = 1.0, form: str = "proof") -> Schedule:
    """Noise-adaptive stochastic heavy ball with exponential steps.

    gamma = (tau/T)^(1/T),  eta_k = gamma^(k+1)/(4L),
    lambda_k = (1 - gamma/2)/(eta_k mu) (1 - (1 - eta_k mu)^k),
    alpha_k = eta_k/(1 + lambda_{k+1}),  beta_k = lambda_k (1 - eta_k mu)/(1 + lambda_{k+1}).

    ``form="average"`` drops the factor (1 - eta_k mu) from beta_k, as the main text does; the
    theorem's one-step inequality is false for it (docs/deviations.md).

    Guarantee: ``theory.bound_exponential``, for any batch size, with L = L_max. Source:
    ``thm:SHB_exp``.

    Parameters
    ----------
    T, L, mu : int, float, float
        Number of steps; extreme eigenvalues of the Hessian of f, 0 < mu <= L.
    tau : float, default 1.0
        The last step size is about tau/T of the first, 1 <= tau < T.
    form : {"proof", "average"}, default "proof"
        Which beta_k to use: the proof's, or the one printed in the main text.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = shb_exponential(100, L=10.0, mu=1.0, form="average")
    >>> float(s.alpha[0]).__round__(8), float(s.beta[1]).__round__(6)
    (0.01568129, 0.256932)
    """
    T, L, mu = _rules.run("shb_exponential", T, L, mu)
    gamma = _rules.decay("shb_exponential", T, tau)
    eta = _rules.powers(gamma, T + 1) / (4.0 * L)
    alpha, beta = _rules.averaging(eta, mu, 1.0 - gamma / 2.0, form, "shb_exponential")
    return _rules.heavy_ball(alpha, beta, "shb-exp")


def two_phase(
    T: int, L: float, mu: float, c: float = 0.5, tau: float = 1.0, form: str = "proof"
) -> Schedule:
    """Accelerate first, then average the noise out.

    Steps 0 .. ceil(cT)-1 are ``shb`` with a = 1; the rest is ``shb_exponential`` on its own
    clock, started from rest.

    Guarantee: ``theory.bound_two_phase`` for L = L_max and a batch above the threshold. Source:
    ``algo:mix_shb``, ``thm:shb_mix``.

    Parameters
    ----------
    T, L, mu : int, float, float
        Number of steps; extreme eigenvalues of the Hessian of f, 0 < mu <= L.
    c, tau : float
        Share of T that the first phase takes, 0 < c < 1; the last step of the second phase is about
        tau/T_1 of its first, T_1 = T - ceil(cT) > tau >= 1.
    form : {"proof", "average"}, default "proof"
        Which beta_k to use: the proof's, or the one printed in the main text.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = two_phase(10, L=4.0, mu=1.0)
    >>> s.T, float(s.alpha[4]), float(s.beta[5])
    (10, 0.25, 0.0)
    """
    T, L, mu = _rules.run("two_phase", T, L, mu)
    T_0, T_1, tau = _rules.phases("two_phase", T, c, tau)
    second = shb_exponential(T_1, L, mu, tau, form)
    return shb(T_0, L, mu).then(second, name="2p-shb")


def nesterov_exponential(
    T: int, L: float, mu: float, rho: float = 1.0, tau: float = 1.0
) -> Schedule:
    """Nesterov's acceleration with exponential steps.

    gamma = (tau/T)^(1/T),  r_j = sqrt(mu/(rho L)) gamma^(j/2),  alpha_k = gamma^(k+1)/(rho L),
    beta_k = theta_k = (1 - r_k) r_k gamma/(r_{k+1} + gamma r_k^2).

    Guarantee: accelerated and noise-adaptive under the strong growth condition with constant
    ``rho``. Source: Vaswani et al. (2022), the baseline of ``sec:experiments``.

    Parameters
    ----------
    T, L, mu : int, float, float
        Number of steps; extreme eigenvalues of the Hessian of f, 0 < mu <= L.
    rho, tau : float, default 1.0
        Constant of the strong growth condition, >= 1; the last step size is about tau/T of the
        first, 1 <= tau < T.

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
    T, L, mu = _rules.run(where, T, L, mu)
    rho = _checks.real(where, "rho", rho, least=1.0, remedy="1 is no growth of the noise")
    gamma = _rules.decay(where, T, tau)
    r = math.sqrt(mu / (rho * L)) * np.power(gamma, 0.5 * np.arange(T + 1))
    beta = (1.0 - r[:-1]) * r[:-1] * gamma / (r[1:] + gamma * r[:-1] ** 2)
    alpha = _rules.powers(gamma, T) / (rho * L)
    return Schedule(alpha, beta, beta, "nesterov-exp")
