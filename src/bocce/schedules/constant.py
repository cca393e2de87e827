"""Constant step and momentum."""

from __future__ import annotations

import math

import numpy as np

from .. import _checks
from . import _rules
from .schedule import Schedule


def sgd(T: int, L: float, a: float = 1.0) -> Schedule:
    """Stochastic gradient descent: w_{k+1} = w_k - (a/L) g_k.

    Guarantee: for L >= L_max, linear convergence to a neighbourhood proportional to a; with L =
    lambda_max this needs a large batch. Source: SGD of ``sec:experiments``.

    Parameters
    ----------
    T, L, a : int, float, float
        Number of steps; largest eigenvalue of the Hessian, or an upper bound; scale, 0 < a <= 1.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> sgd(3, L=10.0).alpha
    array([0.1, 0.1, 0.1])
    """
    T, L, a = _rules.given("sgd", T=T, L=L, a=a)
    return Schedule(a / L, 0.0, T=T, name="sgd")


def shb(T: int, L: float, mu: float, a: float = 1.0) -> Schedule:
    """Accelerated heavy ball for quadratics: alpha = a/L, beta = (1 - sqrt(alpha mu)/2)^2.

    Guarantee: ``theory.bound_shb``, for L = L_max and a batch of ``theory.batch_threshold`` rows.
    Below the critical batch size heavy ball diverges. Source: ``thm:SHB_quad``.

    Parameters
    ----------
    T, L, mu, a : int, float, float, float
        Number of steps; extreme eigenvalues of the Hessian, 0 < mu <= L; scale, 0 < a <= 1.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = shb(2, L=100.0, mu=1.0)
    >>> float(s.alpha[0]), float(s.beta[0])
    (0.01, 0.9025)
    """
    T, L, mu, a = _rules.given("shb", T=T, L=L, mu=mu, a=a)
    return Schedule(a / L, _rules.momentum(a / L, mu), T=T, name="shb")


def shb_averaged(
    T: int, L: float, mu: float, eta: float | None = None, form: str = "proof"
) -> Schedule:
    """Heavy ball in averaging form with a constant eta (no acceleration, no decay).

    With lambda_k = (1 - 2 eta L)/(eta mu) (1 - (1 - eta mu)^k):
    alpha_k = eta/(1 + lambda_{k+1}), beta_k = lambda_k (1 - eta mu)/(1 + lambda_{k+1}).

    Guarantee: the rate 1 - eta mu to a neighbourhood, for any batch size, smooth strongly convex
    f_i and eta <= 1/(4L), L = L_max. At eta = 1/(2L) it is SGD. Source: ``thm:SHB_general``.

    Parameters
    ----------
    T, L, mu : number
        As for ``shb``.
    eta : float, optional
        The step of the averaging form, 0 < eta <= 1/(2L); by default 1/(4L).
    form : {"proof", "average"}, default "proof"
        beta_k of the proof, or of the main text (``eq:shb-average``).

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = shb_averaged(2, L=1.0, mu=1.0)
    >>> s.alpha.round(4).tolist(), s.beta.round(4).tolist()
    ([0.1667, 0.1333], [0.0, 0.2])
    """
    where = "shb_averaged"
    remedy = "eta lies in (0, 1/(2L)]"
    T, L, mu = _rules.given(where, T=T, L=L, mu=mu)
    eta = 0.25 / L if eta is None else eta
    eta = _checks.real(where, "eta", eta, above=0.0, most=0.5 / L, remedy=remedy)
    alpha, beta = _rules.averaging(np.full(T + 1, eta), mu, 1.0 - 2.0 * eta * L, form, where)
    return Schedule(alpha, beta, name="shb-avg")


def polyak(T: int, L: float, mu: float) -> Schedule:
    """Polyak's heavy ball with the optimal constants for a noiseless quadratic.

    alpha = 4/(sqrt(L) + sqrt(mu))^2,  beta = ((sqrt(kappa) - 1)/(sqrt(kappa) + 1))^2.

    Guarantee: the asymptotic factor (sqrt(kappa) - 1)/(sqrt(kappa) + 1) a step at full batch.
    Source: Polyak (1964).

    Parameters
    ----------
    T, L, mu : number
        As for ``shb``.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = polyak(1, L=4.0, mu=1.0)
    >>> round(float(s.alpha[0]), 4), round(float(s.beta[0]), 4)
    (0.4444, 0.1111)
    """
    T, L, mu = _rules.given("polyak", T=T, L=L, mu=mu)
    root_L = math.sqrt(L)
    root_mu = math.sqrt(mu)
    beta = ((root_L - root_mu) / (root_L + root_mu)) ** 2
    return Schedule(4.0 / (root_L + root_mu) ** 2, beta, T=T, name="hb")


def nesterov(T: int, L: float, mu: float) -> Schedule:
    """Nesterov's constant scheme: alpha = 1/L, beta = theta = (sqrt(kappa)-1)/(sqrt(kappa)+1).

    Guarantee: f(w_k) - f* falls by 1 - 1/sqrt(kappa) a step at full batch, for any smooth
    strongly convex f. Source: Nesterov (2004), constant step scheme.

    Parameters
    ----------
    T, L, mu : number
        As for ``shb``.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = nesterov(1, L=4.0, mu=1.0)
    >>> round(float(s.beta[0]), 4), bool(s.beta[0] == s.theta[0])
    (0.3333, True)
    """
    T, L, mu = _rules.given("nesterov", T=T, L=L, mu=mu)
    root_L = math.sqrt(L)
    root_mu = math.sqrt(mu)
    beta = (root_L - root_mu) / (root_L + root_mu)
    return Schedule(1.0 / L, beta, beta, T=T, name="nesterov")
