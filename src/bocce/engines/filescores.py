"""The plane's scores of rows in a file: as few reads as there can be.

- A look from scratch takes the loss, its derivatives and the gradient in one read, targets included.
- Before the first look a sixteenth of the blocks is solved in memory (``ahead.py``); that read then
  looks at both points, so the first step, to the sample's solution, is free.
- A step in a metric takes one read: the scores of the direction, and the gradient where Newton's
  step ends, which is most likely where the plane will want it. Where the plane goes elsewhere, a
  second read takes the gradient there.
- The sampled Hessian takes a few whole blocks from all over the file.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from .ahead import Ahead
from .fused import Looked, Sweep
from .metric import Chooser, Metric
from .scores import Scores
from .small import largest

Array = npt.NDArray[np.float64]


class FileScores(Scores):
    """``Scores`` of a ``FileProblem``: n numbers a vector in memory, X in blocks from the disk."""

    guesses = True

    def __init__(self, problem: Any, memory: int, outputs: tuple[int, ...]) -> None:
        self.problem, self.rows = problem, problem.rows
        shape = (int(problem.n), *outputs)
        self.y = np.empty(shape[0], dtype=problem.encoded(np.zeros(0))[0].dtype)
        self.read_before = False  # targets come with the first read
        self.sweep = Sweep(SimpleNamespace(loss=problem.loss, y=self.y, weight=None), shape)
        starts = self.rows.starts.tolist()
        self.sweep.blocks = [slice(a, b) for a, b in zip(starts[:-1], starts[1:])]
        self.z, self.other, self.moved = np.empty(shape), np.empty(shape), np.empty(shape)
        self.U = np.zeros((memory + 1, *shape))
        self.ahead: Ahead | None = None
        self.guess = 0.0  # the multiple of U[0] at which the gradient is known, with
        self.guessed: Array | None = None
        # X^T slope at z and at the point last tried, where they are known
        self.total: Array | None = None
        self.total_tried: Array | None = None

    # -- the first read, and looks from scratch ---------------------------------------------------

    def start(self, w: Array) -> Looked:
        self.ahead = None if self.read_before else Ahead.of(self.problem, w)
        return self._read_all(w)

    def _read_all(self, w: Array) -> Looked:
        """z = X w and a look there; with a point ahead, its scores and gradient as well."""
        values, sizes, total = [], [], np.zeros(w.shape)
        ahead = self.ahead
        for rows, (block, y) in zip(self.sweep.blocks, self.rows.pairs()):
            if not self.read_before:
                self.y[rows] = self.problem.encoded(y)[0]
            np.dot(block, w, out=self.z[rows])
            value, size = self.sweep._derivatives(self.z[rows], rows)
            total += block.T @ self.sweep.slope[rows]
            values.append(value)
            sizes.append(size)
            if ahead is not None:
                ahead.add(block, self.z[rows], self.y[rows], self.U[0, rows])
        self.read_before, self.sweep.at, self.total = True, self.z, total
        return Looked(math.fsum(values) / self.rows.n, math.fsum(sizes) / self.rows.n, np.zeros(0))

    def first_direction(self) -> Array | None:
        return None if self.ahead is None else self.ahead.direction

    # -- a step -----------------------------------------------------------------------------------

    def aim(self, slot: int, d: Array, step: float = 0.0) -> float:
        """U[slot] = X d; where ``step`` is not 0, with the gradient at z + step U[slot]."""
        if slot == 0 and self.ahead is not None and self.ahead.direction is not None:
            self.U[0] /= step
            self.guess, self.guessed = step, self.ahead.total
            self.ahead = None
            return largest(self.U[0])
        total, loss = np.zeros(d.shape), self.problem.loss
        for rows, (block, _) in zip(self.sweep.blocks, self.rows.pairs()):
            u = np.dot(block, d, out=self.U[slot, rows])
            if step:
                total += block.T @ loss.slope(self.z[rows] + step * u, self.y[rows])
        if slot == 0:
            self.guess, self.guessed = step, total if step else None
        return largest(self.U[slot])

    def scale(self, slot: int, far: float) -> None:
        super().scale(slot, far)
        if slot == 0:
            self.guess *= far

    def move(self, c: Array) -> Looked:
        there = self.guessed is not None and c[0] == self.guess and not c[1:].any()
        self.total_tried = self.guessed if there else None
        return super().move(c)

    def keep(self, slot: int, far: float) -> None:
        super().keep(slot, far)
        self.total, self.total_tried, self.guessed = self.total_tried, None, None

    def gradient(self) -> Array:
        here = self.sweep.at is self.z
        total = self.total if here else self.total_tried
        if total is None:
            total = super().gradient()
            if here:
                self.total = total
        return total

    # -- the metric -------------------------------------------------------------------------------

    def metric(self, ridge: Array, chooser: Chooser) -> Metric:
        """Of blocks spread over the file, others at each turn; or that of the point ahead."""
        chooser.take()
        if self.ahead is not None:
            return Metric.of(self.ahead.hessian, ridge, 1.0 / chooser.rows)
        M = len(self.sweep.blocks)
        most = max(rows.stop - rows.start for rows in self.sweep.blocks)
        count = M if chooser.whole else min(M, -(-chooser.rows // most))
        named = sorted({(chooser.taken - 1 + i * M // count) % M for i in range(count)})
        H, taken = np.zeros((self.rows.d, self.rows.d)), 0
        for i, (block, _) in zip(named, self.rows.pairs(named)):
            bend = self.sweep.bends_of(self.sweep.blocks[i])
            H += block.T @ (block * bend[:, None])
            taken += len(block)
        return Metric.of(H / taken, ridge.reshape(-1), 1.0 / chooser.rows)

    # -- to stop and go on ------------------------------------------------------------------------

    def state(self, k: int) -> dict[str, Array]:
        known = {} if self.total is None else {"total": self.total.copy()}
        return {**super().state(k), **known}

    def restore(self, state: dict[str, Any], w: Array, D: Array) -> None:
        self._read_all(w)  # for the targets
        super().restore(state, w, D)
        self.total = np.array(state["total"]) if "total" in state else None
