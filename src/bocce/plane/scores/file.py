"""The plane's scores of rows in a file: as few reads as there can be.

- A look from scratch takes the loss, its derivatives, the gradient and the targets in one read.
- Before the first look a sixteenth of the blocks is solved in memory (``presolve.py``); that read
  then looks at both points, so the first step, to the sample's solution, is free.
- A step in a metric takes one read (``predicting.py``), or two where it ends elsewhere.
- The sampled Hessian takes a few whole blocks from all over the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from ..._types import Array
from ...problems import FileProblem
from ...rows import FileRows
from ..evaluate import Evaluation, RowwiseLoss
from ..linalg import largest
from ..metrics.base import Sample
from .predicting import PredictingScores
from .presolve import SampleSolution, Solve


class FileScores(PredictingScores):
    """``Scores`` of a ``FileProblem``: n numbers a vector in memory, X in blocks from the disk.

    ``solve`` finds the minimum over a sample of the rows; None where a sample is not worth it, or
    these are not all rows of the problem.
    """

    problem: FileProblem
    rows: FileRows

    def __init__(
        self,
        problem: FileProblem,
        memory: int,
        outputs: tuple[int, ...],
        solve: Solve | None = None,
    ) -> None:
        self.solve = solve
        assert isinstance(problem.rows, FileRows)
        self.problem, self.rows = problem, problem.rows
        shape = (int(problem.n), *outputs)
        y = np.empty(shape[0], dtype=problem.encoded(np.zeros(0))[0].dtype)
        self.read_before = False  # targets come with the first read
        blocks = [slice(a, b) for a, b in pairwise(self.rows.starts.tolist())]
        given = SimpleNamespace(loss=problem.loss, y=y, weight=None)
        self.loss = RowwiseLoss(given, shape, blocks)
        self.z, self.other, self.moved = np.empty(shape), np.empty(shape), np.empty(shape)
        self.U = np.zeros((memory + 1, *shape))
        self.ahead: SampleSolution | None = None
        self._know_nothing()

    _in_blocks = True

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        for rows, (block, _) in zip(self.loss.blocks, self.rows.widened()):
            yield rows, block

    def start(self, w: Array) -> Evaluation:
        fresh = not self.read_before
        solve = self.solve if fresh else None
        self.ahead = None if solve is None else SampleSolution.of(self.problem, w, solve)
        return self._read_all(w)

    def _read_all(self, w: Array) -> Evaluation:
        """z = X w and a look there; with a point ahead, its scores and gradient as well."""
        self._know_nothing()
        values, sizes, total = [], [], np.zeros(w.shape)
        rowwise, ahead = self.loss, self.ahead
        for rows, (block, y) in zip(rowwise.blocks, self.rows.widened()):
            if not self.read_before:
                rowwise.y[rows] = self.problem.encoded(y)[0]
            np.dot(block, w, out=self.z[rows])
            value, size = rowwise._derivatives(self.z[rows], rows)
            total += block.T @ rowwise.slope[rows]
            values.append(value)
            sizes.append(size)
            if ahead is not None:
                ahead.add(block, self.z[rows], rowwise.y[rows], self.U[0, rows])
        rowwise.stand_at(self.z)
        self.read_before, self.total = True, total
        return Evaluation(
            math.fsum(values) / self.rows.n, math.fsum(sizes) / self.rows.n, np.zeros(0)
        )

    def predicts_gradient(self, trusted: bool) -> bool:
        return True  # a prediction is a product more, and may save a read

    def first_direction(self) -> Array | None:
        return None if self.ahead is None else self.ahead.direction

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        """Add a direction; the scores of the sample's solution are known since the first read."""
        if slot or self.first_direction() is None:
            return super().add_direction(slot, d, likely_step)
        assert self.ahead is not None
        self.U[0] /= likely_step
        self.guess, self.guessed, self.ahead = likely_step, self.ahead.total, None
        return largest(self.U[0])

    def hessian(self, sample: Sample) -> Array:
        """Of blocks spread over the file, others at each turn; or that of the point ahead."""
        if self.ahead is not None:
            return self.ahead.hessian
        blocks = self.loss.blocks
        M, most = len(blocks), max(rows.stop - rows.start for rows in blocks)
        count = M if sample.whole else min(M, -(-sample.rows // most))
        named = sorted((sample.turn - 1 + i * M // count) % M for i in range(count))
        H, taken = np.zeros((self.rows.d, self.rows.d)), 0
        for i, (block, _) in zip(named, self.rows.widened(named)):
            H += block.T @ (block * self.loss.bends_of(blocks[i])[:, None])
            taken += len(block)
        return np.asarray(H / taken)

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self._read_all(w)  # for the targets
        super().load_state_dict(state, w, D)
