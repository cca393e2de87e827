"""What a run on the plane keeps of the rows: the scores of w and of the directions.

All that is as long as the data is here; the plane itself (``plane.py``) asks for sums, which are a
few numbers or d of them. So the rows may as well lie on other machines (``bocce.ray``), and the
plane's own lines are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .fused import Looked, Sweep, infimum
from .metric import Chooser, Metric, sampled_metric
from .small import largest

Array = npt.NDArray[np.float64]


class Scores:
    """z = X w, U = X D (a row a direction), and the point z + c U that was last tried."""

    def __init__(self, problem: Any, memory: int, outputs: tuple[int, ...]) -> None:
        shape = (int(problem.n), *outputs)
        self.rows, self.sweep = problem.rows, Sweep(problem, shape)
        self.z, self.other, self.moved = np.empty(shape), np.empty(shape), np.empty(shape)
        self.U = np.zeros((memory + 1, *shape))

    def start(self, w: Array) -> Looked:
        """z = X w, and a look there."""
        self.z[...] = self.rows.times(w) if w.any() else 0.0
        return self.look()

    def look(self) -> Looked:
        """The loss and its derivatives at z."""
        return self.sweep.look(self.z)

    def first_direction(self) -> Array | None:
        """Where to go first, if that is known before any step: then also in which metric next."""
        return None

    def guesses_on(self, trusted: int) -> bool:
        """Does ``aim`` take the gradient at the end of the step as well, so that going there costs
        no product of its own? ``trusted``: would the last such step have been right?"""
        return False

    def aim(self, slot: int, d: Array, step: float = 0.0) -> float:
        """U[slot] = X d; returns its largest entry. ``step``: the multiple of d that will most
        likely be taken (0: nobody knows)."""
        self.U[slot] = self.rows.times(d)
        return largest(self.U[slot])

    def scale(self, slot: int, far: float) -> None:
        """Divide U[slot]."""
        self.U[slot] /= far

    def move(self, c: Array) -> Looked:
        """The loss, its derivatives and its gradient in c at z + c U."""
        return self.sweep.move(self.z, self.U[: c.size], c, self.moved, self.other)

    @property
    def far(self) -> float:
        """The largest entry of c U where last was tried."""
        return largest(self.moved)

    def keep(self, slot: int, far: float) -> None:
        """Go to the point last tried, and U[slot] = c U / far unless slot is 0."""
        self.z, self.other = self.other, self.z
        if slot:
            np.divide(self.moved, far, out=self.U[slot])

    def gram(self, k: int, slot: int | None = None) -> Array:
        """U diag(bend) U^T / n of the first k directions where last was looked, or its column."""
        U = self.U[:k]
        return self.sweep.gram(U, U if slot is None else self.U[slot : slot + 1])

    def infimum(self) -> float:
        """A number that the mean loss cannot fall below."""
        return infimum(self.sweep.loss, self.sweep.y, self.sweep.weight)

    def gradient(self) -> Array:
        """X^T slope, where last was looked."""
        return np.asarray(self.rows.combine(self.sweep.slope), dtype=np.float64)

    def metric(self, ridge: Array, chooser: Chooser) -> Metric:
        """The Hessian where last was looked, of as many rows as the chooser pays for."""
        return sampled_metric(self.rows, self.sweep.row_bends(), ridge.reshape(-1), chooser)

    def squares(self) -> Array:
        """The diagonal of X^T diag(bend) X / n, where last was looked."""
        return np.asarray(self.rows.squares(self.sweep.row_bends()))

    def state(self, k: int) -> dict[str, Array]:
        """What cannot be had from w and D to the last bit."""
        return {"z": self.z.copy(), "U": self.U[1:k].copy()}

    def restore(self, state: dict[str, Any], w: Array, D: Array) -> None:
        self.z[...] = state["z"]
        self.U[1 : len(D) + 1] = state["U"]


def kind_of_scores(problem: Any) -> Any:
    """Rows that live elsewhere bring their own; rows in a file are read a block at a time, and the
    scores of another library's arrays stay on their device."""
    own = getattr(problem, "scores", None)
    if own is None and getattr(problem, "in_parts", False):
        from .filescores import FileScores

        return FileScores
    if own is None and getattr(problem.rows, "foreign", False):
        from .arrayscores import ArrayScores

        return ArrayScores
    return own or Scores
