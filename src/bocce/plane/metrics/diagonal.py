"""The diagonal of the Hessian as the metric, where X has too many columns for the whole Hessian.

Text has columns that are in every row and columns that are in two rows. In the identity's metric
the rare columns hardly move. In the diagonal's metric they move too far if they only tell rows
apart (n < d). Word counts take 0.65 of the time in the diagonal's metric, one-hot columns a quarter
(benchmarks/wide.py); tf-idf and sector are better off with the identity. No rule that looks at the
columns alone was found to decide between the two. So both directions are tried at the current
point, once steps are slow enough to pay for the trial.
"""

from __future__ import annotations

import math
from typing import ClassVar

from ..._record import record
from ..._types import Array
from ...problems import Problem
from .base import IdentityPolicy, Metric, View, cost_of_step
from .factor import IDENTITY, FactorMetric

EXPECTED = 0.5  # A step in a good diagonal metric leaves about this share of the gradient's norm.
SQUARED = 4.5  # Squaring, weighting and adding up an entry of X takes this many nanoseconds.
PROMISED_TIMES = 3.0  # The diagonal is used if it promises this many times the fall of f along -g.


def _falls_more(view: View, d: Array) -> bool:
    """Would f fall by much more along -d than along -g?"""
    return view.fall_along(d) > PROMISED_TIMES * view.fall_along(view.gradient)


class DiagonalPolicy(IdentityPolicy):
    """Decides before each step whether to compare the identity with the diagonal.

    The ski-rental rule is that of ``HessianPolicy``: a comparison is made when slow steps have cost
    as much as the comparison (half as much for the first one, and twice the last price for each
    further one). The diagonal is used once second derivatives promise three times the fall of f
    along -g/diagonal (two products with X). Then the stored directions are dropped, because
    conjugate directions of one metric are not conjugate in another, and later the diagonal is only
    recomputed.
    """

    restarts: ClassVar[bool] = True

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.step = cost_of_step(problem)
        self.full_price = self.step + SQUARED * float(problem.rows.cost)
        self.next_price = 0.5 * self.full_price
        self.regret = 0.0
        cache = problem.handed_on
        self.used_before = cache is not None and cache.diagonal  # the run before used the diagonal

    def should_refresh(self, gradient_ratio: float) -> bool:
        """Compare now? ``gradient_ratio``: the gradient's norm over that before the last step."""
        if gradient_ratio > 0.0:  # not at the first step
            rate = max(0.0, math.log(gradient_ratio) / math.log(EXPECTED))
            # no step loses more than its own price
            self.regret = max(0.0, self.regret + self.step * (1.0 - rate))
        return self.used_before or self.regret >= self.next_price

    def update(self, view: View) -> Metric | None:
        if not self.should_refresh(view.gradient_ratio):
            return None
        diagonal = FactorMetric.of(view.hessian_diagonal(), view.ridge.reshape(-1))
        self.regret = 0.0
        self.next_price = 2.0 * self.next_price
        g = view.gradient
        if view.metric is IDENTITY:
            along_diagonal = diagonal.solve(g)
            if not (self.used_before or _falls_more(view, along_diagonal)):
                return None
            self.next_price = self.full_price
            self.used_before = False
            if self.problem.handed_on is not None:
                self.problem.handed_on.keep(diagonal=True)
        return diagonal

    def state_dict(self) -> dict[str, Array]:
        return record(regret=self.regret, next_price=self.next_price, known=self.used_before)

    def load_state_dict(self, state: dict[str, Array], metric: dict[str, Array]) -> Metric:
        self.regret = float(state["regret"])
        self.next_price = float(state["next_price"])
        self.used_before = bool(state["known"])
        return super().load_state_dict(state, metric)
