"""What is worth knowing before a file is read as a whole.

A sixteenth of the blocks fits into memory and is solved there. Its minimum is nearer to that of all
rows than any first step from zero leads, and its Hessian is that of all rows but for sampling: the
read that looks at w0 looks at that point as well, and one more step is usually enough for what
out-of-core data are fitted to. Of a quadratic that is cheap to solve exactly the same read takes
the Gram matrix instead.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import Array
from ...losses import Loss
from ...problems import FileProblem, Problem
from ...rows import FileRows
from ..metrics.hessian import MOST_COLUMNS, HessianPolicy

SHARE = 16  # one block of so many is solved ahead
MOST_NUMBERS = 1 << 24  # of X, in memory for that: 64 MB of float32
ROWS_A_COLUMN = 20  # fewer say too little about the whole

# From w to the minimum over a sample: the displacement, and the Hessian there.
Solve = Callable[[Problem, Array], "tuple[Array, Array] | None"]


class SampleSolution:
    """A Hessian, and a direction from w0 with what one read finds at its end.

    ``direction`` is None where only the Hessian is taken: then it is summed in that read.
    """

    def __init__(self, loss: Loss, direction: Array | None, hessian: Array) -> None:
        self.loss, self.direction, self.sum = loss, direction, hessian
        self.total = np.zeros(0 if direction is None else direction.shape)  # X^T slope at its end
        self.rows = 0  # of the sum

    @classmethod
    def of(cls, problem: FileProblem, w: Array, solve: Solve) -> SampleSolution | None:
        """None where rows are few, there is no metric, or the caller knows a point to start from
        (which will be better than what a sample says)."""
        policy = HessianPolicy(problem)
        if problem.rows.d > MOST_COLUMNS:
            return None
        if policy.quadratic and policy.whole:
            return cls(problem.loss, None, np.zeros((problem.rows.d, problem.rows.d)))
        rows = problem.rows
        assert isinstance(rows, FileRows)
        named = [] if w.any() else sample_of(rows)
        solved = solve(sample_problem(problem, named), w) if named else None
        return None if solved is None else cls(problem.loss, *solved)

    @property
    def hessian(self) -> Array:
        return self.sum / max(self.rows, 1)

    def add(self, block: Array, z: Array, y: Array, u: Array) -> None:
        """A block of the read, with its scores at w0; those of the direction go into u."""
        if self.direction is None:
            self.sum += block.T @ block
            self.rows += len(block)
            return
        np.dot(block, self.direction, out=u)
        self.total += block.T @ self.loss.slope(z + u, y)


def sample_of(rows: FileRows) -> list[int]:
    """The blocks to solve ahead: spread over the file, no more than fit, none if too few."""
    M = rows.starts.size - 1
    fit = MOST_NUMBERS // max(1, int(np.diff(rows.starts).max()) * rows.d)
    count = min(M // SHARE, fit)
    if count == 0 or count * (rows.n // M) < ROWS_A_COLUMN * rows.d:
        return []
    return [i * M // count for i in range(count)]


def sample_problem(problem: FileProblem, named: list[int]) -> Problem:
    """The problem on those blocks, in memory."""
    rows = problem.rows
    assert isinstance(rows, FileRows)
    pairs = [(np.array(X), problem.encoded(y)[0]) for X, y in rows.read(named)]
    X, y = (np.concatenate(column) for column in zip(*pairs))
    del pairs
    return Problem.of(
        rows.like(X), y, problem.loss, problem.l2,
        penalty=problem.penalty, classes=problem.classes, intercept=problem.intercept,
    )  # fmt: skip
