"""The scores of rows in memory with several outputs: n x K numbers, of which few arrays are kept.

Scores of w and of the directions are kept (``Kept``), one array each; slopes, and the scores of the
point last tried, are made a part of the rows at a time and forgotten. Where even the scores would
be too many, they are computed from the rows whenever they are asked for (``Recomputed``).
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from ..._types import Array
from ...problems import Problem
from ..evaluate import Evaluation, infimum, rounding_of, sum_and_size
from ..linalg import largest
from ..metrics.base import Sample
from ..parts import RowPart, parts_of
from .sampled import hessian_of


class ScoreStore(Protocol):
    """z = X w and U = X D, for one part of the rows at a time.

    ``eps`` is the relative rounding error of U, ``change`` how far the step last tried moves the
    scores at most, once all parts were asked for them.
    """

    eps: float
    change: float

    def start(self, w: Array) -> None:
        """w is another point."""

    def put(self, slot: int, d: Array) -> float:
        """D[slot] = d; returns the largest entry of X d."""

    def scale(self, slot: int, factor: float) -> None:
        """Divide D[slot]."""

    def stand(self, c: Array | None) -> None:
        """The scores asked for are those of w + D c (None: of w)."""

    def scores(self, part: RowPart) -> Array:
        """X (w + D c)."""

    def directions(self, part: RowPart, slots: slice) -> Array:
        """X D[slots], one direction behind the other."""

    def gather(self, part: RowPart, slope: Array, k: int) -> tuple[Array, Array | None]:
        """(X D[:k]) . slope; and X^T slope, where the former is computed from it."""

    def accept(self, slot: int, factor: float) -> None:
        """w += D c, and D[slot] = D c / factor unless slot is 0."""

    def state_dict(self, k: int) -> dict[str, Array]:
        """What cannot be had from w and D to the last bit."""

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        """Go on from there."""


class Kept:
    """One array of float64 for z, and one for each direction, as rough as X is."""

    def __init__(
        self, parts: list[RowPart], shape: tuple[int, int], memory: int, dtype: np.dtype[Any]
    ) -> None:
        self.parts, self.c, self.change = parts, np.zeros(0), 0.0
        self.z, self.U = np.zeros(shape), np.zeros((memory + 1, *shape), dtype=dtype)
        self.eps = float(np.finfo(dtype).eps)

    @staticmethod
    def size(shape: tuple[int, int], memory: int, dtype: np.dtype[Any]) -> int:
        """Bytes."""
        return int(math.prod(shape) * (8 + (memory + 1) * np.dtype(dtype).itemsize))

    def start(self, w: Array) -> None:
        some = w.any()
        for part in self.parts:
            self.z[part.place] = part.rows.times(w) if some else 0.0

    def put(self, slot: int, d: Array) -> float:
        most = 0.0
        for part in self.parts:
            u = part.rows.times(d)
            self.U[slot, part.place] = u
            most = max(most, largest(u))
        return most

    def scale(self, slot: int, factor: float) -> None:
        self.U[slot] /= factor

    def stand(self, c: Array | None) -> None:
        self.c, self.change = np.zeros(0) if c is None else c, 0.0

    def scores(self, part: RowPart) -> Array:
        z = self.z[part.place]
        if not self.c.size:
            return z
        moved = self._moved(part)
        self.change = max(self.change, largest(moved))
        moved += z
        return moved

    def _moved(self, part: RowPart) -> Array:
        U = self.U[: self.c.size, part.place]
        return np.asarray(np.dot(self.c, U.reshape(len(U), -1)).reshape(U.shape[1:]))

    def directions(self, part: RowPart, slots: slice) -> Array:
        return self.U[slots, part.place]

    def gather(self, part: RowPart, slope: Array, k: int) -> tuple[Array, Array | None]:
        U = self.U[:k, part.place]
        return np.dot(U.reshape(k, slope.size), slope.reshape(-1)), None

    def accept(self, slot: int, factor: float) -> None:
        for part in self.parts:
            moved = self._moved(part)
            self.z[part.place] += moved
            if slot:
                self.U[slot, part.place] = np.divide(moved, factor, out=moved)

    def state_dict(self, k: int) -> dict[str, Array]:
        return {"z": self.z.copy(), "U": self.U[1:k].copy()}

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self.z[...] = state["z"]
        self.U[1 : len(D) + 1] = state["U"]


class Recomputed:
    """w and D alone: their scores are products with X, made when they are asked for."""

    eps = float(np.finfo(np.float64).eps)

    def __init__(self, parts: list[RowPart], shape: tuple[int, int], memory: int) -> None:
        self.parts, self.change = parts, 0.0
        self.w, self.D = np.zeros(shape), np.zeros((memory + 1, *shape))
        self.far = np.zeros(memory + 1)  # the largest entries of X D
        self.step, self.point = self.w, self.w

    def start(self, w: Array) -> None:
        self.w = w.copy()

    def put(self, slot: int, d: Array) -> float:
        self.D[slot] = d
        self.far[slot] = max(largest(part.rows.times(d)) for part in self.parts)
        return float(self.far[slot])

    def scale(self, slot: int, factor: float) -> None:
        self.D[slot] /= factor
        self.far[slot] /= factor

    def stand(self, c: Array | None) -> None:
        self.point, self.change = self.w, 0.0
        if c is not None:
            self.step = (c @ self.D[: c.size].reshape(c.size, -1)).reshape(self.w.shape)
            self.point = self.w + self.step
            self.change = float(np.abs(c) @ self.far[: c.size])

    def scores(self, part: RowPart) -> Array:
        return part.rows.times(self.point)

    def directions(self, part: RowPart, slots: slice) -> Array:
        return np.stack([part.rows.times(d) for d in self.D[slots]])

    def gather(self, part: RowPart, slope: Array, k: int) -> tuple[Array, Array | None]:
        total = part.rows.combine(slope)
        return np.dot(self.D[:k].reshape(k, total.size), total.reshape(-1)), total

    def accept(self, slot: int, factor: float) -> None:
        self.w = self.point
        if slot:
            self.D[slot], self.far[slot] = self.step / factor, self.change / factor

    def state_dict(self, k: int) -> dict[str, Array]:
        return {"far": self.far.copy()}

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self.w, self.far = w.copy(), np.array(state["far"])
        self.D[1 : len(D) + 1] = D


class MatrixScores:
    """``Scores`` of several outputs, whose rows are NumPy's and in memory.

    Parameters
    ----------
    problem, memory : what is minimised, and how many displacements are kept.
    outputs : (K,).
    most_bytes : more scores than this are not kept, but computed again.
    """

    def __init__(
        self, problem: Problem, memory: int, outputs: tuple[int, ...], most_bytes: int = 1 << 32
    ) -> None:
        self.problem, self.rows, self.n = problem, problem.rows, int(problem.n)
        self.loss, self.y, self.weight = problem.loss, problem.y, problem.weight
        self.parts = parts_of(self.rows, outputs[0])
        shape, dtype = (self.n, outputs[0]), self.rows.dtype
        self.kept = Kept.size(shape, memory, dtype) <= most_bytes
        self.store: ScoreStore = Recomputed(self.parts, (self.rows.d, outputs[0]), memory)
        if self.kept:
            self.store = Kept(self.parts, shape, memory, dtype)
        self.eps = self.store.eps
        self.rounding = rounding_of(self.loss)
        self._stand(None)

    def _stand(self, c: Array | None) -> None:
        """The next evaluation is at z + c U (None: at z)."""
        self.store.stand(c)
        self.c = c
        self.total: Array | None = None  # X^T slope there, once it is known
        self.slope: Array | None = None  # the slopes there, where all rows are one part

    @property
    def max_change(self) -> float:
        """How far the step last tried moves the scores at most."""
        return self.store.change

    # -- evaluations ---------------------------------------------------------------------------

    def start(self, w: Array) -> Evaluation:
        """z = X w, and a look there."""
        self.store.start(w)
        return self.look()

    def look(self) -> Evaluation:
        """The loss and its derivatives at z."""
        self._stand(None)
        return self._evaluate()

    def try_step(self, c: Array) -> Evaluation:
        """The loss, its derivatives and its gradient in c at z + c U."""
        self._stand(c)
        return self._evaluate()

    def _evaluate(self) -> Evaluation:
        sums, plane = [], np.zeros(0 if self.c is None else self.c.size)
        total = None if self.kept else np.zeros(self.problem.shape)
        for part in self.parts:
            z = self.store.scores(part)
            value, slope = self._slope(z, part)
            sums.append(sum_and_size(value, slope, z, self.rounding))
            along, combined = self.store.gather(part, slope, plane.size)
            plane = plane + along
            if total is not None and combined is not None:
                total += combined
            if len(self.parts) == 1:
                self.slope = slope
        self.total = total
        mean, size = (math.fsum(column) / self.n for column in zip(*sums))
        return Evaluation(mean, size, plane / self.n)

    def _slope(self, z: Array, part: RowPart) -> tuple[Array, Array]:
        """Values and slopes of a part, times the weights."""
        value, slope, _ = self.loss.value_slope_bend(z, self.y[part.place])
        if self.weight is not None:
            c = self.weight[part.place]
            value, slope = value * c, slope * c[:, None]
        return value, slope

    # -- directions ----------------------------------------------------------------------------

    def first_direction(self) -> Array | None:
        """Nothing is known before the first step."""
        return None

    def predicts_gradient(self, trusted: bool) -> bool:
        """No."""
        return False

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        """U[slot] = X d; returns its largest entry."""
        return self.store.put(slot, d)

    def scale_direction(self, slot: int, factor: float) -> None:
        """Divide U[slot]."""
        self.store.scale(slot, factor)

    def accept(self, slot: int, factor: float) -> None:
        """Go to the point last tried, and U[slot] = c U / factor unless slot is 0."""
        self.store.accept(slot, factor)
        self.store.stand(None)

    def curvature(self, k: int, slot: int | None = None) -> Array:
        """sum_i u_i^T bend_i v_i / n of the first k directions where last was looked, or its
        column."""
        total = np.zeros(())
        for part in self.parts:
            U = self.store.directions(part, slice(k))
            V = U if slot is None else self.store.directions(part, slice(slot, slot + 1))
            c = None if self.weight is None else self.weight[part.place]
            z, y = self.store.scores(part), self.y[part.place]
            total = total + self.loss.bend_products(z, y, c, U, V)
        return np.asarray(total, dtype=np.float64) / self.n

    # -- sums over rows ------------------------------------------------------------------------

    def infimum(self) -> float:
        """A number that the mean loss cannot fall below."""
        return infimum(self.loss, self.y, self.weight)

    def gradient(self) -> Array:
        """X^T slope, where last was looked."""
        if self.total is None:
            if self.slope is not None:
                return np.asarray(self.rows.combine(self.slope), dtype=np.float64)
            self.total = np.zeros(self.problem.shape)
            for part in self.parts:
                self.total += part.rows.combine(self._slope(self.store.scores(part), part)[1])
        return self.total

    def gradient_error(self) -> Array | None:
        """Nothing beyond the rounding of sums."""
        return None

    def scores(self, rows: slice) -> Array:
        """x_i . w of some rows."""
        return self.store.scores(RowPart(rows, self.rows if self.kept else self.rows.part(rows)))

    def row_curvature(self) -> Array:
        """c_i times the mean over the outputs of the second derivative's diagonal."""
        bends = [
            np.mean(self.loss.bend(self.store.scores(part), self.y[part.place]), axis=1)
            for part in self.parts
        ]
        bend = np.concatenate(bends)
        return bend if self.weight is None else bend * self.weight

    def hessian(self, sample: Sample) -> Array:
        """sum_i c_i loss''_i x_i x_i^T / n, where last was looked."""
        return hessian_of(self.rows, self.row_curvature(), sample)

    def hessian_diagonal(self) -> Array:
        """The diagonal of X^T diag(bend) X / n, where last was looked."""
        return np.asarray(self.rows.squares(self.row_curvature()))

    def max_score(self) -> float:
        """The largest |x_i . w|; infinite where scores do not drift, for they are not kept."""
        return max(map(largest, map(self.store.scores, self.parts))) if self.kept else math.inf

    def state_dict(self, k: int) -> dict[str, Array]:
        """What cannot be had from w and D to the last bit."""
        return self.store.state_dict(k)

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self.store.load_state_dict(state, w, D)
        self._stand(None)
