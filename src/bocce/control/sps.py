"""Heavy ball whose step is Polyak's on the batch."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _checks
from ..schedules import _rules
from .line_search import Look, Three


@dataclass(frozen=True)
class PolyakPolicy:
    """(alpha_k, beta_k, 0) from the batch's objective and gradient; it remembers nothing."""

    T: int
    name: str
    beta: float
    c: float
    most: float
    lower: float

    def begin(self) -> tuple[()]:
        return ()

    def decide(self, k: int, memory: tuple[float, ...], look: Look) -> tuple[Three, tuple[()]]:
        line = look("same")
        step = self.most
        if line.slope2 > 0.0:  # at a batch's own minimiser any step is the same
            step = min(self.most, max(line.value - self.lower, 0.0) / (self.c * line.slope2))
        return ((1.0 - self.beta) * step, self.beta, 0.0), ()


def momsps(
    T: int, beta: float = 0.9, c: float = 1.0, most: float = 10.0, lower: float = 0.0
) -> PolyakPolicy:
    """MomSPS_max: heavy ball with (1 - beta) times a capped Polyak step on the batch.

    alpha_k = (1 - beta) min{(f_B(w_k) - lower)/(c ||g_k||^2), most},  beta_k = beta.

    ``lower`` is a lower bound on min f_B: 0 for the losses here. Without the factor 1 - beta it
    is unstable.

    Guarantee: O(1/T) to a neighbourhood for convex smooth f_i, to the minimiser under
    interpolation or with all rows; needs no constant of the problem.

    Source: Oikonomou and Loizou (2025), arXiv 2406.04142, as their package states and implements
    it. (Their MomDecSPS and MomAdaSPS are not here: only the abstract could be had.)

    >>> momsps(100).begin(), momsps(100).name
    ((), 'momsps')
    """
    where = "momsps"
    T = _rules.horizon(where, T)
    beta = _checks.real(where, "beta", beta, least=0.0, below=1.0, remedy="0.9 is usual")
    c = _checks.real(where, "c", c, above=0.0, remedy="1 is usual")
    most = _checks.real(where, "most", most, above=0.0, remedy="10 is usual")
    lower = _checks.real(where, "lower", lower, remedy="0 bounds every loss here")
    return PolyakPolicy(T, "momsps", beta, c, most, lower)
