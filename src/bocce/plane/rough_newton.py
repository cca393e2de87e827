"""Newton's steps at full length: for models that are only to be scored, near where they begin.

A step on the plane keeps the scores of several directions and searches among them. The model of a
fold, one of many and not exact, needs none of this: cross-validation of abalone in 12 classes takes
1.3 times as long on the plane, and of 3,000 x 64 with 25 classes 1.5 times (benchmarks/ablate.py).
"""

from __future__ import annotations

import math

import numpy as np

from .._record import joined, part_of, record
from .._types import Array
from ..engines.base import Goal
from ..problems import Problem
from .linalg import norm
from .metrics.newton_cg import NewtonPolicy
from .newton import Newton, NewtonPoint

SURE = 10.0  # Within this many times the allowed gap, a step at full length gets there.
ROUGH = 1e-6  # A fall of f below this share of f is not seen in float32.


class RoughNewton(Newton):
    """Steps in the directions of ``NewtonPolicy``, whose problems they are for.

    Value and gradient are computed with the policy's rows, which may be in single precision.
    """

    most_steps = 6
    halves = False

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem
        self.policy = NewtonPolicy(problem)
        self.size = math.inf  # the gradient's norm before the last step

    def look(self, w: Array) -> NewtonPoint:
        p = self.problem
        rows = self.policy.products.rows
        here = w.astype(rows.dtype)
        z = np.empty((p.n, p.shape[1]), dtype=here.dtype)
        total = 0.0
        g = np.zeros(p.shape)
        for part in rows.parts:
            place = part.place
            x = rows.of_part(part)
            z[place] = x.times(here)
            value, slope, _ = p.loss.value_slope_bend(z[place], p.y[place])
            if p.weight is not None:
                value = value * p.weight[place]
                slope *= p.weight[place, None].astype(slope.dtype)
            total += float(value.sum(dtype=np.float64))
            g += x.combine(slope)
        gradient = g / p.n + p.penalty_gradient(w)
        return NewtonPoint(w, total / p.n + p.ridge_value(w), 0.0, gradient, z)

    def step(self, at: NewtonPoint, goal: Goal) -> NewtonPoint | None:
        policy = self.policy
        too_rough = policy.products.rows.rough and goal.gap < ROUGH * at.value
        if too_rough:
            return None
        policy.prepare(goal, at.scores.__getitem__)
        self.gap = policy.still_to_fall(at.gradient)
        size = norm(at.gradient)
        there = self.look(at.w - policy.solve(at.gradient, at.scores.__getitem__, size / self.size))
        if not there.value <= at.value:
            return None
        self.size = size
        self.taken += 1
        return there

    def gap_at(self, at: NewtonPoint, fell: float, enough: float) -> float | None:
        """Before the first step the metric of the run before on a path may tell. A step at full
        length from nearby leaves next to nothing."""
        if self.gap <= SURE * enough:
            return self.gap / SURE
        self.policy.precondition(at.scores.__getitem__)
        return self.policy.still_to_fall(at.gradient)

    def state_dict(self) -> dict[str, Array]:
        own = record(taken=self.taken, gap=self.gap, size=self.size)
        return own | joined(policy=self.policy.state_dict())

    def load_state_dict(self, state: dict[str, Array]) -> None:
        self.taken = int(state["taken"])
        self.gap = float(state["gap"])
        self.size = float(state["size"])
        self.policy.load_state_dict(part_of(state, "policy"), {})
