"""A batch objective along its negative gradient: what a line search looks at."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .least_squares import LeastSquares
from .linear import LinearProblem


class Line:
    """s -> f_B(w - s g), g the gradient of f_B at w; the rows are read once."""

    def __init__(self, problem: LinearProblem, w: np.ndarray, rows: np.ndarray) -> None:
        self.problem, self.w, self.rows = problem, w, rows
        self._at = problem.predict(w, rows)
        slopes = problem.slopes(self._at, rows)
        self.gradient = problem.combine(slopes, rows) / rows.size + problem.l2 * w
        self.slope2 = float(self.gradient @ self.gradient)

    @cached_property
    def value(self) -> float:
        """f_B(w)."""
        losses = self.problem.losses(self._at, self.rows)
        return float(losses.mean() + 0.5 * self.problem.l2 * (self.w @ self.w))

    @cached_property
    def _along(self) -> np.ndarray:
        return self.problem.predict(self.gradient, self.rows)

    def decrease(self, s: float) -> float:
        """f_B(w) - f_B(w - s g), by differences so that small decreases keep their digits."""
        l2 = self.problem.l2
        if isinstance(self.problem, LeastSquares):
            curvature = float((self._along**2).mean()) + l2 * self.slope2
            return s * self.slope2 - 0.5 * s**2 * curvature
        before = self.problem.losses(self._at, self.rows)
        after = self.problem.losses(self._at - s * self._along, self.rows)
        ridge = l2 * (s * (self.w @ self.gradient) - 0.5 * s**2 * self.slope2)
        return float((before - after).mean() + ridge)
