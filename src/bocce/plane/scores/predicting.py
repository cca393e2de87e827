"""Scores that take two products with X in one go: a step's direction, and the gradient at its end.

If the metric is good, the step ends near where Newton's method says. So the gradient there is
computed together with the scores of the direction, a block of rows at a time: rows are read once a
step instead of twice. If the step ends elsewhere, the gradient is computed there in a second pass,
and no gradient is predicted until there is a new metric.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._types import Array
from ...problems import Problem
from ...rows import Dense, Scaled
from ...rows.dense import widened
from ..evaluate import Evaluation
from ..linalg import largest
from .memory import MemoryScores

BLOCK_BYTES = 1 << 19  # of float64: a block that is used twice stays in the cache


class PredictingScores(MemoryScores):
    """``MemoryScores`` that know the gradient at ``guess`` times the direction last added."""

    def __init__(self, problem: Problem, memory: int, outputs: tuple[int, ...]) -> None:
        super().__init__(problem, memory, outputs)
        self._know_nothing()

    def _know_nothing(self) -> None:
        self.guess = 0.0  # the multiple of U[0], and X^T slope there
        self.guessed: Array | None = None
        self.total: Array | None = None  # X^T slope at z, and at the point last tried
        self.total_tried: Array | None = None

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Which rows, and what is stored of them, a block that fits into the cache at a time."""
        X = self.rows.X
        return widened(X, max(1, BLOCK_BYTES // (8 * X.shape[1])))

    @property
    def _in_blocks(self) -> bool:
        return isinstance(self.rows, (Dense, Scaled))

    def predicts_gradient(self, trusted: bool) -> bool:
        return trusted

    def start(self, w: Array) -> Evaluation:
        self._know_nothing()
        return super().start(w)

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        """U[slot] = X d; where ``likely_step`` is not 0, with the gradient there."""
        total = None
        if self._in_blocks and (likely_step or self.rows.in_parts):
            total = self._aim_in_blocks(self.U[slot], d, likely_step)
        else:
            self.U[slot] = self.rows.times(d)
            if likely_step:
                total = self.rows.combine(
                    self._slope(self.z + likely_step * self.U[slot], slice(None))
                )
        if slot == 0:
            self.guess, self.guessed = likely_step, total if likely_step else None
        return largest(self.U[slot])

    def _aim_in_blocks(self, u: Array, d: Array, step: float) -> Array:
        framed = self.rows if isinstance(self.rows, Scaled) else None
        v, offset = (d, 0.0) if framed is None else framed.inner(d)
        total, slopes = np.zeros(v.shape), np.zeros(v.shape[1:])
        for rows, block in self._blocks():
            np.dot(block, v, out=u[rows])
            if framed is not None:
                u[rows] += offset
            if step:
                slope = self._slope(self.z[rows] + step * u[rows], rows)
                total += block.T @ slope
                slopes += slope.sum(axis=0)
        return total if framed is None else framed.outer(total, slopes)

    def _slope(self, z: Array, rows: slice) -> Array:
        """Of the loss, times the weights, at other scores than those of the sweep."""
        rowwise = self.loss
        slope = np.asarray(rowwise.loss.slope(z, rowwise.y[rows]))
        return slope if rowwise.weight is None else (slope.T * rowwise.weight[rows]).T

    def scale_direction(self, slot: int, factor: float) -> None:
        super().scale_direction(slot, factor)
        if slot == 0:
            self.guess *= factor

    def try_step(self, c: Array) -> Evaluation:
        there = self.guessed is not None and c[0] == self.guess and not c[1:].any()
        self.total_tried = self.guessed if there else None
        return super().try_step(c)

    def accept(self, slot: int, factor: float) -> None:
        super().accept(slot, factor)
        self.total, self.total_tried, self.guessed = self.total_tried, None, None

    def gradient(self) -> Array:
        here = self.loss.at is self.z
        total = self.total if here else self.total_tried
        if total is None:
            total = super().gradient()
            if here:
                self.total = total
            else:
                self.total_tried = total
        return total

    def state_dict(self, k: int) -> dict[str, Array]:
        known = {} if self.total is None else {"total": self.total.copy()}
        return {**super().state_dict(k), **known}

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        super().load_state_dict(state, w, D)
        self.total = np.array(state["total"]) if "total" in state else None
