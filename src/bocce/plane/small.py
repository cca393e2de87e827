"""Newton's method for small data: the steps of ``NewtonEngine``.

A step is the Newton step with the Hessian of all variables, those of several outputs too. The
Hessian is kept for further steps while these are cheaper than a new Hessian. With fewer rows than
columns a factor of n x n numbers stands for the Hessian (``RowSpacePolicy``). Where f does not fall
there is no answer, and the engine goes on with the plane.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._record import record
from .._types import Array
from ..engines.base import ANY, Goal
from ..problems import Problem
from ..rows import Dense
from .linalg import falls, norm
from .metrics.base import PRICES, Metric
from .metrics.factor import FactorMetric, StackedMetric
from .metrics.hessian_operator import curvature_of
from .metrics.rowspace import RowSpacePolicy
from .newton import Newton, NewtonPoint

EPS = float(np.finfo(np.float64).eps)
ROUNDING = 8.0  # The mean of n values is wrong by at most this many units in the last place.


@dataclass(frozen=True)
class SmallLimits:
    """When to give up, and what an evaluation of f and its gradient costs.

    Attributes
    ----------
    price : float
        Nanoseconds that a Hessian and its factor may take (see ``Prices``).
    steps, halvings : int
        The most steps of a run, and the most halvings of one step.
    call, score, product : float
        Nanoseconds of an evaluation in Python, for each score, and for each multiplication with X
        in the cache, measured with benchmarks/small.py.
    """

    price: float = 7e5
    steps: int = 25
    halvings: int = 4
    call: float = 4e4
    score: float = 8.0
    product: float = 0.2


LIMITS = SmallLimits()


def hessian_price(problem: Problem) -> float:
    """Nanoseconds of a Hessian of all variables and its Cholesky factor."""
    count = float(problem.n)
    variables = float(math.prod(problem.shape))
    products = PRICES.gram * variables * count + PRICES.factor * variables**2 / 3.0
    return (products + PRICES.touch * count + PRICES.square * variables) * variables


def row_space(problem: Problem) -> RowSpacePolicy | None:
    """The metric with a factor of n x n numbers, where there is one for the problem. Logistic fits
    of 40 x 7,000 to 150 x 200 take 0.3 to 0.97 of the plane's time. (Huber's loss and the quantile
    loss have rows without curvature: there the plane takes 0.8 to 0.9 of the time.)"""
    suits = problem.loss.model == "likelihood" and RowSpacePolicy.suits(problem)
    if suits:
        return RowSpacePolicy(problem)
    return None


def look_price(problem: Problem, limits: SmallLimits) -> float:
    """Nanoseconds of f and its gradient."""
    scores = float(problem.n) * math.prod(problem.shape[1:])
    return limits.call + scores * (limits.score + limits.product * problem.shape[0])


SmallMetric = Metric | StackedMetric


class SmallNewton(Newton):
    """Minimises f(w) = 1/n sum_i c_i loss(x_i . w, y_i) + 1/2 sum_j ridge_j w_j^2.

    Parameters
    ----------
    problem : of dense rows in memory; see ``suits``.
    limits : when to give up.

    >>> p = Problem(np.array([[2.0], [1.0], [1.0]]), [1, 0, 1], "logistic", l2=0.1)
    >>> newton = SmallNewton(p)
    >>> at = newton.look(np.zeros(1))
    >>> for _ in range(8):
    ...     at = newton.step(at)
    >>> bool(abs(at.gradient[0]) < 1e-12)
    True
    """

    def __init__(self, problem: Problem, limits: SmallLimits = LIMITS) -> None:
        super().__init__()
        self.problem = problem
        self.limits = limits
        self.most_steps = limits.steps
        if len(problem.shape) > 1:
            self.outputs = problem.shape[1]
        else:
            self.outputs = 1
        self.several = len(problem.shape) > 1
        self.ridges = np.broadcast_to(np.asarray(problem.ridge, dtype=np.float64), problem.width)
        if self.several:
            self.ridge = self.ridges[:, None]
        else:
            self.ridge = self.ridges
        # A softmax without a ridge does not change when all classes get the same number more.
        self.free = problem.loss.shift_invariant & (self.ridge == 0.0)
        self.row_space = row_space(problem)
        price = hessian_price(problem)
        if self.row_space is not None:  # later Hessians need a factor in float32, and no product
            price = PRICES.factor * problem.n**3 / 6.0
        self.relative_price = price / look_price(problem, limits)
        self.metric: SmallMetric | None = None
        self.metric_at = np.zeros(0)  # the point where the metric is the Hessian
        self.known: tuple[NewtonPoint, Array] | None = None  # the direction at a point
        self.steps = 0  # since the last Hessian
        self.size = math.inf  # the gradient's norm after the first of these steps
        self.rate = math.inf  # by how much each of these steps multiplied the gradient's norm

    @cached_property
    def X(self) -> Array:
        return np.asarray(self.problem.rows.X, dtype=np.float64)

    @cached_property
    def columns(self) -> Array:
        """X, column by column."""
        return np.ascontiguousarray(self.X.T)

    @cached_property
    def scaled_columns(self) -> Array:
        """Memory for the columns times one number a row."""
        return np.empty_like(self.columns)

    @staticmethod
    def suits(problem: Problem, limits: SmallLimits = LIMITS) -> bool:
        """Are the rows dense, in memory and so few that a Hessian costs next to nothing, and does a
        penalty or the loss keep w from running away?"""
        bounded = problem.loss.attains_minimum or bool((problem.ridges[: problem.d] > 0.0).all())
        if problem.in_parts or problem.rows.storage != Dense.storage or not bounded:
            return False
        if (in_rows := row_space(problem)) is not None:
            return in_rows.first_price <= limits.price
        return hessian_price(problem) <= limits.price

    def look(self, w: Array) -> NewtonPoint:
        p = self.problem
        z = p.shifted(self.X @ w)
        value, slope, bend = p.loss.value_slope_bend(z, p.y)
        if p.weight is not None:
            value = value * p.weight
            slope = (slope.T * p.weight).T
            bend = bend if bend is None else bend * p.weight
        penalty_gradient = self.ridge * w
        mean = float(np.add.reduce(value)) / p.n
        penalty = 0.5 * float(np.vdot(w, penalty_gradient))
        size = float(np.abs(value).sum()) + math.sqrt(float(np.vdot(slope, slope) * np.vdot(z, z)))
        slack = ROUNDING * EPS * (size / p.n + penalty)
        gradient = self.X.T @ slope
        gradient /= p.n
        gradient += penalty_gradient
        return NewtonPoint(w, mean + penalty, slack, gradient, z, bend)

    def step(self, at: NewtonPoint, goal: Goal = ANY) -> NewtonPoint | None:
        """The Newton step from a point, or a part of it; None where f does not fall."""
        remaining = goal.remaining
        if self.gap > 0.0:  # the gradient shrinks as the root of the gap
            remaining = max(remaining, math.sqrt(goal.gap / self.gap))
        if self.metric is None or self._new_hessian_pays(remaining):
            self.metric = self._metric(at)
            self.metric_at = at.w
            self.known = None
            self.steps = 0
        there = self._search(at, self.direction(at))
        if there is None and self.steps > 0:  # f falls along the Newton step, if along any
            self.metric = None
            return self.step(at, goal)
        return there

    def _search(self, at: NewtonPoint, d: Array) -> NewtonPoint | None:
        """The first of w - d, w - d/2, w - d/4, ... where f falls."""
        slope = float(np.vdot(at.gradient, d))
        self.gap = 0.5 * slope
        if not 0.0 < slope < math.inf:
            return None
        t = 1.0
        for _ in range(self.limits.halvings):
            there = self.look(at.w - t * d)
            after = -float(np.vdot(there.gradient, d))
            if falls(there.value - at.value, at.slack, after, -slope):
                self._measure(norm(at.gradient), norm(there.gradient))
                return there
            t *= 0.5
        return None

    def _measure(self, before: float, after: float) -> None:
        """Note by how much a step multiplied the gradient's norm. Of the first step with a Hessian
        the square root counts, because later steps with the same Hessian do less."""
        self.taken += 1
        self.steps += 1
        if self.steps == 1:
            self.size = after
            self.rate = math.sqrt(after / before)
        else:
            self.rate = (after / self.size) ** (1.0 / (self.steps - 1))

    def _new_hessian_pays(self, remaining: float) -> bool:
        """Does the goal cost less with a new Hessian than with the present one?

        Steps with the present Hessian multiply the gradient by ``rate`` each. Newton steps double
        the number of correct digits; one more is needed to get near.
        """
        if self.problem.loss.quadratic:
            return False
        if not self.rate < 1.0:
            return True
        digits = -math.log10(min(max(remaining, EPS), 0.5))
        steps = digits / -math.log10(max(self.rate, EPS))
        newton_steps = 1.0 + math.log2(1.0 + digits)
        return steps > newton_steps + self.relative_price

    def direction(self, at: NewtonPoint) -> Array:
        """H^-1 g, where H is the last Hessian. Of the same point it is computed once."""
        if self.known is None or self.known[0] is not at:
            self.known = (at, self._direction(at))
        return self.known[1]

    def _direction(self, at: NewtonPoint) -> Array:
        assert self.metric is not None
        solved = self.metric.solve(at.gradient)
        if not self.several:
            return solved
        return np.asarray(solved - self.free * solved.mean(axis=1, keepdims=True))

    def _metric(self, at: NewtonPoint) -> SmallMetric:
        """The Hessian at a point, with the ridge, ready to be solved for."""
        if self.row_space is not None:
            return self.row_space.metric(at.bend)
        if not self.several:
            return FactorMetric.of(self.hessian(at), self.ridges)
        return StackedMetric(self.hessian(at), np.tile(self.ridges, self.outputs))

    def _gram(self, c: Array) -> Array:
        """sum_i c_i x_i x_i^T / n."""
        # The product of a matrix with its own transpose takes half the multiplications.
        np.multiply(self.columns, np.sqrt(c / self.problem.n), out=self.scaled_columns)
        return np.asarray(np.dot(self.scaled_columns, self.scaled_columns.T))

    def hessian(self, at: NewtonPoint) -> Array:
        """The Hessian of the loss over all variables, one output after the other."""
        p = self.problem
        if not self.several:
            if p.loss.quadratic:
                return p.gram
            return self._gram(at.bend)
        d, K = p.shape
        times = curvature_of(p.loss, at.scores, p.y, p.weight, np.dtype(np.float64))
        H = np.zeros((K, d, K, d))
        unit = np.zeros((p.n, K))
        # Where only differences of scores count, the blocks of a row of H add up to zero.
        known = p.loss.shift_invariant
        for k in range(1 if known else 0, K):
            unit[:, k] = 1.0
            per_row = times(unit) / p.n
            unit[:, k] = 0.0
            for j in range(k if known else k + 1):
                np.multiply(self.columns, per_row[:, j], out=self.scaled_columns)
                H[k, :, j] = H[j, :, k] = np.dot(self.scaled_columns, self.columns.T)
        if known:
            for k in range(K):
                H[k, :, k] = -H[k].sum(axis=1)
        return H.reshape(d * K, d * K)

    def gap_at(self, at: NewtonPoint, fell: float, enough: float) -> float | None:
        """By the last Hessian, and at least half of ``fell``: the Hessian of a point may know one
        huge row only. Less than the rounding of f counts as nothing."""
        if self.metric is None:
            return None
        if 0.0 <= self.gap <= enough:
            return self.gap
        least = 0.0 if self.problem.loss.quadratic else 0.5 * fell
        if least > max(enough, at.slack):
            return least
        estimate = max(least, 0.5 * float(np.vdot(at.gradient, self.direction(at))))
        if estimate <= at.slack:
            return 0.0
        return estimate

    # -- to stop and go on ---------------------------------------------------------------------

    def state_dict(self) -> dict[str, Array]:
        """All that the next steps depend on. The Hessian is not saved but the point where it was
        computed: it is computed there again."""
        saved = record(
            taken=self.taken, steps=self.steps, size=self.size, rate=self.rate, gap=self.gap
        )
        if self.metric is not None:
            saved["metric_at"] = self.metric_at
        return saved

    def load_state_dict(self, state: dict[str, Array]) -> None:
        """Go on where a run on the same problem was saved."""
        self.taken = int(state["taken"])
        self.steps = int(state["steps"])
        self.size = float(state["size"])
        self.rate = float(state["rate"])
        self.gap = float(state["gap"])
        for name, array in state.items():
            if array.ndim and array.shape != self.problem.shape:
                raise ValueError(f"its array {name!r} has another shape than w")
        if "metric_at" in state:
            self.metric_at = np.array(state["metric_at"], dtype=np.float64)
            self.metric = self._metric(self.look(self.metric_at))


class NewtonBySums(SmallNewton):
    """The same for the squared loss, by the sums over all rows of ``Problem.sums``. What two steps
    leave is the rounding of the sums."""

    def __init__(self, problem: Problem, limits: SmallLimits = LIMITS) -> None:
        super().__init__(problem, limits)
        self.most_steps = 2

    def look(self, w: Array) -> NewtonPoint:
        sums = self.problem.sums
        penalty_gradient = self.ridge * w
        product = sums.gram @ w
        value = max(0.0, float(w @ (0.5 * product - sums.moment)) + 0.5 * sums.target2)
        error = sums.error(w) + 4.0 * EPS * np.abs(penalty_gradient)
        gradient = product - sums.moment + penalty_gradient
        value += 0.5 * float(w @ penalty_gradient)
        return NewtonPoint(w, value, sums.value_error(w), gradient, error=error)

    def hessian(self, at: NewtonPoint) -> Array:
        return self.problem.sums.gram
