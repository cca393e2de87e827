"""A batch objective along its negative gradient: what a line search looks at."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..rows import Array, Index
from .problem import Problem


class Line:
    """The objective of a batch along its negative gradient: s -> f_B(w - s g); rows are read once.

    Parameters
    ----------
    problem : Problem
        The problem.
    w, rows : ndarray
        The point, and the numbers of the rows of the batch.
    """

    def __init__(self, problem: Problem, w: Array, rows: Index) -> None:
        self.problem = problem
        self.w = w
        self.rows = rows
        self._at = problem.predict(w, rows)
        slopes = problem.slopes(self._at, rows)
        self.gradient = problem.combine(slopes, rows) / rows.size + problem.penalty_gradient(w)
        self.slope2 = float(np.vdot(self.gradient, self.gradient))

    @cached_property
    def value(self) -> float:
        """f_B(w)."""
        losses = self.problem.losses(self._at, self.rows)
        return float(losses.mean()) + self.problem.ridge_value(self.w)

    @cached_property
    def _along(self) -> Array:
        return self.problem.rows.times(self.gradient, self.rows)

    def decrease(self, s: float) -> float:
        """f_B(w) - f_B(w - s g), by differences so that small decreases keep their digits.

        Parameters
        ----------
        s : float
            The step.

        Returns
        -------
        float
        """
        p = self.problem
        g = self.gradient
        if p.loss.quadratic:
            bend = float(p.weighted(self._along**2, self.rows).mean()) + (p.ridge * g) @ g
            return float(s * self.slope2 - 0.5 * s**2 * bend)
        before = p.losses(self._at, self.rows)
        after = p.losses(self._at - s * self._along, self.rows)
        by_penalty = s * np.vdot(p.penalty_gradient(self.w), g) - 0.5 * s**2 * np.vdot(
            p.penalty_gradient(g), g
        )
        return float((before - after).mean() + by_penalty)
