"""Later rivals that have a form on the one update."""

from __future__ import annotations

import numpy as np

from .. import _checks
from . import _rules
from .adaptive import expected_smoothness, sampling_noise
from .schedule import Schedule


def schedule_free(
    T: int, L: float, L_max: float, n: int, b: int, momentum: float = 0.9
) -> Schedule:
    """Schedule-free SGD: gradients between the iterate and its running mean, no horizon needed.

    With c_k = 1/(k+1) and x_0 = z_0 = w_0::

        y_k     = (1 - momentum) z_k + momentum x_k
        z_{k+1} = z_k - gamma g_k(y_k)
        x_{k+1} = (1 - c_k) x_k + c_k z_{k+1}

    w_k is x_k, the mean that the method returns, in the one update with

        alpha_k = gamma/(k+1),  beta_k = (k-1)/(k+1),  theta_k = (1 - momentum)(k-1),  k >= 1,

    and beta_0 = theta_0 = 0: x_k - z_k is -(k-1) times the last move of x for k >= 2.
    gamma = 1/((1-z) L + z L_max), z = (n-b)/((n-1) b), is the step of ``sgd_safe``.

    Guarantee: for convex Lipschitz f the mean reaches the O(1/sqrt(T)) of the best gamma for any
    momentum in [0, 1]; with this gamma nothing is promised for strongly convex f. Source: Defazio
    et al. (2024), "The Road Less Scheduled", arXiv 2405.15682.

    Parameters
    ----------
    T, n, b : int
        Numbers of steps, of rows and of rows in a batch: T >= 1, 1 <= b <= n.
    L, L_max : float
        Largest eigenvalue of the Hessian, or an upper bound; largest curvature of one row's loss.
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
    T, L = _rules.horizon(where, T), _rules.smoothness(where, L)
    L_max = _rules.row_smoothness(where, L, L_max)
    momentum = _checks.real(where, "momentum", momentum, least=0.0, most=1.0, remedy="0.9 is usual")
    gamma = 1.0 / expected_smoothness(L, L_max, sampling_noise(where, n, b))
    k = np.arange(T, dtype=np.float64)
    past = np.maximum(k - 1.0, 0.0)
    return Schedule(gamma / (k + 1.0), past / (k + 1.0), (1.0 - momentum) * past, "schedule-free")
