"""Step sizes from an Armijo line search, with the exponential decay on top."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _checks
from ..problems import Line
from ..schedules import _rules
from .policy import Memory, Policy, Three

MOST_BACKTRACKS = 100


def armijo(line: Line, start: float, c: float = 0.5, shrink: float = 0.7) -> float:
    """The first s = start shrink^j with f_B(w - s g) <= f_B(w) - c s ||g||^2, j <= 100.

    A decrease that drowns in the rounding of f_B counts as made. On a quadratic, c = 1/2 accepts
    exactly s <= 1/(curvature along g).

    Parameters
    ----------
    line, start, c, shrink : Line, float, float, float
        The batch objective along its negative gradient; the first step to try, > 0; the share of
        the predicted decrease that is required; the factor between trials. Both are in (0, 1).

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from bocce.problems import LeastSquares, Line
    >>> p = LeastSquares(np.array([[2.0]]), np.array([2.0]))
    >>> armijo(Line(p, np.zeros(1), np.array([0])), start=0.25)
    0.25
    """
    slack = 1e-15 * abs(line.value)
    s = start
    for _ in range(MOST_BACKTRACKS):
        if line.decrease(s) >= c * s * line.slope2 * (1.0 - 1e-12) - slack:
            break
        s *= shrink
    return s


class SearchedStep(NamedTuple):
    """SGD with the searched step, decayed; see ``sgd_sls_exponential``."""

    gamma: float
    c: float
    shrink: float

    def decide(rule, k: int, memory: Memory, line: Line) -> tuple[Three, Memory]:
        s = armijo(line, memory[0], rule.c, rule.shrink)
        return (s * rule.gamma ** (k + 1.0), 0.0, 0.0), (s, 0.0)


class SearchedAverage(NamedTuple):
    """Heavy ball in averaging form with the searched step; see ``shb_sls_exponential``."""

    gamma: float
    c: float
    shrink: float
    mu: float

    def decide(rule, k: int, memory: Memory, line: Line) -> tuple[Three, Memory]:
        s = armijo(line, memory[0], rule.c, rule.shrink)
        eta = s / 4 * rule.gamma ** (k + 1.0)
        coming = s / 4 * rule.gamma ** (k + 2.0)  # the next step is unknown: carry s forward
        shrunk = -math.expm1((k + 1) * math.log1p(-min(coming * rule.mu, 1.0 - 1e-15)))
        lam = (1.0 - rule.gamma / 2) / (coming * rule.mu) * shrunk
        beta = memory[1] * (1.0 - eta * rule.mu) / (1.0 + lam)
        return (eta / (1.0 + lam), max(beta, 0.0), 0.0), (s, lam)


@dataclass(frozen=True)
class LineSearchPolicy(Policy):
    """The policy of ``sgd_sls_exponential`` (mu is None) and ``shb_sls_exponential``.

    Its memory is (s, lambda): the last accepted step and the last averaging weight.
    """

    T: int
    name: str
    gamma: float
    mu: float | None
    c: float
    shrink: float
    start: float
    search: str

    @property
    def rule(self) -> SearchedStep | SearchedAverage:
        if self.mu is None:
            return SearchedStep(self.gamma, self.c, self.shrink)
        return SearchedAverage(self.gamma, self.c, self.shrink, self.mu)

    @property
    def longest_step(self) -> float:
        """The search never lengthens its first step."""
        return self.start

    def begin(self) -> Memory:
        return self.start, 0.0


def _policy(
    where: str, name: str, T: int, mu: float | None, tau: float, search: str, *numbers: float
) -> LineSearchPolicy:
    (T,), (c, shrink, start) = _rules.given(where, T=T), numbers
    gamma = _rules.decay(where, T, tau)
    c = _checks.real(where, "c", c, above=0.0, below=1.0, remedy="1/2 is the paper's")
    shrink = _checks.real(where, "shrink", shrink, above=0.0, below=1.0, remedy="0.7 is usual")
    start = _checks.real(where, "start", start, above=0.0, remedy="1 is usual")
    search = _checks.choice(where, "search", search, ["same", "independent"])
    return LineSearchPolicy(T, name, gamma, mu, c, shrink, start, search)


def sgd_sls_exponential(
    T: int,
    tau: float = 1.0,
    c: float = 0.5,
    shrink: float = 0.7,
    start: float = 1.0,
    search: str = "same",
) -> LineSearchPolicy:
    """SGD whose step is searched for on the batch, times gamma^(k+1).

    s_k = armijo from s_{k-1} (it never grows),  alpha_k = s_k gamma^(k+1),
    gamma = (tau/T)^(1/T).

    Guarantee: needs no constant at all; noise-adaptive for the independent search, whose step does
    not depend on the gradient that it scales. Source: SGD-SLS-EXP (Vaswani et al. 2022),
    ``sec:experiments``.

    Parameters
    ----------
    T, tau : int, float
        Number of steps; the last step size is about tau/T of the first, 1 <= tau < T.
    c, shrink, start : float
        As for ``armijo``.
    search : {"same", "independent"}, default "same"
        Search on the batch of the step, or on a batch of its own.

    Returns
    -------
    Policy

    Examples
    --------
    >>> sgd_sls_exponential(100).begin()
    (1.0, 0.0)
    """
    where = "sgd_sls_exponential"
    return _policy(where, "sgd-sls-exp", T, None, tau, search, c, shrink, start)


def shb_sls_exponential(
    T: int,
    mu: float,
    tau: float = 1.0,
    c: float = 0.5,
    shrink: float = 0.7,
    start: float = 1.0,
    search: str = "same",
) -> LineSearchPolicy:
    """Noise-adaptive heavy ball with s_k in place of 1/L.

    eta_k = s_k gamma^(k+1)/4, and with eta' = s_k gamma^(k+2)/4 standing for the next step,
    lambda_{k+1} = (1 - gamma/2)/(eta' mu) (1 - (1 - eta' mu)^(k+1));
    alpha_k = eta_k/(1 + lambda_{k+1}),  beta_k = lambda_k (1 - eta_k mu)/(1 + lambda_{k+1}).

    Guarantee: none; the steps do not increase, as Theorem 1 asks, but depend on the batch. Source:
    SHB-SLS-EXP of ``sec:experiments``, which the paper leaves undefined.

    Parameters
    ----------
    T, mu, tau, c, shrink, start, search : number, str
        As for ``sgd_sls_exponential``; mu is the smallest eigenvalue of the Hessian of f, > 0.

    Returns
    -------
    Policy

    Examples
    --------
    >>> shb_sls_exponential(100, mu=0.1).name
    'shb-sls-exp'
    """
    where = "shb_sls_exponential"
    mu = _checks.real(where, "mu", mu, above=0.0, remedy="add l2, or use sgd-sls-exp")
    return _policy(where, "shb-sls-exp", T, mu, tau, search, c, shrink, start)
