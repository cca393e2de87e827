"""The one update, to be read: every other engine and adapter is compared with this one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import sampling
from ..problems import Line, LinearProblem
from ..schedules import Schedule
from .state import Recorder, State


class ReferenceEngine:
    """Takes steps with NumPy, one batch gradient at a time; also the one that asks policies."""

    grain = 1  # a run may be cut after any step

    def __init__(self, problem: LinearProblem, b: int, seed: int, mode: str) -> None:
        self.problem, self.b, self.seed, self.mode = problem, b, seed, mode

    def look(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its full gradient."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.problem.value(w), self.problem.gradient(w)

    def measure(self, w: np.ndarray) -> tuple[float, float]:
        """The objective and the squared norm of its full gradient."""
        value, g = self.look(w)
        with np.errstate(over="ignore", invalid="ignore"):
            return value, float(g @ g)

    def advance(self, state: State, method: Any, stop: int, recorder: Recorder) -> str:
        """Steps state.k .. stop-1; returns "", "diverged" or "converged"."""
        w, v = state.w, state.v
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(state.k, stop):
                if recorder.due(k) and (verdict := recorder.keep(*self.measure(w))):
                    return verdict
                rows = sampling.batch(
                    self.seed, k, self.problem.units, self.problem.units_in(self.b), self.mode
                )
                alpha, beta, theta = self._decide(state, method, rows)
                g = self.problem.batch_gradient(w + theta * v, rows)
                if not np.isfinite(g @ g):
                    return "diverged"
                v = beta * v - alpha * g
                w = w + v
                state.move(w, v)
        return ""

    def _decide(self, state: State, method: Any, rows: np.ndarray) -> tuple[float, float, float]:
        """A schedule knows its three numbers; a policy looks at the batch first."""
        k = state.k
        if isinstance(method, Schedule):
            return method.alpha[k], method.beta[k], method.theta[k]

        def look(search: str) -> Line:
            if search == "independent":
                others = sampling.search_batch(self.seed, k, self.problem.n, self.b)
                return Line(self.problem, state.w, others)
            return Line(self.problem, state.w, rows)

        three, state.memory = method.decide(k, state.memory, look)
        return three
