"""Newton's method for small data: no driver, no memory, nothing that can be stopped and resumed.

On a few thousand numbers a step of the plane takes longer to organise than to compute. Here a step
is the Newton step with the Hessian of all variables, also of several outputs, where f falls along
it. Where it does not, there is no answer, and the plane is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._types import Array
from ..problems import Problem
from ..rows import Dense
from .linalg import falls, norm
from .metrics.base import PRICES
from .metrics.factor import FactorMetric, Identity
from .metrics.hessian_operator import bender

EPS = float(np.finfo(np.float64).eps)
# With several outputs, a Hessian serves another step if its last one left at most this share of the
# gradient: 1,000 x 20 with five classes takes 0.86 of the time (benchmarks/small.py).
REUSED = 0.05
ROUNDING = 8.0  # A mean is wrong by so many units in the last place.


@dataclass(frozen=True)
class SmallLimits:
    """``price``: nanoseconds that a Newton step may take (see ``Prices``); ``steps`` in all, and
    ``halvings`` of one of them, before the plane is asked."""

    price: float = 7e5
    steps: int = 25
    halvings: int = 4


LIMITS = SmallLimits()


class NewtonPoint(NamedTuple):
    """f at w: its value, rounding error and gradient, and the scores and second derivatives."""

    w: Array
    value: float
    slack: float
    gradient: Array
    scores: Array
    bend: Array


class SmallNewton:
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
        rows = problem.rows
        assert isinstance(rows, Dense)
        self.X = np.asarray(rows.X, dtype=np.float64)
        self.columns = np.ascontiguousarray(self.X.T)
        self.rooted = np.empty_like(self.columns)  # the columns times the roots of the bends
        self.problem, self.limits = problem, limits
        self.outputs = len(problem.shape) > 1
        ridge = np.broadcast_to(np.asarray(problem.ridge, dtype=np.float64), self.X.shape[1])
        self.ridge = ridge.reshape(-1, *(1,) * (len(problem.shape) - 1))
        self.ridges = np.tile(ridge, problem.shape[1]) if self.outputs else ridge
        # In a softmax the mean over classes counts for nothing where there is no ridge.
        self.free = problem.loss.shift_invariant & (self.ridge == 0.0)
        self.metric: FactorMetric | Identity = Identity()
        self.shrank = math.inf  # the gradient's norm after the last step over the one before
        self.gap = math.inf  # what f was above its minimum by before the last step, roughly

    @staticmethod
    def suits(problem: Problem, limits: SmallLimits = LIMITS) -> bool:
        """Dense rows in memory, of which a Hessian costs next to nothing, and no w that could run
        away for want of a penalty?"""
        bounded = problem.l2 > 0.0 or problem.loss.attains_minimum
        if problem.in_parts or not isinstance(problem.rows, Dense) or not bounded:
            return False
        count, variables = float(problem.n), math.prod(problem.shape)
        products = PRICES.gram * variables * count + PRICES.factor * variables**2 / 3.0
        entries = PRICES.touch * count + PRICES.square * variables
        return bool((products + entries) * variables <= limits.price)

    def look(self, w: Array) -> NewtonPoint:
        p, z = self.problem, self.X @ w
        value, slope, bend = p.loss.value_slope_bend(z, p.y)
        if p.weight is not None:
            value, slope = value * p.weight, (slope.T * p.weight).T
            bend = bend if bend is None else bend * p.weight
        pull = self.ridge * w
        mean, penalty = float(np.add.reduce(value)) / p.n, 0.5 * float(np.vdot(w, pull))
        size = float(np.abs(value).sum()) + math.sqrt(float(np.vdot(slope, slope) * np.vdot(z, z)))
        slack = ROUNDING * EPS * (size / p.n + penalty)
        gradient = self.X.T @ slope
        gradient /= p.n
        gradient += pull
        return NewtonPoint(w, mean + penalty, slack, gradient, z, bend)

    def step(self, at: NewtonPoint) -> NewtonPoint | None:
        """The Newton step from a point, or a part of it; None where f does not fall."""
        did_well = self.problem.loss.quadratic or (self.outputs and self.shrank <= REUSED)
        if isinstance(self.metric, Identity) or not did_well:
            self.metric = FactorMetric.of(self.hessian(at), self.ridges)
        d = self.solve(at.gradient)
        slope = float(np.vdot(at.gradient, d))
        self.gap = 0.5 * slope
        if not 0.0 < slope < math.inf:
            return None
        t = 1.0
        for _ in range(self.limits.halvings):
            there = self.look(at.w - t * d)
            after = -float(np.vdot(there.gradient, d))
            if falls(there.value - at.value, at.slack, after, -slope):
                self.shrank = norm(there.gradient) / norm(at.gradient)
                return there
            t *= 0.5
        return None

    def solve(self, g: Array) -> Array:
        """P^-1 g, where P is the Hessian that was last taken."""
        if not self.outputs:
            return self.metric.solve(g)
        d = self.metric.solve(g.T.reshape(-1)).reshape(g.T.shape).T
        return np.asarray(d - self.free * d.mean(axis=1, keepdims=True))

    def hessian(self, at: NewtonPoint) -> Array:
        """Of the loss, over all variables; of several outputs, one after the other."""
        p = self.problem
        if not self.outputs:
            if p.loss.quadratic:
                return p.gram
            # a product with its own transpose takes half the multiplications
            np.multiply(self.columns, np.sqrt(at.bend / p.n), out=self.rooted)
            return np.asarray(np.dot(self.rooted, self.rooted.T))
        d, K = p.shape
        times = bender(p.loss, at.scores, p.y, p.weight, np.dtype(np.float64))
        H, unit = np.zeros((K, d, K, d)), np.zeros((p.n, K))
        # where only differences of scores count, the blocks of a row of H add up to zero
        known = p.loss.shift_invariant
        for k in range(1 if known else 0, K):
            unit[:, k] = 1.0
            bent = times(unit) / p.n
            unit[:, k] = 0.0
            for j in range(k if known else k + 1):
                H[k, :, j] = H[j, :, k] = np.dot(self.columns * bent[:, j], self.columns.T)
        if known:
            for k in range(K):
                H[k, :, k] = -H[k].sum(axis=1)
        return H.reshape(d * K, d * K)

    def still_to_fall(self, at: NewtonPoint, fell: float) -> float:
        """About how far f is above its minimum, where the last step made it fall by so much."""
        return max(0.5 * float(np.vdot(at.gradient, self.solve(at.gradient))), 0.5 * fell)


def minimiser(problem: Problem, w: Array, share: float) -> Array | None:
    """The point, found from w, where f is about a factor ``1 + share`` above its minimum or less.

    None if Newton's method does not get there.
    """
    newton = SmallNewton(problem)
    at = newton.look(w)
    for _ in range(newton.limits.steps):
        there = newton.step(at)
        if there is None:
            return None
        if newton.gap <= share * abs(at.value):
            return there.w
        at = there
    return None
