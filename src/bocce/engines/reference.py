"""The one update, to be read: every other engine and adapter is compared with this one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import sampling
from ..control import RunVerdict
from ..problems import Line, Problem
from ..rows import Array, Index
from ..schedules import Schedule
from .base import ANY, Goal, Recorder, State, StepReport, TableEngine, norm2


class ReferenceEngine(TableEngine):
    """Takes steps with NumPy, one batch gradient at a time; also the engine that asks policies."""

    def __init__(self, problem: Problem, b: int, seed: int, mode: str) -> None:
        self.problem = problem
        self.b = b
        self.seed = seed
        self.mode = mode

    def advance(
        self, state: State, steps: Any, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(state.k, stop):
                w = state.w
                v = state.v
                if recorder.due(k) and (verdict := recorder.keep(self.look(w))):
                    return StepReport(verdict)
                alpha, beta, theta = self._decide(state, steps)
                g = self.batch_gradient(w + theta * v, k)
                if not math.isfinite(norm2(g, recorder.unit)):
                    return StepReport(RunVerdict.DIVERGED)
                v = beta * v - alpha * g
                state.move(w + v, v)
        return StepReport()

    def batch(self, k: int) -> Index:
        """The rows, or the parts of a file, that step k takes."""
        p = self.problem
        return sampling.batch(self.seed, k, p.units, p.units_in(self.b), self.mode)

    def batch_gradient(self, at: Array, k: int) -> Array:
        """The gradient that step k takes."""
        return self.problem.batch_gradient(at, self.batch(k))

    def _decide(self, state: State, steps: Any) -> tuple[float, float, float]:
        """A schedule knows its three numbers; a policy looks at the batch first."""
        row = state.row
        if isinstance(steps, Schedule):
            return steps.alpha[row], steps.beta[row], steps.theta[row]

        def look(search: str) -> Line:
            if search == "independent":
                units = sampling.search_batch(self.seed, state.k, self.problem.n, self.b)
            else:
                units = self.batch(state.k)
            return Line(self.problem, state.w, units)

        memory = tuple(state.memory.get("policy", steps.begin()))
        (alpha, beta, theta), memory = steps.decide(row, memory, look)
        state.memory["policy"] = np.array(memory)
        return alpha, beta, theta
