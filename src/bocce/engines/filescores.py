"""The plane's scores of rows in a file: as few reads as there can be.

- A look from scratch takes the loss, its derivatives, the gradient and the targets in one read.
- Before the first look a sixteenth of the blocks is solved in memory (``ahead.py``); that read then
  looks at both points, so the first step, to the sample's solution, is free.
- A step in a metric takes one read (``guess.py``), or two where it ends elsewhere than expected.
- The sampled Hessian takes a few whole blocks from all over the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from .ahead import Ahead
from .fused import Looked, Sweep
from .guess import GuessScores
from .metric import Chooser, Metric
from .small import largest

Array = npt.NDArray[np.float64]


class FileScores(GuessScores):
    """``Scores`` of a ``FileProblem``: n numbers a vector in memory, X in blocks from the disk.

    ``alone``: are these all rows of the problem, so that a sample of them may be solved ahead?
    """

    alone = True

    def __init__(self, problem: Any, memory: int, outputs: tuple[int, ...]) -> None:
        self.problem, self.rows = problem, problem.rows
        shape = (int(problem.n), *outputs)
        y = np.empty(shape[0], dtype=problem.encoded(np.zeros(0))[0].dtype)
        self.read_before = False  # targets come with the first read
        self.sweep = Sweep(SimpleNamespace(loss=problem.loss, y=y, weight=None), shape)
        self.sweep.blocks = [slice(a, b) for a, b in pairwise(self.rows.starts.tolist())]
        self.z, self.other, self.moved = np.empty(shape), np.empty(shape), np.empty(shape)
        self.U = np.zeros((memory + 1, *shape))
        self.ahead: Ahead | None = None
        self._know_nothing()

    _in_blocks = True

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        for rows, (block, _) in zip(self.sweep.blocks, self.rows.widened()):
            yield rows, block

    def start(self, w: Array) -> Looked:
        fresh = self.alone and not self.read_before
        self.ahead = Ahead.of(self.problem, w) if fresh else None
        return self._read_all(w)

    def _read_all(self, w: Array) -> Looked:
        """z = X w and a look there; with a point ahead, its scores and gradient as well."""
        self._know_nothing()
        values, sizes, total = [], [], np.zeros(w.shape)
        sweep, ahead = self.sweep, self.ahead
        for rows, (block, y) in zip(sweep.blocks, self.rows.widened()):
            if not self.read_before:
                sweep.y[rows] = self.problem.encoded(y)[0]
            np.dot(block, w, out=self.z[rows])
            value, size = sweep._derivatives(self.z[rows], rows)
            total += block.T @ sweep.slope[rows]
            values.append(value)
            sizes.append(size)
            if ahead is not None:
                ahead.add(block, self.z[rows], sweep.y[rows], self.U[0, rows])
        self.read_before, sweep.at, self.total = True, self.z, total
        return Looked(math.fsum(values) / self.rows.n, math.fsum(sizes) / self.rows.n, np.zeros(0))

    def guesses_on(self, trusted: int) -> bool:
        return True  # a guess is a product more, and may save a read

    def first_direction(self) -> Array | None:
        return None if self.ahead is None else self.ahead.direction

    def aim(self, slot: int, d: Array, step: float = 0.0) -> float:
        """As always, but that what is ahead is known since the first read."""
        if slot or self.first_direction() is None:
            return super().aim(slot, d, step)
        assert self.ahead is not None
        self.U[0] /= step
        self.guess, self.guessed, self.ahead = step, self.ahead.total, None
        return largest(self.U[0])

    def metric(self, ridge: Array, chooser: Chooser) -> Metric:
        """Of blocks spread over the file, others at each turn; or that of the point ahead."""
        chooser.take()
        ridge = ridge.reshape(-1)
        if self.ahead is not None:
            return Metric.of(self.ahead.hessian, ridge, 1.0 / chooser.rows)
        blocks = self.sweep.blocks
        M, most = len(blocks), max(rows.stop - rows.start for rows in blocks)
        count = M if chooser.whole else min(M, -(-chooser.rows // most))
        named = sorted((chooser.taken - 1 + i * M // count) % M for i in range(count))
        H, taken = np.zeros((self.rows.d, self.rows.d)), 0
        for i, (block, _) in zip(named, self.rows.widened(named)):
            H += block.T @ (block * self.sweep.bends_of(blocks[i])[:, None])
            taken += len(block)
        return Metric.of(H / taken, ridge, 1.0 / chooser.rows)

    def restore(self, state: dict[str, Any], w: Array, D: Array) -> None:
        self._read_all(w)  # for the targets
        super().restore(state, w, D)
