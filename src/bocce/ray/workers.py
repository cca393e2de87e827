"""The workers: one part each, and sums over its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import ray

from .. import sampling
from ..problems import Problem
from ..rows import Array
from .cluster import RESTARTS, check_parts
from .sources import Survey

FAN_IN = 8  # sums that are added at one place of the tree
PUT_BYTES = 100_000  # a larger w is stored once a step, a smaller one travels with each call
Key = tuple[int, int]
Made = tuple[Any, int, int]  # the frame (or None), the plane's memory, and which part it is


class Worker:
    """One part: rows from their source, and sums over them. Killed, it is made anew the same."""

    def __init__(self, source: Any, loss: Any, l2: float, intercept: bool, seed: int) -> None:
        self.own: Problem = ray.get(source[0])(loss, l2, intercept)
        self.framed: tuple[Any, Problem] = (None, self.own)  # in the variables last asked in
        self.seed = seed
        self.key: Key = (0, 0)  # the last message on scores that was answered
        self.answer: Array | None = None
        self.scores: Any = None
        self.kernels: Any = None

    def problem(self, frame: Any) -> Problem:
        """The part in the variables of a frame, [a reference to it], or in the caller's own."""
        if frame is None:
            return self.own
        if self.framed[0] != frame[0]:
            self.framed = frame[0], ray.get(frame[0]).problem(self.own)
        return self.framed[1]

    def ask(self, frame: Any, ask: Callable[..., Any], *args: Any) -> Any:
        """The part's answer to a function of a problem, in the part's own way if it has one."""
        problem, name = self.problem(frame), getattr(ask, "__name__", "")
        if vars(Problem).get(name) is ask:
            return getattr(problem, name)(*args)
        return ask(problem, *args)

    def unit_sum(self, frame: Any, at: Array, k: int, count: int) -> Array:
        """0, and the sum of row gradients over ``count`` units of step k."""
        sums, draws = self._compiled(frame)
        return np.append(0.0, sums.of(at, draws.units(k, count)))

    def row_sum(self, frame: Any, at: Array) -> Array:
        """0, the sum of all losses, and that of all row gradients."""
        loss, total = self._compiled(frame)[0].everything(at)
        return np.concatenate([[0.0, loss], total])

    def _compiled(self, frame: Any) -> Any:
        """Sums and draws by compiled kernels: made for batches only, the plane needs neither."""
        p = self.problem(frame)
        if self.kernels is None or self.kernels[0] is not p:
            from ..engines.numba.sums import BlockSums, Draws, RowSums

            sums = BlockSums(p) if p.in_parts else RowSums(p)
            self.kernels = p, sums, Draws(self.seed, p.units, p.units)
        return self.kernels[1:]

    # -- the plane's scores ----------------------------------------------------------------------

    def plane(self, key: Key, made: Made, todo: list[Any]) -> Array | None:
        """Do operations on the scores, the answer to the last; None where the scores are lost.

        ``key``: which run, and which of its messages this is. A message that comes again finds the
        answer it had. ``made``: how the scores are made.
        """
        if key != self.key:
            if key[1] == 1:
                self._begin(made)
            elif self.key != (key[0], key[1] - 1):
                return None
            self.answer, self.key = self._do(todo), key
        return self.answer

    def catch_up(self, before: Key, now: Key, made: Made, lost: list[Any]) -> None:
        """Compute lost scores anew, unless they are where they should be."""
        if self.key not in (before, now):
            self._begin(made)
            if lost:
                self._do(lost)
            self.key = before

    def _begin(self, made: Made) -> None:
        from .scores import PartScores

        frame, memory, place = made
        self.scores = PartScores(self.problem(frame), memory, place)

    def _do(self, todo: list[Any]) -> Array | None:
        with np.errstate(all="ignore"):  # a trial too far overflows, and is not taken
            for name, *args in todo:
                fetched = (ray.get(a) if isinstance(a, ray.ObjectRef) else a for a in args)
                answer: Array | None = getattr(self.scores, name)(*fetched)
        return answer

    def join(self, *answers: Array | None) -> Array | None:
        """A place in the tree."""
        return joined(answers)


def joined(answers: Sequence[Array | None]) -> Array | None:
    """The largest of the first entries, and the sums of the others, in order; None if one is."""
    if any(answer is None for answer in answers):
        return None
    total = np.array(answers[0])
    most = max(float(answer[0]) for answer in answers if answer is not None)
    for other in answers[1:]:
        total += other
    total[0] = most
    return total


@contextmanager
def started(
    found: Survey, loss: Any, l2: float, intercept: bool, seed: int
) -> Iterator[dict[int, Any]]:
    """One actor a part that has rows, by the part's number; they end with the block."""
    check_parts(sum(count > 0 for count in found.rows))
    remote = ray.remote(Worker).options(
        max_restarts=RESTARTS, max_task_retries=-1, scheduling_strategy="SPREAD"
    )
    held = [[ray.put(source)] for source in found.sources]  # for as long as they may be reloaded
    actors: dict[int, Any] = {
        part: remote.remote(source, loss, l2, intercept, sampling.part_seed(seed, part))
        for part, source in enumerate(held)
        if found.rows[part]
    }
    try:
        yield actors
    finally:
        for actor in actors.values():
            ray.kill(actor)


def shared(at: Array) -> Any:
    """What is sent to every worker."""
    return ray.put(at) if at.nbytes > PUT_BYTES else at


def reduced(actors: dict[int, Any], pending: list[tuple[int, Any]]) -> Array | None:
    """(part, answer) joined, in an order that depends on which parts take part alone."""
    while len(pending) > FAN_IN:
        groups = [pending[i : i + FAN_IN] for i in range(0, len(pending), FAN_IN)]
        pending = [
            (group[0][0], actors[group[0][0]].join.remote(*(ref for _, ref in group)))
            for group in groups
        ]
    return joined(ray.get([ref for _, ref in pending]))


def gathered(pending: list[tuple[int, Any]]) -> Array | None:
    """The answers, a row a part; None where one of them is."""
    answers = ray.get([ref for _, ref in pending])
    return None if any(answer is None for answer in answers) else np.stack(answers)
