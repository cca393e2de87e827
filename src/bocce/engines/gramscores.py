"""The plane's scores of a squared loss whose Gram matrix is bought before the first step.

From then on f is a function of d numbers, f(w) = 1/2 w . H w - b . w + c/2, and no row is read
again: steps cost d^2. Sums over many rows are rounded, so a gradient that is had from them is wrong
by a little; ``error`` is a bound on that, and where it is too much the plane goes on with the rows
themselves (``Plane.refresh``), in the metric that H is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .fused import Looked
from .metric import Chooser, Metric
from .scores import Scores, kind_of_scores
from .small import norm
from .wide import chooser_of

Array = npt.NDArray[np.float64]

FEW = 20_000  # numbers in X: passes cost less than to go over to scores for the last digits
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)  # what the plane takes ``Looked.size`` times


class GramScores:
    """``Scores`` in which H w stands for X w: of ``w`` and ``D``, which are the plane's own and
    change with it. How far a direction moves the scores is their root mean square here."""

    def __init__(self, problem: Any, w: Array, D: Array) -> None:
        self.n, self.w, self.D, self.sums = int(problem.n), w, D, problem.sums
        self.ridge = np.asarray(problem.ridge, dtype=np.float64)
        self.U = np.zeros(D.shape)  # H D
        self.product = np.zeros(w.size)  # H w
        self.moved = (np.zeros(w.size), np.zeros(w.size))  # the displacement last tried, H times it

    def start(self, w: Array) -> Looked:
        """A look at w."""
        return self.look()

    def look(self) -> Looked:
        self.product = self.sums.gram @ self.w
        return self._looked(self.w, self.product)

    def _looked(self, w: Array, product: Array) -> Looked:
        sums = self.sums
        value = float(w @ (0.5 * product - sums.moment)) + 0.5 * sums.target2
        # below 0 is rounding, where the data are fitted exactly
        return Looked(max(value, 0.0), sums.value_error(w) / ROUNDING, np.zeros(0))

    def first_direction(self) -> Array | None:
        """Nothing is known before the first step."""
        return None

    def guesses_on(self, trusted: int) -> bool:
        return False

    def aim(self, slot: int, d: Array, step: float = 0.0) -> float:
        """U[slot] = H d; returns how far d moves the scores."""
        np.dot(self.sums.gram, d, out=self.U[slot])
        return _length(d, self.U[slot])

    def scale(self, slot: int, far: float) -> None:
        """Divide U[slot]."""
        self.U[slot] /= far

    def move(self, c: Array) -> Looked:
        """f, but for its penalty, and its gradient in c at w + c D."""
        D, U = self.D[: c.size], self.U[: c.size]
        self.moved = c @ D, c @ U
        product = self.product + self.moved[1]
        looked = self._looked(self.w + self.moved[0], product)
        return looked._replace(plane=D @ (product - self.sums.moment))

    @property
    def far(self) -> float:
        """How far what was last tried moves the scores."""
        return _length(*self.moved)

    def keep(self, slot: int, far: float) -> None:
        """Go to the point last tried, and U[slot] = c U / far unless slot is 0."""
        if slot:
            np.divide(self.moved[1], far, out=self.U[slot])

    def gram(self, k: int, slot: int | None = None) -> Array:
        """D^T H D of the first k directions, or its column."""
        rest = slice(k) if slot is None else slice(slot, slot + 1)
        return np.asarray(self.D[:k] @ self.U[rest].T)

    def infimum(self) -> float:
        return 0.0

    def gradient(self) -> Array:
        """X^T slope at w."""
        self.product = self.sums.gram @ self.w
        return np.asarray(self.n * (self.product - self.sums.moment))

    def error(self) -> Array:
        """By how much an entry of the plane's gradient, with the penalty's, may be wrong."""
        pulls = np.abs(self.ridge * self.w)
        return np.asarray(self.sums.error(self.w) + 4.0 * float(np.finfo(float).eps) * pulls)

    def metric(self, ridge: Array, chooser: Chooser) -> Metric:
        """H, which is at hand."""
        chooser.take()
        if chooser.handed_on is not None:
            chooser.handed_on["H"] = self.sums.gram
        return Metric.of(self.sums.gram, ridge, 1.0 / chooser.rows)

    def state(self, k: int) -> dict[str, Array]:
        """What cannot be had from w and D to the last bit, and the sums, which cost a pass."""
        sums = self.sums
        return {
            "U": self.U[1:k].copy(),
            "gram": sums.gram,
            "moment": sums.moment,
            "summed": np.array([sums.target2, float(sums.longest)]),
        }

    def restore(self, state: dict[str, Any], w: Array, D: Array) -> None:
        self.U[1 : len(D) + 1] = state["U"]


def scores_of(plane: Any, summed: bool) -> Any:
    """What a run on the plane keeps: the scores of all rows; or sums over them, where those are all
    that a quadratic needs and ``summed`` says that they will do."""
    problem, chooser = plane.problem, plane.chooser
    if summed and chooser is not None and sums_are_all(problem, chooser):
        return GramScores(problem, plane.w, plane.D)
    return kind_of_scores(problem)(problem, plane.memory, plane.w.shape[1:])


def error_of(scores: Any) -> Array | None:
    """A bound on what is wrong with the plane's gradient, an entry each, where that is had from
    sums over rows; None where it is computed from the rows themselves."""
    return scores.error() if isinstance(scores, GramScores) else None


def summed_up(plane: Any) -> bool:
    """Have sums over rows, if they are what a plane keeps, said all they can? One step in their own
    metric is all: along flat directions what is left then is rounding."""
    error = error_of(plane.scores)
    if error is None:
        return False
    return bool(plane.norm <= norm(error) or (plane.k > 0 and not plane.metric.plain))


def sums_are_all(problem: Any, chooser: Any = None) -> bool:
    """Is f on the plane had from sums over all rows, computed once, and are they finite?
    ``chooser``: who decides on its metric, if that is known."""
    if not problem.loss.quadratic or kind_of_scores(problem) is not Scores:
        return False
    if problem.n * problem.d <= FEW:
        return False
    chooser = chooser or chooser_of(problem, 1)
    return isinstance(chooser, Chooser) and chooser.at_once and bool(problem.sums.sound)


def _length(d: Array, product: Array) -> float:
    """sqrt(d . H d)."""
    return math.sqrt(max(0.0, float(d @ product)))
