"""The one update, to be read: every other engine and adapter is compared with this one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import sampling
from ..problems import Line, Look, Problem
from ..rows import Array, Index
from ..schedules import Schedule
from .base import Recorder, State, norm2


class ReferenceEngine:
    """Takes steps with NumPy, one batch gradient at a time; also the one that asks policies."""

    grain = 1  # a run may be cut after any step

    def __init__(self, problem: Problem, b: int, seed: int, mode: str) -> None:
        self.problem, self.b, self.seed, self.mode = problem, b, seed, mode

    def look(self, w: Array) -> Look:
        """The objective and its full gradient."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.problem.look(w)

    def advance(self, state: State, steps: Any, stop: int, recorder: Recorder) -> str:
        """Steps state.k .. stop-1; returns "", "diverged" or "converged"."""
        p = self.problem
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(state.k, stop):
                w, v = state.w, state.v
                if recorder.due(k) and (verdict := recorder.keep(self.look(w))):
                    return verdict
                units = sampling.batch(self.seed, k, p.units, p.units_in(self.b), self.mode)
                alpha, beta, theta = self._decide(state, steps, units)
                g = p.batch_gradient(w + theta * v, units)
                if not math.isfinite(norm2(g, recorder.unit)):
                    return "diverged"
                v = beta * v - alpha * g
                state.move(w + v, v)
        return ""

    def _decide(self, state: State, steps: Any, units: Index) -> tuple[float, float, float]:
        """A schedule knows its three numbers; a policy looks at the batch first."""
        row = state.row
        if isinstance(steps, Schedule):
            return steps.alpha[row], steps.beta[row], steps.theta[row]

        def look(search: str) -> Line:
            if search == "independent":
                units_ = sampling.search_batch(self.seed, state.k, self.problem.n, self.b)
                return Line(self.problem, state.w, units_)
            return Line(self.problem, state.w, units)

        memory = tuple(state.memory.get("policy", steps.begin()))
        (alpha, beta, theta), memory = steps.decide(row, memory, look)
        state.memory["policy"] = np.array(memory)
        return alpha, beta, theta
