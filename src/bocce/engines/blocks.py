"""Steps over files larger than memory: whole parts, read ahead by threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np

from ..problems import Problem
from ..rows import Array
from ..rows.files import Widener
from ..schedules import Schedule
from .base import ANY, Goal, Recorder, State, StepReport
from .numba.sums import Draws
from .remote import RemoteEngine


class PartSums:
    """Sums over the rows of parts, as they are read."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.widen = Widener(problem.rows)

    def add(self, parts: Iterable[Any], at: Array, want_loss: bool) -> tuple[float, Array]:
        """The sum of the losses (if wanted), and of slope_i x_i."""
        p = self.problem
        loss = 0.0
        total = np.zeros(at.shape)
        for X, stored in parts:
            block = self.widen(X)
            y, offset = p.encoded(stored)
            z = block @ at
            if offset is not None and not p.loss.quadratic:
                z += offset
            if want_loss:
                loss += float(p.loss.value(z, y).sum())
            total += block.T @ p.loss.slope(z, y)
        return loss, total


class BlockEngine(RemoteEngine):
    """Steps on m of M parts; the files are read in the order of the steps, ahead of them.

    Which parts is a function of (seed, k), so the reader knows them before the step is due.
    """

    def __init__(self, problem: Problem, b: int, seed: int, mode: str) -> None:
        super().__init__(problem, b)
        self.sums = PartSums(problem)
        self.draws = Draws(seed, self.units, self.taken, mode)
        self.ahead: Iterator[Any] | None = None  # the parts of the stretch under way

    def unit_sum(self, at: Array, k: int) -> Array:
        assert self.ahead is not None
        return self.sums.add(islice(self.ahead, self.fetched), at, False)[1]

    def mean(self, at: Array) -> tuple[float, Array]:
        if self.has_gram:
            return super().mean(at)
        if self.ahead is None:
            loss, total = self.sums.add(self.sums.problem.given.read(), at, True)
        else:
            loss, total = self.sums.add(islice(self.ahead, self.units), at, True)
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
        rows: Any = self.problem.given  # of a file
        with closing(rows.read(plan)) as self.ahead:
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
