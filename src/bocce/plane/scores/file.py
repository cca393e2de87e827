"""The plane's scores of rows in a file: as few reads as there can be.

- A look from scratch takes the loss, its derivatives, the gradient and the targets in one read.
- Before the first look a sixteenth of the blocks is solved in memory (``presolve.py``); that read
  then looks at both points, so the first step, to the sample's solution, is free.
- A step in a metric takes one read (``predicting.py``), or two where it ends elsewhere.
- The sampled Hessian takes a few whole blocks from all over the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ..._types import Array
from ...problems import FileProblem
from ...rows import Dense, FileRows, Rows
from ..linalg import largest
from ..metrics.base import Sample
from ..parts import parts_of
from .base import Evaluation
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
        assert isinstance(problem.rows, FileRows)
        self.solve, self.read_before = solve, False  # targets come with the first read
        y = np.empty(int(problem.n), dtype=problem.encoded(np.zeros(0))[0].dtype)
        self._know(problem, outputs, y, None)
        self.parts = parts_of(self.rows)
        self.places = [slice(a, b) for a, b in pairwise(self.rows.starts.tolist())]
        self._make_room(memory, np.dtype(np.float64))
        self.ahead: SampleSolution | None = None
        self._forget()

    def _blocks(self) -> Iterator[tuple[slice, Rows]]:
        for place, (block, _) in zip(self.places, self.rows.widened()):
            yield place, Dense(block)

    def start(self, w: Array) -> Evaluation:
        solve = None if self.read_before else self.solve
        self.ahead = None if solve is None else SampleSolution.of(self.problem, w, solve)
        return self._read_all(w)

    def _read_all(self, w: Array) -> Evaluation:
        """z = X w and a look there; with a point ahead, its scores and gradient as well."""
        self._forget()
        self.c, sums, total = None, [], np.zeros(w.shape)
        for place, (block, y) in zip(self.places, self.rows.widened()):
            if not self.read_before:
                self.y[place] = self.problem.encoded(y)[0]
            np.dot(block, w, out=self.z[place])
            sums.append(self._derive(self.z[place], place))
            total += block.T @ self.slope[place]
            if self.ahead is not None:
                self.ahead.add(block, self.z[place], self.y[place], self.U[0, place])
        self.read_before, self.total = True, total
        return self._mean(sums, np.zeros(0))

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
        M, most = len(self.places), self.places[0].stop
        count = M if sample.whole else min(M, -(-sample.rows // most))
        named = sorted((sample.turn - 1 + i * M // count) % M for i in range(count))
        H, taken = np.zeros((self.rows.d, self.rows.d)), 0
        for i, (block, _) in zip(named, self.rows.widened(named)):
            H += block.T @ (block * self._bends(self.places[i])[:, None])
            taken += len(block)
        return np.asarray(H / taken)

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self._read_all(w)  # for the targets
        super().load_state_dict(state, w, D)
