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


class Worker:
    """One part: rows from their source, and sums over them. Killed, it is made anew the same."""

    def __init__(self, source: Any, loss: Any, l2: float, seed: int) -> None:
        from ..engines.numba.sums import BlockSums, Draws, RowSums

        self.problem: Problem = ray.get(source[0])(loss, l2)
        self.sums = (RowSums, BlockSums)[self.problem.in_parts](self.problem)
        self.draws = Draws(seed, self.problem.units, self.problem.units)

    def ask(self, ask: Callable[..., Any], *args: Any) -> Any:
        """The part's answer to a function of a problem, in the part's own way if it has one."""
        name = getattr(ask, "__name__", "")
        if vars(Problem).get(name) is ask:
            return getattr(self.problem, name)(*args)
        return ask(self.problem, *args)

    def unit_sum(self, at: Array, k: int, count: int) -> Array:
        """The sum of row gradients over ``count`` units of step k."""
        return self.sums.of(at, self.draws.units(k, count))

    def row_sum(self, at: Array) -> Array:
        """The sum of all losses, then that of all row gradients."""
        loss, total = self.sums.everything(at)
        return np.concatenate([[loss], total])

    def add(self, *sums: Array) -> Array:
        """A place in the tree."""
        return in_order(sums)


def in_order(sums: Sequence[Any]) -> Array:
    total = np.array(sums[0])
    for other in sums[1:]:
        total += other
    return total


@contextmanager
def started(found: Survey, loss: Any, l2: float, seed: int) -> Iterator[dict[int, Any]]:
    """One actor a part that has rows, by the part's number; they end with the block."""
    check_parts(sum(count > 0 for count in found.rows))
    remote = ray.remote(Worker).options(
        max_restarts=-1, max_task_retries=-1, scheduling_strategy="SPREAD"
    )
    held = [[ray.put(source)] for source in found.sources]  # for as long as they may be reloaded
    actors = {
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


def reduced(actors: dict[int, Any], pending: list[tuple[int, Any]]) -> Array:
    """The sum of (part, answer), in an order that depends on which parts take part alone."""
    while len(pending) > FAN_IN:
        groups = [pending[i : i + FAN_IN] for i in range(0, len(pending), FAN_IN)]
        pending = [
            (group[0][0], actors[group[0][0]].add.remote(*(ref for _, ref in group)))
            for group in groups
        ]
    return in_order(ray.get([ref for _, ref in pending]))
