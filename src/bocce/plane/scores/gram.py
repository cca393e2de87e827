"""The plane's scores of a squared loss whose Gram matrix is bought before the first step.

From then on f is a function of d numbers, f(w) = 1/2 w . H w - b . w + c/2, and no row is read
again: steps cost d^2. Sums over many rows are rounded, so a gradient that is had from them is wrong
by a little; ``error`` is a bound on that, and where it is too much the plane goes on with the rows
themselves (``PlaneRun.refresh``), in the metric that H is.
"""

from __future__ import annotations

import math

import numpy as np

from ..._record import record
from ..._types import Array
from ...problems import Problem
from ...rows import Moments
from ..metrics.base import Sample
from .base import EPS, Evaluation, Scores

ROUNDING = 8.0 * EPS  # what the plane takes ``Evaluation.scale`` times


class GramScores(Scores):
    """Scores in which H w stands for X w: of ``w`` and ``D``, which are the plane's own and
    change with it. How far a direction moves the scores is their root mean square here."""

    def __init__(self, problem: Problem, sums: Moments, w: Array, D: Array) -> None:
        self.problem = problem
        self.y = problem.y
        self.n = int(problem.n)
        self.w = w
        self.D = D
        self.sums = sums
        self.ridge = np.asarray(problem.ridge, dtype=np.float64)
        self.U = np.zeros(D.shape)  # H D
        self.product = np.zeros(w.size)  # H w
        self.moved = (np.zeros(w.size), np.zeros(w.size))  # the displacement last tried, H times it

    def start(self, w: Array) -> Evaluation:
        return self.look()

    def look(self) -> Evaluation:
        self.product = self.sums.gram @ self.w
        return self._looked(self.w, self.product)

    def _looked(self, w: Array, product: Array) -> Evaluation:
        sums = self.sums
        value = float(w @ (0.5 * product - sums.moment)) + 0.5 * sums.target2
        # below 0 is rounding, where the data are fitted exactly
        return Evaluation(max(value, 0.0), sums.value_error(w) / ROUNDING, np.zeros(0))

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        np.dot(self.sums.gram, d, out=self.U[slot])
        return _length(d, self.U[slot])

    def scale_direction(self, slot: int, factor: float) -> None:
        self.U[slot] /= factor

    def try_step(self, c: Array) -> Evaluation:
        D = self.D[: c.size]
        U = self.U[: c.size]
        self.moved = c @ D, c @ U
        product = self.product + self.moved[1]
        looked = self._looked(self.w + self.moved[0], product)
        self.max_change = _length(*self.moved)
        return looked._replace(plane_gradient=D @ (product - self.sums.moment))

    def accept(self, slot: int, factor: float) -> None:
        if slot:
            np.divide(self.moved[1], factor, out=self.U[slot])

    def curvature(self, k: int, slot: int | None = None) -> Array:
        if slot is None:
            rest = slice(k)
        else:
            rest = slice(slot, slot + 1)
        return np.asarray(self.D[:k] @ self.U[rest].T)

    def gradient(self) -> Array:
        self.product = self.sums.gram @ self.w
        return np.asarray(self.n * (self.product - self.sums.moment))

    def gradient_error(self) -> Array | None:
        penalty_gradient = np.abs(self.ridge * self.w)
        return np.asarray(self.sums.error(self.w) + 4.0 * EPS * penalty_gradient)

    def hessian(self, sample: Sample) -> Array:
        return np.asarray(self.sums.gram)

    def hessian_diagonal(self) -> Array:
        return np.asarray(self.sums.gram.diagonal())

    def row_curvature(self) -> Array:
        return np.ones(self.n)

    def state_dict(self, k: int) -> dict[str, Array]:
        """What cannot be had from w and D to the last bit, and the sums, which cost a pass."""
        sums = self.sums
        known = {} if sums.near is None else {"near": sums.near}
        return {
            "U": self.U[1:k].copy(),
            "gram": sums.gram,
            "moment": sums.moment,
            **known,
            **record(target2=sums.target2, longest=sums.longest, rough=sums.rough),
        }

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self.U[1 : len(D) + 1] = state["U"]


def _length(d: Array, product: Array) -> float:
    """sqrt(d . H d)."""
    return math.sqrt(max(0.0, float(d @ product)))
