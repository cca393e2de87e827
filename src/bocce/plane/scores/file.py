"""The plane's scores of rows in a file, with as few reads as possible.

- One read computes the loss, its derivatives, the gradient and the targets at w0.
- Before that read a sixteenth of the parts is solved in memory. The minimum over such a sample is
  nearer to the minimum over all rows than any first step from zero, and its Hessian is the Hessian
  of all rows up to sampling error. The first read evaluates both points, so the first step, to the
  sample's solution, costs nothing. For a quadratic that is cheap to solve exactly, the first read
  sums the Gram matrix instead.
- A step in a metric takes one read, or two if the step ends elsewhere than predicted.
- A sampled Hessian reads a few whole parts, spread over the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from ..._memory import no_memory
from ..._types import Array
from ...problems import FileProblem, Problem
from ...rows import FileRows, Rows
from ..linalg import largest
from ..metrics.base import Sample
from ..metrics.hessian import HessianPolicy
from ..parts import parts_of
from .base import Evaluation
from .memory import MemoryScores

ONE_PART_IN = 16  # One row (or part) of this many is in the sample that is solved first.
MOST_NUMBERS = 1 << 24  # The sample of a file has at most this many numbers: 64 MB in float32.
ROWS_A_COLUMN = 20  # With fewer rows a column, a sample says too little about all rows.

# From w to the minimum over a sample: the displacement, and the Hessian there.
Solve = Callable[[Problem, Array], "tuple[Array, Array] | None"]


class FileScores(MemoryScores):
    """``Scores`` of a ``FileProblem``: n numbers a vector in memory, X in parts from the disk.

    ``solve`` finds the minimum over a sample of the rows; None if a sample does not pay, or if
    these are not all rows of the problem. ``ahead`` is the displacement to that minimum, until the
    first step; ``first_hessian`` is the Hessian known before the first step.
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
        # the first read brings the targets
        self.solve = solve
        self.read_before = False
        self.parts = parts_of(problem.rows)
        self.places = [slice(a, b) for a, b in pairwise(problem.given.starts.tolist())]
        try:
            y = np.empty(int(problem.n), dtype=problem.target_type)
            self._know(problem, outputs, y, None)
            self._make_room(memory, np.dtype(np.float64))
        except MemoryError:
            a_row = 8 * (memory + 7)  # the scores of w and of the directions, targets, derivatives
            place = f"plane: the scores of {problem.n:,} rows of a file ({a_row} bytes a row)"
            remedy = "take batches, which keep no scores (give T and batch_size)"
            raise MemoryError(no_memory(place, a_row * int(problem.n), remedy)) from None
        self.ahead: Array | None = None
        self.first_hessian: Array | None = None

    def _blocks(self, small: bool) -> Iterator[tuple[slice, Rows]]:
        return zip(self.places, self.rows.pieces())

    def start(self, w: Array) -> Evaluation:
        self.ahead = self.first_hessian = None
        sum_gram = False
        if self.solve is not None and not self.read_before and HessianPolicy.suits(self.problem):
            policy = HessianPolicy(self.problem)
            sum_gram = policy.quadratic and policy.whole
            if not sum_gram and not w.any() and (named := self._sample()):
                solved = self.solve(self._sample_problem(named), w)
                self.ahead, self.first_hessian = solved or (None, None)
        return self._read_all(w, sum_gram)

    def _sample(self) -> list[int]:
        """The parts to solve first: spread over the file, as many as fit, none if too few."""
        rows = self.rows
        M = len(self.places)
        fit = MOST_NUMBERS // max(1, int(np.diff(rows.starts).max()) * rows.d)
        count = min(M // ONE_PART_IN, fit)
        if count == 0 or count * (rows.n // M) < ROWS_A_COLUMN * rows.d:
            return []
        return [i * M // count for i in range(count)]

    def _sample_problem(self, named: list[int]) -> Problem:
        """The problem on these parts, in memory."""
        p = self.problem
        pairs = [(np.array(X), stored.copy()) for X, stored in self.rows.read(named)]
        X, stored = (np.concatenate(column) for column in zip(*pairs))
        del pairs
        y, offset = p.encoded(stored)
        return p.with_rows(self.rows.like(X), y=y, offset=offset, weight=None)

    def _read_all(self, w: Array, sum_gram: bool = False) -> Evaluation:
        """z = X w and an evaluation there; also at w + ``ahead``, if that is known."""
        self._forget()
        self.c = None
        sums = []
        total = np.zeros(w.shape)
        end = np.zeros(w.shape)
        gram = np.zeros((self.rows.d, self.rows.d) if sum_gram else 0)
        for place, (X, stored) in zip(self.places, self.rows.read()):
            rows = self.rows.like(X)
            z = self.z[place]
            z[:] = rows.times(w)
            if not self.read_before or self.problem.has_offset:
                self.y[place], offset = self.problem.encoded(stored)
                if offset is not None and not self.loss.quadratic:
                    z += offset
            sums.append(self._derive(z, place))
            total += rows.combine(self.slope[place])
            if sum_gram:
                gram += rows.n * rows.gram()
            if self.ahead is not None:
                u = rows.times(self.ahead)
                self.U[0, place] = u
                end += rows.combine(self.loss.slope(z + u, self.y[place]))
        if sum_gram:
            self.first_hessian = gram / self.n
        self.read_before = True
        self.total = total
        self.guessed = None if self.ahead is None else end
        return self._mean(sums, np.zeros(0))

    def predicts_gradient(self, trusted: bool) -> bool:
        return True  # a prediction costs one more product, and may save a read

    def first_direction(self) -> Array | None:
        return self.ahead

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        """Add a direction; the first read has computed the scores of ``ahead``."""
        if slot or self.ahead is None:
            return super().add_direction(slot, d, likely_step)
        self.U[0] /= likely_step
        self.guess = likely_step
        self.ahead = None
        self.first_hessian = None
        return largest(self.U[0])

    def hessian(self, sample: Sample) -> Array:
        """The Hessian known before the first step, or the Hessian of parts spread over the file,
        other parts at each turn."""
        if self.first_hessian is not None:
            return self.first_hessian
        M = len(self.places)
        most = self.places[0].stop
        if sample.whole:
            count = M
        else:
            count = min(M, -(-sample.rows // most))
        named = sorted((sample.turn - 1 + i * M // count) % M for i in range(count))
        H = np.zeros((self.rows.d, self.rows.d))
        taken = 0
        for i, (X, _) in zip(named, self.rows.read(named)):
            rows = self.rows.like(X)
            H += rows.n * rows.gram(self._bends(self.places[i]))
            taken += rows.n
        return np.asarray(H / taken)

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self._read_all(w)  # for the targets
        super().load_state_dict(state, w, D)
