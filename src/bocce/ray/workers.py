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
from .cluster import check_parts
from .sources import Survey

FAN_IN = 8  # sums that are added at one place of the tree
PUT_BYTES = 100_000  # a larger w is stored once a step, a smaller one travels with each call
Key = tuple[int, int]


class Worker:
    """One part: rows from their source, and sums over them. Killed, it is made anew the same."""

    def __init__(self, source: Any, loss: Any, l2: float, seed: int) -> None:
        self.problem: Problem = ray.get(source[0])(loss, l2)
        self.seed = seed
        self.key: Key = (0, 0)  # the last message on scores that was answered
        self.answer: Array | None = None
        self.scores: Any = None
        self.kernels: Any = None

    def ask(self, ask: Callable[..., Any], *args: Any) -> Any:
        """The part's answer to a function of a problem, in the part's own way if it has one."""
        name = getattr(ask, "__name__", "")
        if vars(Problem).get(name) is ask:
            return getattr(self.problem, name)(*args)
        return ask(self.problem, *args)

    def unit_sum(self, at: Array, k: int, count: int) -> Array:
        """0, and the sum of row gradients over ``count`` units of step k."""
        sums, draws = self._compiled()
        return np.append(0.0, sums.of(at, draws.units(k, count)))

    def row_sum(self, at: Array) -> Array:
        """0, the sum of all losses, and that of all row gradients."""
        loss, total = self._compiled()[0].everything(at)
        return np.concatenate([[0.0, loss], total])

    def _compiled(self) -> Any:
        """Sums and draws by compiled kernels: made for batches only, the plane needs neither."""
        if self.kernels is None:
            from ..engines.numba.sums import BlockSums, Draws, RowSums

            p = self.problem
            sums = BlockSums(p) if p.in_parts else RowSums(p)
            self.kernels = sums, Draws(self.seed, p.units, p.units)
        return self.kernels

    # -- the plane's scores ----------------------------------------------------------------------

    def plane(self, key: Key, memory: int, place: int, todo: list[Any]) -> Array | None:
        """Do operations on the scores, the answer to the last; None where the scores are lost.

        ``key``: which run, and which of its messages this is. A message that comes again finds the
        answer it had.
        """
        if key != self.key:
            if key[1] == 1:
                self._begin(memory, place)
            elif self.key != (key[0], key[1] - 1):
                return None
            self.answer, self.key = self._do(todo), key
        return self.answer

    def catch_up(self, before: Key, now: Key, memory: int, place: int, lost: list[Any]) -> None:
        """Compute lost scores anew, unless they are where they should be."""
        if self.key not in (before, now):
            self._begin(memory, place)
            if lost:
                self._do(lost)
            self.key = before

    def _begin(self, memory: int, place: int) -> None:
        from .scores import PartScores

        self.scores = PartScores(self.problem, memory, place)

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
def started(found: Survey, loss: Any, l2: float, seed: int) -> Iterator[dict[int, Any]]:
    """One actor a part that has rows, by the part's number; they end with the block."""
    check_parts(sum(count > 0 for count in found.rows))
    remote = ray.remote(Worker).options(
        max_restarts=-1, max_task_retries=-1, scheduling_strategy="SPREAD"
    )
    held = [[ray.put(source)] for source in found.sources]  # for as long as they may be reloaded
    actors: dict[int, Any] = {
        part: remote.remote(source, loss, l2, sampling.part_seed(seed, part))
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
