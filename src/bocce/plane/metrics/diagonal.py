"""The diagonal of the Hessian as the metric, where X has too many columns for the whole Hessian.

Text has columns that are in every row and columns that are in two rows. In the identity's metric
the rare columns hardly move. In the diagonal's metric they move too far if they only tell rows
apart (n < d). The sizes of the columns say which metric is better. Let c_j be the curvature of
column j over its ridge, in falling order.

- Vectors without a product with any row have the curvature of the ridge alone. Any n + 1 columns
  have such a vector, so in the diagonal's metric the condition number is about 1 + c_(n+1).
- In the identity's metric gradients never leave the span of the rows. Frequent columns have the
  largest curvatures there. To the least ones the other columns add: the condition number is about
  c_20 / (1 + sum_(j > n) c_j / n), where a few columns that are larger do not count.

Steps grow as the root of the condition number. The diagonal is used where it promises a third of
the steps of the identity. On 144 sparse ridge problems of 1,500 to 28,000 rows and 30,000 columns
(benchmarks/studies/diagonal.py) the choice took 1.03 times the steps of the better metric in the
geometric mean, and 3 times at worst; the diagonal alone took up to 10 times, the identity alone up
to 13 times.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..._record import record
from ..._types import Array
from ...problems import Problem
from .base import IdentityPolicy, Metric, View, cost_of_step
from .factor import IDENTITY, FactorMetric

EXPECTED = 0.5  # A step in a good diagonal metric leaves about this share of the gradient's norm.
SQUARED = 4.5  # Squaring, weighting and adding up an entry of X takes this many nanoseconds.
FAR_BETTER = 9.0  # The diagonal is used where the condition number falls by this factor ...
LARGER_COLUMNS = 20  # ... and this many columns are too few to count: each costs a step or so.


def promises(curvature: Array, ridge: Array, n: int) -> bool:
    """Do the sizes of the columns say that the diagonal takes a third of the identity's steps?

    >>> squares = np.geomspace(1.0, 1e-6, 40)
    >>> promises(squares, np.full(1, 1e-6), n=4), promises(squares, np.full(1, 1e-6), n=400)
    (False, True)
    """
    ridges = np.broadcast_to(ridge, curvature.shape)
    counted = (ridges > 0.0) & (curvature > 0.0)
    over_ridge = -np.sort(-(curvature[counted] / ridges[counted]))
    if not over_ridge.size:
        return False
    largest = over_ridge[min(LARGER_COLUMNS, over_ridge.size // 2)]
    if n < over_ridge.size:
        least = float(over_ridge[n:].sum()) / n
        free = over_ridge[n]
    else:
        least = over_ridge[-1]
        free = 0.0
    return bool((1.0 + largest) / (1.0 + least) > FAR_BETTER * (1.0 + free))


class DiagonalPolicy(IdentityPolicy):
    """Decides before each step whether to compare the identity with the diagonal.

    The ski-rental rule is that of ``HessianPolicy``: a comparison is made when slow steps have cost
    as much as the comparison (half as much for the first one, and twice the last price for each
    further one). Where the diagonal is used, the stored directions are dropped, because conjugate
    directions of one metric are not conjugate in another, and later the diagonal is only
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
        curvature = view.hessian_diagonal()
        ridge = view.ridge.reshape(-1)
        self.regret = 0.0
        self.next_price = 2.0 * self.next_price
        if view.metric is IDENTITY:
            if not (self.used_before or promises(curvature, ridge, self.problem.n)):
                return None
            self.next_price = self.full_price
            self.used_before = False
            if self.problem.handed_on is not None:
                self.problem.handed_on.keep(diagonal=True)
        return FactorMetric.of(curvature, ridge)

    def state_dict(self) -> dict[str, Array]:
        return record(regret=self.regret, next_price=self.next_price, known=self.used_before)

    def load_state_dict(self, state: dict[str, Array], metric: dict[str, Array]) -> Metric:
        self.regret = float(state["regret"])
        self.next_price = float(state["next_price"])
        self.used_before = bool(state["known"])
        return super().load_state_dict(state, metric)
