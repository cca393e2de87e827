"""The scores of rows in memory."""

from __future__ import annotations

import numpy as np

from ..._types import Array
from ...problems import Problem
from ..evaluate import Evaluation, RowwiseLoss, infimum
from ..linalg import largest
from ..metrics.base import Sample
from .sampled import hessian_of

EPS = float(np.finfo(np.float64).eps)


class MemoryScores:
    """z = X w, U = X D (a row a direction), and the point z + c U that was last tried."""

    eps = EPS

    def __init__(self, problem: Problem, memory: int, outputs: tuple[int, ...]) -> None:
        shape = (int(problem.n), *outputs)
        self.rows, self.loss = problem.rows, RowwiseLoss(problem, shape)
        self.z, self.other, self.moved = np.empty(shape), np.empty(shape), np.empty(shape)
        self.U = np.zeros((memory + 1, *shape))

    def start(self, w: Array) -> Evaluation:
        """z = X w, and a look there."""
        self.z[...] = self.rows.times(w) if w.any() else 0.0
        return self.look()

    def look(self) -> Evaluation:
        """The loss and its derivatives at z."""
        return self.loss.look(self.z)

    def first_direction(self) -> Array | None:
        """Where to go first, if that is known before any step: then also in which metric next."""
        return None

    def predicts_gradient(self, trusted: bool) -> bool:
        """Does ``aim`` take the gradient at the end of the step as well, so that going there costs
        no product of its own? ``trusted``: would the last such step have been right?"""
        return False

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        """U[slot] = X d; returns its largest entry. ``likely_step``: the multiple of d that will
        most likely be taken (0: nobody knows)."""
        self.U[slot] = self.rows.times(d)
        return largest(self.U[slot])

    def scale_direction(self, slot: int, factor: float) -> None:
        """Divide U[slot]."""
        self.U[slot] /= factor

    def try_step(self, c: Array) -> Evaluation:
        """The loss, its derivatives and its gradient in c at z + c U."""
        return self.loss.move(self.z, self.U[: c.size], c, self.moved, self.other)

    @property
    def max_change(self) -> float:
        """The largest entry of c U where last was tried."""
        return largest(self.moved)

    def accept(self, slot: int, factor: float) -> None:
        """Go to the point last tried, and U[slot] = c U / factor unless slot is 0."""
        self.z, self.other = self.other, self.z
        if slot:
            np.divide(self.moved, factor, out=self.U[slot])

    def curvature(self, k: int, slot: int | None = None) -> Array:
        """U diag(bend) U^T / n of the first k directions where last was looked, or its column."""
        U = self.U[:k]
        return self.loss.gram(U, U if slot is None else self.U[slot : slot + 1])

    def infimum(self) -> float:
        """A number that the mean loss cannot fall below."""
        return infimum(self.loss.loss, self.loss.y, self.loss.weight)

    def gradient(self) -> Array:
        """X^T slope, where last was looked."""
        return np.asarray(self.rows.combine(self.loss.slope), dtype=np.float64)

    def gradient_error(self) -> Array | None:
        """Nothing beyond the rounding of sums."""
        return None

    def row_curvature(self) -> Array:
        """c_i loss''_i where last was looked; with several outputs the mean over them."""
        return self.loss.row_bends()

    def hessian(self, sample: Sample) -> Array:
        """sum_i c_i loss''_i x_i x_i^T / n, where last was looked."""
        return hessian_of(self.rows, self.row_curvature(), sample)

    def max_score(self) -> float:
        """The largest |x_i . w|."""
        return largest(self.z)

    def hessian_diagonal(self) -> Array:
        """The diagonal of X^T diag(bend) X / n, where last was looked."""
        return np.asarray(self.rows.squares(self.row_curvature()))

    def state_dict(self, k: int) -> dict[str, Array]:
        """What cannot be had from w and D to the last bit."""
        return {"z": self.z.copy(), "U": self.U[1:k].copy()}

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self.z[...] = state["z"]
        self.U[1 : len(D) + 1] = state["U"]
