"""The one update on all rows, in variables in which a matrix P is the identity.

    v' = beta v - alpha P^-1 grad f(w + theta v),   w' = w + v'

which is the plain update of u = P^(1/2) w: with P near the Hessian every direction is as steep.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..problems import LinearProblem
from .outer import OuterEngine

NEGLIGIBLE = 1e-10  # of P's mean diagonal, added where P may be singular


class WholeEngine(OuterEngine):
    """Full gradients, and steps in the metric that was set last."""

    def __init__(self, problem: LinearProblem, compiled: bool) -> None:
        super().__init__(problem, problem.n)
        self.sums = None
        if compiled and not self.has_gram:
            from .sums import RowSums

            self.sums = RowSums(problem)

    def row_sum(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        if self.sums is not None:
            return self.sums.everything(at)
        p = self.problem
        z = p.predict(at)
        return float(p.losses(z).sum()), p.combine(p.slopes(z))

    def set_metric(self, P: np.ndarray) -> None:
        level = NEGLIGIBLE * max(float(np.trace(P)) / P.shape[0], 1e-300)
        self.factor = cho_factor(P + level * np.eye(P.shape[0]))

    def step(self, v: np.ndarray, g: np.ndarray, alpha: float, beta: float) -> np.ndarray:
        """v' for the gradient g."""
        return np.asarray(beta * v - alpha * cho_solve(self.factor, g))
