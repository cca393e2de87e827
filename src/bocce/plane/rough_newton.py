"""Newton's steps at full length: for models that are only to be scored, near where they begin.

A run on the plane keeps scores of several directions, searches among them and can be stopped and
gone on with; a model of a fold, one of many and not to be exact, needs nothing of it. Where a step
does not do what Newton's should, there is no answer, and the plane is asked.
"""

from __future__ import annotations

import math

import numpy as np

from .._types import Array
from ..engines.base import Goal
from ..problems import Problem
from .linalg import norm
from .metrics.base import Metric
from .metrics.factor import Identity
from .metrics.newton_cg import MOST, Newton, NewtonPolicy

STEPS = 6  # at most
SURE = 10.0  # times what f may be left with: from there one step more does it, without a look
ROUGH = 1e-6  # of f: a smaller fall is not seen in float32


class RoughNewton:
    """f(w) = 1/n sum_i c_i loss(x_i . w, y_i) + 1/2 sum_j ridge_j w_j^2 with several outputs, by
    the rows as ``Newton`` has them."""

    def __init__(self, problem: Problem, shape: tuple[int, ...]) -> None:
        self.problem, self.shape = problem, shape
        self.ridge = np.asarray(problem.ridge, dtype=np.float64).reshape(-1, 1)
        self.newton = Newton(problem, shape[1], self.ridge)
        self.rows = self.newton.products.rows

    @staticmethod
    def supports(problem: Problem) -> bool:
        """Where Newton's directions are taken."""
        return NewtonPolicy.suits(problem)

    def minimiser(self, w: Array, fall: float) -> Array | None:
        """Where f is at most about ``fall`` above its minimum, from w; None where that is not near
        enough for Newton's method, or not within the precision of the rows."""
        metric: Metric = Identity()
        before, shrank = math.inf, math.nan
        size = math.inf
        for _ in range(STEPS):
            f, g, z = self._look(w)
            if not f <= before or (self.rows.rough and fall < ROUGH * f):
                return None
            metric = self.newton.metric(z.__getitem__, metric)
            left = self.newton.still_to_fall(g, metric)
            if left <= fall:
                return w
            before, shrank, size = f, norm(g) / size, norm(g)
            self.newton.aim(Goal(gap=fall, passes=MOST))
            w = w - self.newton.solve(g, z.__getitem__, metric, shrank)
            if left <= SURE * fall:
                return w
        return None

    def _look(self, w: Array) -> tuple[float, Array, Array]:
        """f, its gradient, and the scores."""
        p, here = self.problem, w.astype(self.rows.dtype)
        z = np.empty((p.n, self.shape[1]), dtype=here.dtype)
        total, g = 0.0, np.zeros(self.shape)
        for part in self.rows.parts:
            rows, x = part.place, self.rows.of_part(part)
            z[rows] = x.times(here)
            value, slope, _ = p.loss.value_slope_bend(z[rows], p.y[rows])
            if p.weight is not None:
                value = value * p.weight[rows]
                slope *= p.weight[rows, None].astype(slope.dtype)
            total += float(value.sum(dtype=np.float64))
            g += x.combine(slope)
        pull = self.ridge * w
        return total / p.n + 0.5 * float(np.vdot(w, pull)), g / p.n + pull, z
