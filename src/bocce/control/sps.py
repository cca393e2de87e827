"""Heavy ball whose step comes from the batch's objective and gradient: Polyak's, and NGN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .. import _checks
from ..problems import Line
from ..schedules import _rules
from .policy import Memory, Policy, Three


class PolyakStep(NamedTuple):
    """A capped Polyak step on the batch, with constant momentum; see ``momsps``."""

    beta: float
    c: float
    most: float
    lower: float

    def decide(rule, k: int, memory: Memory, line: Line) -> tuple[Three, Memory]:
        step = rule.most
        if line.slope2 > 0.0:  # at a batch's own minimiser any step is the same
            step = min(rule.most, max(line.value - rule.lower, 0.0) / (rule.c * line.slope2))
        return ((1.0 - rule.beta) * step, rule.beta, 0.0), memory


@dataclass(frozen=True)
class PolyakPolicy(Policy):
    """The policy of ``momsps``: steps from the batch's objective and gradient, no memory."""

    T: int
    name: str
    beta: float
    c: float
    most: float
    lower: float
    search: str = "same"

    @property
    def rule(self) -> PolyakStep:
        return PolyakStep(self.beta, self.c, self.most, self.lower)

    @property
    def longest_step(self) -> float:
        return self.most


def momsps(
    T: int, beta: float = 0.9, c: float = 1.0, most: float = 10.0, lower: float = 0.0
) -> PolyakPolicy:
    """MomSPS_max: heavy ball with (1 - beta) times a capped Polyak step on the batch.

    alpha_k = (1 - beta) min{(f_B(w_k) - lower)/(c ||g_k||^2), most},  beta_k = beta.

    Guarantee: O(1/T) to a neighbourhood for convex smooth f_i, to the minimiser under interpolation
    or with all rows; needs no constant of the problem. Source: Oikonomou and Loizou (2025), arXiv
    2406.04142, as their package states and implements it (without MomDecSPS and MomAdaSPS).

    Parameters
    ----------
    T, beta : int, float
        Number of steps; the momentum, 0 <= beta < 1.
    c, most, lower : float
        The divisor of Polyak's step, > 0; the largest step before the factor 1 - beta, > 0; a lower
        bound on the minimum of f_B, 0 for the losses here.

    Returns
    -------
    Policy

    Examples
    --------
    >>> momsps(100).begin(), momsps(100).name
    ((), 'momsps')
    """
    where = "momsps"
    T, beta = _rules.given(where, T=T, beta=beta)
    c = _checks.real(where, "c", c, above=0.0, remedy="1 is usual")
    most = _checks.real(where, "most", most, above=0.0, remedy="10 is usual")
    lower = _checks.real(where, "lower", lower, remedy="0 bounds every loss here")
    return PolyakPolicy(T, "momsps", beta, c, most, lower)


class GaussNewtonStep(NamedTuple):
    """The step of a Gauss-Newton model of sqrt(f_B), with constant momentum; see ``ngn_m``."""

    beta: float
    c: float
    lower: float

    def decide(rule, k: int, memory: Memory, line: Line) -> tuple[Three, Memory]:
        step = rule.c
        if line.slope2 > 0.0:  # at a batch's own minimiser any step is the same
            twice = 2.0 * max(line.value - rule.lower, 0.0)
            step = rule.c * twice / (twice + rule.c * line.slope2)
        return ((1.0 - rule.beta) * step, rule.beta, 0.0), memory


@dataclass(frozen=True)
class GaussNewtonPolicy(Policy):
    """The policy of ``ngn_m``: steps from the batch's objective and gradient, no memory."""

    T: int
    name: str
    beta: float
    c: float
    lower: float
    search: str = "same"

    @property
    def rule(self) -> GaussNewtonStep:
        return GaussNewtonStep(self.beta, self.c, self.lower)

    @property
    def longest_step(self) -> float:
        return self.c


def ngn_m(T: int, beta: float = 0.9, c: float = 1.0, lower: float = 0.0) -> GaussNewtonPolicy:
    """NGN-M: heavy ball with (1 - beta) times the non-negative Gauss-Newton step on the batch.

    alpha_k = (1 - beta) c/(1 + c ||g_k||^2/(2 (f_B(w_k) - lower))),  beta_k = beta.

    The step is the harmonic mean of c and 2 (f_B - lower)/||g||^2, halved: near c where f_B is
    large, twice Polyak's step where c is large. Guarantee: O(1/sqrt(T)) for convex smooth f_i, for
    any c decreasing with T; needs no constant of the problem. Source: Islamov et al. (2025), arXiv
    2508.15071; without the preconditioned NGN-MD.

    Parameters
    ----------
    T, beta : int, float
        Number of steps; the momentum, 0 <= beta < 1.
    c, lower : float
        The largest step before the factor 1 - beta, > 0; a lower bound on the minimum of f_B, 0 for
        losses that are not negative.

    Returns
    -------
    Policy

    Examples
    --------
    >>> ngn_m(100).begin(), ngn_m(100).name
    ((), 'ngn-m')
    """
    where = "ngn_m"
    T, beta = _rules.given(where, T=T, beta=beta)
    c = _checks.real(where, "c", c, above=0.0, remedy="1 is usual")
    lower = _checks.real(where, "lower", lower, remedy="0 bounds every loss that is not negative")
    return GaussNewtonPolicy(T, "ngn-m", beta, c, lower)
