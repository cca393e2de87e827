"""The engine that steps on all rows: the plane, as a run sees it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..problems import Look, Problem
from ..rows import Array
from .base import ANY, Gap, Goal, Recorder, State, StepReport
from .gramscores import error_of
from .plane import Plane
from .small import largest

ROUNDED = 1e-12  # of the largest score
FEW = 20_000  # numbers in X: a pass costs next to nothing
ENOUGH = 1  # displacement, beside a direction that is nearly Newton's


class PlaneEngine:
    """Takes the best steps on a plane, and knows the gradient where a step ends."""

    grain = 1

    def __init__(self, problem: Problem, memory: int, inner: bool = False) -> None:
        self.problem, self.inner = problem, inner
        self.displacements = min(memory, ENOUGH) if inner and len(problem.shape) > 1 else memory
        self.plane: Plane | None = None
        self.fell = np.inf  # f, by the last step
        self.given: Array | None = None  # a copy of the plane's w, handed to the run

    def look(self, w: Array) -> Look:
        """The objective and its full gradient: known where the plane stands, and the first look
        puts it there; elsewhere they take a pass."""
        if self.plane is None:
            self.plane = self._made(w)
        if w is self.given or np.array_equal(self.plane.w, w):
            return Look(self.plane.value, self.plane.gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.problem.look(w)

    def record(self, w: Array, recorder: Recorder) -> str:
        """Keep a measurement at w."""
        return recorder.keep(self.look(w))

    def _made(self, w: Array) -> Plane:
        return Plane(self.problem, w, memory=self.displacements, inner=self.inner)

    def advance(
        self, state: State, steps: Any, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        """Steps state.k .. stop-1; with stop = state.k what is known is computed from w alone, if
        rounding may matter."""
        if self.plane is None or not (
            state.w is self.given or np.array_equal(self.plane.w, state.w)
        ):
            self.plane = self._made(state.w)
        plane, verdict, before = self.plane, "", self.plane.passes
        plane.aim(goal)
        if stop == state.k and (
            goal.tight or self._drifted() or error_of(plane.scores) is not None
        ):
            plane.refresh()
        for _ in range(state.k, stop):
            value = plane.value
            verdict = plane.step().verdict
            self.fell = value - plane.value
            self.given = w = plane.w.copy()
            state.move(w, w - state.w)
            if verdict:
                break
        look = Look(plane.value, plane.gradient)
        return StepReport(verdict, plane.passes - before, look, error_of(plane.scores))

    def _drifted(self) -> bool:
        """May the scores differ from X w by more than what a sum of them is rounded by? It is
        assumed where a pass costs next to nothing, for one huge row can hide more rounding than
        ``drift`` bounds. (Not asked where the scores lie elsewhere.)"""
        assert self.plane is not None
        z = getattr(self.plane.scores, "z", None)
        if not isinstance(z, np.ndarray):
            return False
        return self.problem.rows.cost <= FEW or self.plane.drift > ROUNDED * largest(z)

    def gap(self, enough: float) -> Gap:
        """By Newton's method in the metric, but no less than half of what f fell by the last step
        (a metric may have seen one huge row alone), and all of that where there is no metric. Or
        the bound ||g||^2 / (2 min ridge), where that is at most ``enough``."""
        plane = self.plane
        assert plane is not None
        least, size = float(plane.ridge.min()), plane.norm
        # in this order, for squares of very small and large numbers are none
        if least > 0.0 and (bound := size * (size / (2.0 * least))) <= enough:
            return Gap(bound, True)
        if math.isfinite(estimate := plane.estimated_gap()):
            return Gap(estimate, True)
        if not plane.metric.like_newton:
            return Gap(float(self.fell), False)
        by_metric = 0.5 * float(np.vdot(plane.gradient, plane.metric.solve(plane.gradient)))
        estimate = by_metric if plane.quadratic else max(by_metric, 0.5 * float(self.fell))
        return Gap(estimate, plane.newton is None)

    def state_dict(self) -> dict[str, Array]:
        """What a checkpoint needs beside the state to go on bit for bit: before the first step w
        says everything."""
        return {} if self.plane is None or self.plane.k == 0 else self.plane.state()

    def load_state_dict(self, state: dict[str, Array]) -> None:
        """Go on from a checkpoint, before the run says what the next step is for."""
        if state:
            self.plane = Plane.from_state(self.problem, state)
