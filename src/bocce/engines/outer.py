"""The one update where gradients come from farther away than memory: disk, or other machines."""

from __future__ import annotations

import numpy as np

from ..problems import LeastSquares, LinearProblem
from ..schedules import Schedule
from .state import Recorder, State


class OuterEngine:
    """Holds w, v and the schedule; ``unit_sum`` and ``row_sum`` fetch sums of row gradients.

    A batch is m of the problem's M units (rows or blocks), and the gradient is estimated by M/(m n)
    times the sum over their rows. Where the squared loss has a Gram matrix the full gradient needs
    no data, and of more than half the units only those left out are fetched.
    """

    grain = 1  # a run may be cut after any step

    def __init__(self, problem: LinearProblem, b: int) -> None:
        self.problem = problem
        self.units, self.taken = problem.units, problem.units_in(b)
        self.has_gram = isinstance(problem, LeastSquares) and problem.gram_fits
        self.leave_out = self.has_gram and 2 * self.taken > self.units
        self.fetched = self.units - self.taken if self.leave_out else self.taken

    def unit_sum(self, at: np.ndarray, k: int) -> np.ndarray:
        """Sum of slope_i x_i over the units that step k fetches."""
        raise NotImplementedError

    def row_sum(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        """Sums over all rows: of the loss, and of slope_i x_i."""
        raise NotImplementedError

    def _whole(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean loss and its gradient."""
        p = self.problem
        if not self.has_gram:
            loss, total = self.row_sum(at)
            return loss / p.n, total / p.n
        product = p.gram @ at
        return float(0.5 * at @ product - p.moment @ at + 0.5 * p.target2), product - p.moment

    def look(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient."""
        with np.errstate(over="ignore", invalid="ignore"):
            loss, mean = self._whole(at)
            return max(loss, 0.0) + self.problem.ridge_value(at), mean + self.problem.ridge * at

    def measure(self, w: np.ndarray) -> tuple[float, float]:
        """The objective and the squared norm of its full gradient."""
        value, g = self.look(w)
        return value, float(g @ g)

    def _batch_gradient(self, at: np.ndarray, k: int) -> np.ndarray:
        p = self.problem
        total = self.unit_sum(at, k) if self.fetched else np.zeros(p.d)
        if self.leave_out:
            total = p.n * self._whole(at)[1] - total
        return total * (self.units / (self.taken * p.n)) + p.ridge * at

    def advance(self, state: State, schedule: Schedule, stop: int, recorder: Recorder) -> str:
        """Steps state.k .. stop-1; returns "", "diverged" or "converged"."""
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(state.k, stop):
                if recorder.due(k) and (verdict := recorder.keep(*self.measure(state.w))):
                    return verdict
                g = self._batch_gradient(state.w + schedule.theta[k] * state.v, k)
                if not np.isfinite(g @ g):
                    return "diverged"
                v = schedule.beta[k] * state.v - schedule.alpha[k] * g
                state.move(state.w + v, v)
        return ""
