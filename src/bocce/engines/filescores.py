"""The plane's scores of rows in a file: as few reads as there can be.

A look from scratch takes the loss, its derivatives and the gradient in one read, targets included;
a step takes two, one for the direction and one for the gradient. The sampled Hessian takes a few
whole blocks from all over the file.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from .fused import Looked, Sweep
from .metric import Chooser, Metric
from .scores import Scores

Array = npt.NDArray[np.float64]


class FileScores(Scores):
    """``Scores`` of a ``FileProblem``: n numbers a vector in memory, X in blocks from the disk."""

    def __init__(self, problem: Any, memory: int, outputs: tuple[int, ...]) -> None:
        self.problem, self.rows, n = problem, problem.given, problem.n
        self.y = np.empty(n)  # had with the first read
        self.read_before = False
        self.sweep = Sweep(SimpleNamespace(loss=problem.loss, y=self.y, weight=None), (n,))
        ends = np.cumsum([0, *(self.rows.X.rows(i) for i in range(self.rows.X.n_blocks))])
        self.sweep.blocks = [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist())]
        self.z, self.other, self.moved = np.empty(n), np.empty(n), np.empty(n)
        self.U = np.zeros((memory + 1, n))
        self.total: Array | None = None  # X^T slope, where it is known already

    def start(self, w: Array) -> Looked:
        values, sizes, total = [], [], np.zeros(self.problem.d)
        for rows, (X, y) in zip(self.sweep.blocks, self.rows.read()):
            if not self.read_before:
                self.y[rows] = self.problem.encoded(y)[0]
            block = np.asarray(X, dtype=np.float64)
            np.dot(block, w, out=self.z[rows])
            value, size = self.sweep._derivatives(self.z[rows], rows)
            total += self.sweep.slope[rows] @ block
            values.append(value)
            sizes.append(size)
        self.read_before, self.sweep.at, self.total = True, self.z, total
        return Looked(math.fsum(values) / self.rows.n, math.fsum(sizes) / self.rows.n, np.zeros(0))

    def move(self, c: Array) -> Looked:
        self.total = None
        return super().move(c)

    def look(self) -> Looked:
        self.total = None
        return super().look()

    def gradient(self) -> Array:
        return super().gradient() if self.total is None else self.total

    def metric(self, ridge: Array, chooser: Chooser) -> Metric:
        """Of blocks spread over the file, others at each turn."""
        chooser.take()
        M, blocks = self.rows.X.n_blocks, self.sweep.blocks
        most = max(blocks[0].stop, 1)  # rows of the largest block
        count = M if chooser.whole else min(M, -(-chooser.rows // most))
        named = sorted((chooser.taken - 1 + i * M // count) % M for i in range(count))
        H, taken = np.zeros((self.problem.d, self.problem.d)), 0
        for i, (X, _) in zip(named, self.rows.read(named)):
            block = np.asarray(X, dtype=np.float64)
            H += block.T @ (block * self.sweep.bend[blocks[i], None])
            taken += len(block)
        return Metric.of(H / taken, ridge, 1.0 / chooser.rows)

    def restore(self, state: dict[str, Any], w: Array, D: Array) -> None:
        self.start(w)  # for the targets
        super().restore(state, w, D)
