"""Steps over files larger than memory: whole parts, read ahead by threads."""

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
from .numba.sums import Draws
from .remote import RemoteEngine


class BlockEngine(RemoteEngine):
    """Steps on m of M parts; the files are read in the order of the steps, ahead of them.

    Which parts is a function of (seed, k), so the reader knows them before the step is due.
    """

    def __init__(self, problem: Problem, b: int, seed: int, mode: str) -> None:
        super().__init__(problem, b)
        self.file: Any = problem  # a `FileProblem`
        self.draws = Draws(seed, self.units, self.taken, mode)
        self.ahead: Iterator[Problem] | None = None  # the parts of the stretch under way

    def unit_sum(self, at: Array, k: int) -> Array:
        assert self.ahead is not None
        total = np.zeros(at.shape)
        for part in islice(self.ahead, self.fetched):
            total += part.combine(part.slopes(part.predict(at)))
        return total

    def mean(self, at: Array) -> tuple[float, Array]:
        if self.has_gram:
            return super().mean(at)
        if self.ahead is None:
            parts = self.file.parts()
        else:
            parts = islice(self.ahead, self.units)
        loss = 0.0
        total = np.zeros(at.shape)
        for part in parts:
            z = part.predict(at)
            loss += float(part.losses(z).sum())
            total += part.combine(part.slopes(z))
        return loss / self.problem.n, total / self.problem.n

    def advance(
        self, state: State, steps: Schedule, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        """Steps state.k .. stop-1."""
        if self.has_gram:
            swept = set()
        else:
            swept = set(recorder.when[recorder.count :].tolist())
        plan = self._plan(range(state.k, stop), swept)
        with closing(self.file.parts(plan)) as self.ahead:
            try:
                return super().advance(state, steps, stop, recorder, goal)
            finally:
                self.ahead = None

    def _plan(self, steps: range, swept: set[int]) -> Iterator[int]:
        """The parts in the order in which the steps will ask for them."""
        for k in steps:
            if k in swept:
                yield from range(self.units)
            if self.leave_out:
                drawn = self.draws.left_out
            else:
                drawn = self.draws.units
            yield from np.sort(drawn(k, self.taken)).tolist()
