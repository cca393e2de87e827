"""The engine that steps on all rows: the plane, as a run sees it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._record import joined, part_of, record
from ..control import RunVerdict
from ..engines.base import ANY, Engine, Gap, Goal, Recorder, State, StepReport
from ..problems import Look, Problem
from ..rows import Array
from .choose import Given
from .plane import PlaneRun
from .subspace import LIMITS, PlaneLimits

ROUNDED_SCORES = 1e-12  # Scores may differ from X w by this share of the largest score.
FEW = 20_000  # A pass over at most this many numbers of X costs little beside the rest of a step.
STORED_WITH_NEWTON = 1  # Displacements that are stored beside a direction that is nearly Newton's.


class PlaneEngine(Engine):
    """Takes the best steps on a plane, and knows the gradient where a step ends.

    Parameters
    ----------
    problem : what is minimised.
    memory, inner, metric, limits : as ``PlaneRun`` has them.
    """

    def __init__(
        self,
        problem: Problem,
        memory: int,
        inner: bool = False,
        metric: Given = "auto",
        limits: PlaneLimits = LIMITS,
    ) -> None:
        self.problem = problem
        self.inner = inner
        self.metric = metric
        self.limits = limits
        several = inner and len(problem.shape) > 1
        if several:
            self.displacements = min(memory, STORED_WITH_NEWTON)
        else:
            self.displacements = memory
        self.plane: PlaneRun | None = None
        self.fell = math.inf  # f, by the last step
        self.given: Array | None = None  # a copy of the plane's w, handed to the run

    def look(self, w: Array) -> Look:
        """The objective and its full gradient: known at the plane's own point (the first look
        sets it), computed in a pass elsewhere."""
        if self.plane is not None:
            plane = self.plane
        else:
            plane = self._at(w)
        if w is self.given or np.array_equal(plane.w, w):
            return Look(plane.value, plane.gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.problem.look(w)

    def _at(self, w: Array) -> PlaneRun:
        """The plane at w: the present one, or a new one."""
        known = self.plane is not None and (w is self.given or np.array_equal(self.plane.w, w))
        if self.plane is None or not known:
            self.plane = PlaneRun(
                self.problem, w, memory=self.displacements, metric=self.metric,
                inner=self.inner, limits=self.limits,
            )  # fmt: skip
        return self.plane

    def advance(
        self, state: State, steps: Any, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        """Steps state.k .. stop-1. With stop = state.k, value and gradient are computed from w
        alone if rounding may matter."""
        plane = self._at(state.w)
        verdict = RunVerdict.RUNNING
        before = plane.passes
        if stop == state.k and (goal.tight or self._drifted(plane)):
            plane.refresh()
        for _ in range(state.k, stop):
            value = plane.value
            verdict = plane.step(goal)
            self.fell = value - plane.value
            self.given = w = plane.w.copy()
            state.move(w, w - state.w)
            if verdict:
                break
        look = Look(plane.value, plane.gradient)
        error = plane.scores.gradient_error()
        return StepReport(verdict, plane.passes - before, look, error)

    def _drifted(self, plane: PlaneRun) -> bool:
        """May the gradient be wrong by more than the rounding of its sums? Yes if a pass costs next
        to nothing, because one huge row can hide more rounding than ``drift`` bounds. (No if the
        largest score is not known here.)"""
        if plane.scores.gradient_error() is not None:
            return True
        largest = plane.scores.max_score()
        few = math.isfinite(largest) and self.problem.rows.cost <= FEW
        return few or plane.drift > ROUNDED_SCORES * largest

    def gap(self, enough: float) -> Gap:
        """An estimate by Newton's method, or the bound ||g||^2 / (2 min ridge) if <= enough.

        The estimate is at least half of the fall of f in the last step, because a metric may know
        one huge row only. Without a metric the estimate is the whole fall.
        """
        plane = self.plane
        assert plane is not None
        least = float(plane.ridge.min())
        size = plane.norm
        # in this order, because squares of very small and large numbers underflow and overflow
        if least > 0.0 and (bound := size * (size / (2.0 * least))) <= enough:
            return Gap(bound, True)
        if plane.policy.each_point:
            plane.update_metric()
        estimate = plane.metric.gap(plane.gradient)
        if not math.isfinite(estimate):
            return Gap(float(self.fell), False)
        if plane.quadratic or not plane.metric.newton_like:
            return Gap(estimate, True)
        return Gap(max(estimate, 0.5 * float(self.fell)), True)

    def state_dict(self) -> dict[str, Array]:
        """What a checkpoint needs beside the state to go on bit for bit; nothing before the first
        step."""
        if self.plane is None or self.plane.k == self.plane.stalls == 0:
            return {}
        return record(fell=self.fell) | joined(plane=self.plane.state_dict())

    def load_state_dict(self, state: dict[str, Array]) -> None:
        if not state:
            return
        self.fell = float(state["fell"])
        saved = part_of(state, "plane")
        self.plane = PlaneRun.from_state(self.problem, saved, self.metric, self.inner, self.limits)
