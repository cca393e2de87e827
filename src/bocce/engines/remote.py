"""Steps whose gradients come from disk or from other machines."""

from __future__ import annotations

import numpy as np

from ..problems import Look, Problem
from ..rows import Array
from .reference import ReferenceEngine


class RemoteEngine(ReferenceEngine):
    """Holds w, v and the schedule; ``unit_sum`` and ``mean`` fetch sums over rows.

    A batch is m of the problem's M units (rows or blocks), and the gradient is estimated by M/(m n)
    times the sum over their rows. If the squared loss has a Gram matrix, the full gradient needs no
    data, and of a batch of more than half the units only the units left out are fetched.
    """

    def __init__(self, problem: Problem, b: int) -> None:
        self.problem = problem
        self.units = problem.units
        self.taken = problem.units_in(b)
        self.has_gram = problem.has_gram
        self.leave_out = self.has_gram and 2 * self.taken > self.units
        if self.leave_out:
            self.fetched = self.units - self.taken
        else:
            self.fetched = self.taken

    def unit_sum(self, at: Array, k: int) -> Array:
        """Sum of slope_i x_i over the units that step k fetches."""
        raise NotImplementedError

    def mean(self, at: Array) -> tuple[float, Array]:
        """The mean loss and its gradient: here from the Gram matrix."""
        p = self.problem
        product = p.gram @ at
        value = float(0.5 * at @ product - p.moment @ at + 0.5 * p.target2)
        return max(value, 0.0), product - p.moment  # below 0 is rounding of an exact fit

    def look(self, w: Array) -> Look:
        """The objective and its gradient."""
        with np.errstate(over="ignore", invalid="ignore"):
            loss, mean = self.mean(w)
            return Look(loss + self.problem.ridge_value(w), mean + self.problem.ridge * w)

    def batch_gradient(self, at: Array, k: int) -> Array:
        p = self.problem
        if self.fetched:
            total = self.unit_sum(at, k)
        else:
            total = np.zeros(p.width)
        if self.leave_out:
            total = p.n * self.mean(at)[1] - total
        return np.asarray(total * (self.units / (self.taken * p.n)) + p.ridge * at)
