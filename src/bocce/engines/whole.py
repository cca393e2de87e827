"""The engine that steps on all rows: the plane, as a run sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problems import Look, Problem
from ..rows import Array
from .base import Recorder, State
from .gramscores import error_of
from .plane import Plane
from .small import largest

ROUNDED = 1e-12  # of the largest score
FEW = 20_000  # numbers in X: a pass costs next to nothing
ENOUGH = 1  # displacement, beside a direction that is nearly Newton's


class PlaneEngine:
    """Takes the best steps on a plane; a look at where it stands is ``free``."""

    grain = 1
    free = True

    def __init__(self, problem: Problem, memory: int, inner: bool = False) -> None:
        self.problem, self.inner = problem, inner
        self.displacements = min(memory, ENOUGH) if inner and len(problem.shape) > 1 else memory
        self.plane: Plane | None = None
        self.fell = np.inf  # f, by the last step
        self.given: Array | None = None  # a copy of the plane's w, handed to the run

    def look(self, w: Array) -> Look:
        """The objective and its full gradient, which the plane replaces and never writes to."""
        plane = self._at(w)
        return Look(plane.value, plane.gradient)

    def _at(self, w: Array) -> Plane:
        """The plane at w: the one at hand, or a new one."""
        if self.plane is not None and w is self.given:
            return self.plane
        if self.plane is None or not np.array_equal(self.plane.w, w):
            self.plane = Plane(self.problem, w, memory=self.displacements, inner=self.inner)
        return self.plane

    def advance(self, state: State, steps: Any, stop: int, recorder: Recorder) -> str:
        """Steps state.k .. stop-1; returns "", "stalled" or "unbounded"."""
        plane = self._at(state.w)
        for _ in range(state.k, stop):
            before = plane.value
            taken = plane.step()
            self.fell = before - plane.value
            self.given = w = plane.w.copy()
            state.move(w, w - state.w)
            if taken.verdict:
                return taken.verdict
        return ""

    def aim(self, wanted: float, left: int, fall: float = 0.0) -> None:
        """How small a gradient is small enough, how many passes may still be made, and how far f
        may be left above its minimum."""
        if self.plane is not None and (newton := self.plane.newton) is not None:
            newton.wanted, newton.left, newton.fall = wanted, left, fall

    @property
    def inner_passes(self) -> int:
        """Passes so far within steps, beside the one of each."""
        newton = None if self.plane is None else self.plane.newton
        return 0 if newton is None else newton.iterations

    @property
    def error(self) -> Array | None:
        """A bound on what is wrong with the gradient that ``look`` gives, an entry each; None where
        it is computed from the rows themselves."""
        return None if self.plane is None else error_of(self.plane.scores)

    def verify(self) -> None:
        """Compute all that is known of the point from w alone: scores gather rounding."""
        assert self.plane is not None
        self.plane.refresh()

    @property
    def drifted(self) -> bool:
        """May the scores differ from X w by more than what a sum of them is rounded by? It is
        assumed where a pass costs next to nothing, for one huge row can hide more rounding than
        ``drift`` bounds. (Not asked where the scores lie elsewhere.)"""
        z = None if self.plane is None else getattr(self.plane.scores, "z", None)
        if self.plane is None or not isinstance(z, np.ndarray):
            return False
        few = self.problem.rows.cost <= FEW
        return few or self.plane.drift > ROUNDED * largest(z)

    def still_to_fall(self, enough: float = 0.0) -> float:
        """About how far f is above its minimum: by Newton's method in the metric, but no less than
        half of what it fell by the last step (a metric may have seen one huge row alone), and all
        of that where there is no metric. Or a bound: ||g||^2 / (2 min ridge), where that is at
        most ``enough``."""
        assert self.plane is not None
        least, size = float(self.plane.ridge.min()), self.plane.norm
        # in this order, for squares of very small and large numbers are none
        if least > 0.0 and (bound := size * (size / (2.0 * least))) <= enough:
            return bound
        g = self.plane.gradient
        if not self.plane.metric.like_newton:
            return float(self.fell)
        by_metric = 0.5 * float(np.vdot(g, self.plane.metric.solve(g)))
        return by_metric if self.plane.quadratic else max(by_metric, 0.5 * float(self.fell))

    def near(self, fall: float) -> bool:
        """Has f less than this to fall? Not known (no) where there is no metric."""
        plane = self.plane
        assert plane is not None
        if plane.newton is not None:
            plane.metric = plane.newton.metric(plane.scores.z, plane.metric)
            return plane.newton.still_to_fall(plane.gradient, plane.metric) <= fall
        return plane.metric.like_newton and self.still_to_fall() <= fall

    def restore(self, state: State) -> None:
        """Go on from a checkpoint, before the run says what the next step is for."""
        if state.memory:
            self.plane = Plane.from_state(self.problem, state.memory)
            state.memory = {}

    def memory(self, state: State) -> dict[str, Array]:
        """What a checkpoint needs beside the state to go on bit for bit."""
        plane = self.plane
        if plane is None or plane.k == 0 or not np.array_equal(plane.w, state.w):
            return {}  # before the first step w says everything
        return plane.state()
