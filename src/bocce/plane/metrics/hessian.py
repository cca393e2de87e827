"""The Hessian of sampled rows as the metric, and when another one is worth its price."""

from __future__ import annotations

import math

from ..._record import record
from ..._types import Array
from ...problems import Problem
from .base import PRICES, IdentityPolicy, Metric, Sample, View, cost_of_step, is_sparse, outputs_of
from .factor import FactorMetric, Identity

# A step with the Hessian of all rows leaves about this share of the gradient's norm.
LEFT_BY_HESSIAN = 0.04
# This many steps show how good a metric is that several outputs share. Without the trial a run on
# digits takes 1.4 times as long.
TRIAL = 3
# Steps that have lost this many prices of a Hessian are no longer believed to end soon.
MOST_LOST = 2.0


class HessianPolicy(IdentityPolicy):
    """Decides before each step whether to compute a Hessian, and of how many rows.

    The rule is the one of the ski-rental problem. A step that shrinks the gradient by less than a
    step with a fresh Hessian would loses a part of its own price. When the losses since the last
    Hessian (``regret``) reach the price of the next one, a Hessian is computed. So waiting never
    loses more than a Hessian costs, and where plain steps do as well no Hessian is computed. Where
    the run will end, at its present pace, before steps lose the price once more, it may wait until
    they have lost the price twice.
    """

    expected = 0.15  # a step with a fresh sampled Hessian leaves this share of the gradient's norm
    rows_a_column = 20  # the rows of the first sample, for each column
    first = 1.5  # a Hessian that costs at most this many steps is computed before the first step
    exact = 8.0  # the same for the Hessian of a quadratic, with which one step is enough
    # The same for dense rows: steps need 10 to 40 there. Ridge regression on 10,000 x 300 and 6,000
    # x 750 with columns that depend on one another takes 0.45 of the time with 8.
    exact_dense = 40.0

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        rows = problem.rows
        outputs = outputs_of(problem)
        self.n = int(problem.n)
        self.d = int(rows.d)
        self.few_columns = HessianPolicy.suits(problem)
        self.quadratic = bool(problem.loss.quadratic)
        self.entries = float(rows.cost) / self.n  # in a row
        self.sparse = is_sparse(rows)
        self.gram_row = PRICES.gram * self.d**2 + PRICES.touch * self.d
        if self.sparse:  # or laid out densely
            self.gram_row = min(self.gram_row, PRICES.sparse_gram * float(rows.pairs))
        self.step = cost_of_step(problem)
        self.multi_output = outputs > 1
        self.in_memory = not problem.in_parts
        self.samples_first = not (self.quadratic or self.multi_output)
        if not self.sparse:
            self.exact = self.exact_dense
        self.whole_price = self.price_of(self.n)
        self.rows = self._first_rows()
        self.regret = self.step * (self.exact if self.quadratic and self.whole else self.first)
        self.taken = 0
        self.age = 0  # steps since the Hessian was taken
        self.fell = 0.0  # the log of the gradient's norm, in these steps
        self.trial = 0.0  # by how much the first of them made the log of the gradient's norm fall

    @property
    def whole(self) -> bool:
        """Are all rows taken?"""
        return 2 * self.rows >= self.n

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """For problems with at most 2,048 columns."""
        return bool(problem.rows.d <= problem.limits.factor_columns)

    @property
    def before_first_step(self) -> bool:
        """Is the Hessian of all rows of a quadratic computed before the first step?"""
        can = self.few_columns and self.in_memory and not self.multi_output
        return can and self.quadratic and self.whole and self.regret >= self.price_of(self.rows)

    @property
    def every_step(self) -> bool:
        """Does the Hessian of all rows cost no more than a step? Then every step has a fresh one,
        and converges quadratically. (Not if rows are read from a file or from workers.)"""
        cheap = self.in_memory and not self.multi_output and self.whole
        return cheap and self.whole_price <= self.step

    def price_of(self, rows: int) -> float:
        """The price of a Hessian of this many rows, with its factor, in nanoseconds."""
        if 2 * rows >= self.n:
            gram = self.n * self.gram_row
        else:
            gram = rows * (self.gram_row + PRICES.touch * self.entries)
            gram += PRICES.draw + self.sparse * PRICES.squares * self.entries * self.n
        factor = PRICES.factor * self.d**3 / 3.0 + PRICES.square * self.d**2
        return float(gram + factor + PRICES.matrix)

    def _first_rows(self) -> int:
        """All rows if that is cheap, or pays for a quadratic; else 20 d, or as many as cost a
        step."""
        least = min(self.n, self.rows_a_column * self.d)
        most = max(self.price_of(least), self.first * self.step)
        if self.quadratic:
            most = self.price_of(least) + self.exact * self.step
        if self.whole_price <= most:
            return self.n
        one = self.gram_row + PRICES.touch * self.entries
        affordable = (self.step - self.price_of(0)) / max(one, PRICES.touch)  # rows may be empty
        return int(min(self.n, max(least, affordable)))

    def should_refresh(self, gradient_ratio: float, remaining: float = 0.0) -> bool:
        """Compute a Hessian now? ``gradient_ratio``: the gradient's norm over the norm before the
        last step; ``remaining``: the factor by which the norm is still to shrink (0: not known)."""
        if gradient_ratio > 0.0:  # not at the first step
            self.age += 1
            self._count(math.log(gradient_ratio))
        if self.taken and self.quadratic and self.whole:
            return False
        if self.taken > 0 and self.every_step:
            return True
        price = self.price_of(self.rows)
        if self.regret < price:
            return False
        return self.regret >= MOST_LOST * price or self._losses_ahead(remaining) >= price

    def _losses_ahead(self, remaining: float) -> float:
        """What the steps to the end of the run lose at the present pace, in nanoseconds."""
        if not (self.fell < 0.0 < remaining):
            return math.inf
        steps = max(0.0, math.log(remaining) / (self.fell / self.age))
        rate = self.fell / self.age / math.log(self.expected)
        return steps * self.step * (1.0 - rate)

    def _count(self, fell: float) -> None:
        """Count a step that changed the log of the gradient's norm by ``fell``.

        A metric that several outputs share is no Hessian. What it can do is measured by the first
        steps with it, and it is recomputed when later steps are worse.
        """
        self.fell += fell
        if self.multi_output and self.taken and self.age <= TRIAL:
            self.trial += fell / TRIAL
            self.expected = math.exp(min(max(self.trial, math.log(0.15)), math.log(0.95)))
            return
        rate = fell / math.log(self.expected)
        self.regret = max(0.0, self.regret + self.step * (1.0 - rate))

    def on_refresh(self) -> None:
        """Count a Hessian, of four times the rows if the last one was useful for two steps only."""
        if self.taken and self.age <= 2 and not self.multi_output:
            self.rows = min(self.n, 4 * self.rows)
        self.taken += 1
        self.regret = 0.0
        self.age = 0
        self.fell = 0.0
        self.trial = 0.0
        if self.whole and not self.multi_output:
            self.expected = LEFT_BY_HESSIAN

    def begin(self, ridge: Array) -> Metric:
        """The Hessian of the run before on a path, with the penalty of this run."""
        cache = self.problem.handed_on
        if cache is None or cache.hessian is None:
            return Identity()
        return self.known(cache.hessian, ridge)

    def known(self, H: Array, ridge: Array) -> Metric:
        """The metric from a Hessian that was computed elsewhere."""
        self.on_refresh()
        return FactorMetric.of(H, ridge.reshape(-1), 1.0 / self.rows)

    def update(self, view: View) -> Metric | None:
        if not self.should_refresh(view.gradient_ratio, view.goal.remaining):
            return None
        self.on_refresh()
        H = view.hessian(Sample(self.rows, self.taken, self.whole))
        cache = self.problem.handed_on
        if cache is not None and self.in_memory:
            cache.keep(hessian=H)
        return FactorMetric.of(H, view.ridge.reshape(-1), 1.0 / self.rows)

    def state_dict(self) -> dict[str, Array]:
        return record(
            rows=self.rows,
            regret=self.regret,
            taken=self.taken,
            age=self.age,
            fell=self.fell,
            trial=self.trial,
            expected=self.expected,
        )

    def load_state_dict(self, state: dict[str, Array], metric: dict[str, Array]) -> Metric:
        self.rows = int(state["rows"])
        self.regret = float(state["regret"])
        self.taken = int(state["taken"])
        self.age = int(state["age"])
        self.fell = float(state["fell"])
        self.trial = float(state["trial"])
        self.expected = float(state["expected"])
        counted = 1 <= self.rows <= self.n and min(self.taken, self.age) >= 0
        if not (counted and 0.0 < self.expected < 1.0):
            raise ValueError("its metric is not of rows of this problem")
        return super().load_state_dict(state, metric)
