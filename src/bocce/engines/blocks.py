"""Steps over a file larger than memory: whole blocks, read ahead by a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np

from ..problems import Problem
from ..rows import Array
from ..schedules import Schedule
from .base import ANY, Goal, Recorder, State, StepReport
from .numba.sums import BlockSums, Draws
from .remote import RemoteEngine


class BlockEngine(RemoteEngine):
    """Steps on m of M blocks; the file is read in the order of the steps, ahead of them.

    Which blocks is a function of (seed, k), so the reader knows them before the step is due.
    """

    def __init__(self, problem: Problem, b: int, seed: int, mode: str) -> None:
        super().__init__(problem, b)
        self.sums = BlockSums(problem)
        self.draws = Draws(seed, self.units, self.taken, mode)
        self.ahead: Iterator[Any] | None = None  # the blocks of the stretch under way

    def unit_sum(self, at: Array, k: int) -> Array:
        assert self.ahead is not None
        return self.sums.add(islice(self.ahead, self.fetched), at, False)[1]

    def mean(self, at: Array) -> tuple[float, Array]:
        if self.has_gram:
            return super().mean(at)
        if self.ahead is None:
            loss, total = self.sums.everything(at)
        else:
            loss, total = self.sums.add(islice(self.ahead, self.units), at, True)
        return loss / self.problem.n, total / self.problem.n

    def advance(
        self, state: State, steps: Schedule, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        """Steps state.k .. stop-1."""
        swept = set() if self.has_gram else set(recorder.when[recorder.count :].tolist())
        plan = self._plan(range(state.k, stop), swept)
        with closing(self.problem.given.X.stream(plan)) as self.ahead:
            try:
                return super().advance(state, steps, stop, recorder, goal)
            finally:
                self.ahead = None

    def _plan(self, steps: range, swept: set[int]) -> Iterator[int]:
        """The blocks in the order in which the steps will ask for them."""
        for k in steps:
            if k in swept:
                yield from range(self.units)
            drawn = self.draws.left_out if self.leave_out else self.draws.units
            yield from np.sort(drawn(k, self.taken)).tolist()
