"""Newton's method as an engine: small data, and quadratics that are known by their sums.

On a few thousand numbers a step of the plane takes longer to organise than to compute. Where
Newton's method does not get to the goal, the plane takes the further steps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._record import joined, part_of, record
from .._types import Array
from ..control import PlaneSteps, RunVerdict
from ..engines.base import ANY, Engine, Gap, Goal, Recorder, State, StepReport
from ..problems import Look, Problem
from .choose import sums_suffice
from .engine import PlaneEngine
from .metrics.newton_cg import NewtonPolicy, rows_are_even
from .newton import Newton, NewtonPoint
from .rough_newton import RoughNewton
from .small import NewtonBySums, SmallNewton


class NewtonEngine(Engine):
    """Takes Newton steps, and knows the gradient where a step ends.

    Parameters
    ----------
    newton : what takes the steps.
    plane : what goes on where f does not fall along a Newton step.

    Guarantee: f never rises by more than the rounding of its sum.

    >>> p = Problem(np.array([[2.0], [1.0], [1.0]]), [1, 0, 1], "logistic", l2=0.1)
    >>> engine, state = NewtonEngine(SmallNewton(p), PlaneEngine(p, 5)), State.at_rest(np.zeros(1))
    >>> report = engine.advance(state, None, 8, Recorder(np.zeros(0)))
    >>> bool(abs(report.look.gradient[0]) < 1e-12), state.k
    (True, 8)
    """

    def __init__(self, newton: Newton, plane: PlaneEngine) -> None:
        self.newton = newton
        self.plane = plane
        self.plane_steps = False  # Does the plane take the steps?
        self.at: NewtonPoint | None = None
        self.fell = math.inf  # f, by the last step

    def look(self, w: Array) -> Look:
        """The objective and its full gradient: known at the engine's own point (the first look
        sets it)."""
        if self.plane_steps:
            return self.plane.look(w)
        at = self.at
        if at is None:
            at = self._at(w)
        elif w is not at.w and not np.array_equal(w, at.w):
            at = self.newton.look(w)
        return Look(at.value, at.gradient)

    def _at(self, w: Array) -> NewtonPoint:
        """The engine's own point, which is w."""
        if self.at is None or not (w is self.at.w or np.array_equal(w, self.at.w)):
            self.at = self.newton.look(w)
        return self.at

    def advance(
        self, state: State, steps: Any, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        """Steps state.k .. stop-1. With stop = state.k the plane computes value and gradient from
        the rows where only a bound on their error is known here."""
        if self.plane_steps:
            return self.plane.advance(state, steps, stop, recorder, goal)
        at = self._at(state.w)
        if stop == state.k and at.error is not None:
            return self._leave(state, steps, stop, recorder, goal)
        for _ in range(state.k, stop):
            there = self._step(at, goal)
            if there is None:
                return self._leave(state, steps, stop, recorder, goal)
            self.fell = at.value - there.value
            self.at = there
            state.move(there.w, there.w - at.w)
            at = there
        look = Look(at.value, at.gradient)
        return StepReport(RunVerdict.RUNNING, 0, look, at.error, self.newton.halves)

    def _step(self, at: NewtonPoint, goal: Goal) -> NewtonPoint | None:
        """The point after a Newton step; None where the plane is to go on."""
        if self.newton.taken >= self.newton.most_steps:
            return None
        if not at.gradient.any():
            return at
        there = self.newton.step(at, goal)
        if there is None or not math.isfinite(there.value):
            return None
        return there

    def _leave(
        self, state: State, steps: Any, stop: int, recorder: Recorder, goal: Goal
    ) -> StepReport:
        """The plane takes the rest of the steps."""
        self.plane_steps = True
        return self.plane.advance(state, steps, stop, recorder, goal)

    def gap(self, enough: float) -> Gap:
        """As Newton's method says; before the first step it need not know."""
        if self.plane_steps:
            return self.plane.gap(enough)
        assert self.at is not None
        estimate = self.newton.gap_at(self.at, self.fell, enough)
        if estimate is None:
            return Gap(self.fell, False)
        return Gap(estimate, True)

    def state_dict(self) -> dict[str, Array]:
        """What a checkpoint needs beside the state to go on bit for bit; nothing before the first
        step."""
        own = record(plane_steps=self.plane_steps, fell=self.fell)
        if self.plane_steps:
            return own | joined(plane=self.plane.state_dict())
        if self.at is None or self.newton.taken == 0:
            return {}
        return own | {"w": self.at.w} | joined(newton=self.newton.state_dict())

    def load_state_dict(self, state: dict[str, Array]) -> None:
        if not state:
            return
        self.plane_steps = bool(state["plane_steps"])
        self.fell = float(state["fell"])
        if self.plane_steps:
            self.plane.load_state_dict(part_of(state, "plane"))
            return
        with np.errstate(all="ignore"):
            self.at = self.newton.look(np.array(state["w"], dtype=np.float64))
            self.newton.load_state_dict(part_of(state, "newton"))


def engine_for(problem: Problem, steps: PlaneSteps, rough: bool = False) -> Engine:
    """The engine that steps on all rows: by sums over the rows, by Newton's method on small data,
    or the plane. A caller who gives the number of steps, or a metric, gets those of the plane.

    ``rough``: is f to be near its minimum and no more?
    """
    plane = PlaneEngine(problem, steps.memory, steps.inner, steps.metric)
    if not steps.inner or steps.metric != "auto":
        return plane
    if sums_suffice(problem):
        return NewtonEngine(NewtonBySums(problem), plane)
    if SmallNewton.suits(problem):
        return NewtonEngine(SmallNewton(problem), plane)
    if rough and NewtonPolicy.suits(problem) and rows_are_even(problem):
        return NewtonEngine(RoughNewton(problem), plane)
    return plane
