"""A problem whose rows live in actors, and the engine of its steps on all rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
import ray

from ..engines.remote import RemoteEngine
from ..problems import Look, PartedProblem, Problem
from ..problems.frame import CONSTANT_SPREAD
from ..rows import Array, Index, Rows
from . import workers
from .cluster import RESTARTS, WHERE, check_parts, insist
from .scores import ActorScores
from .sources import Survey
from .workers import shared


class ActorRows(Rows):
    """Rows in actors; the driver never holds an array as long as the data."""

    in_parts = True
    X = None

    def __init__(self, found: Survey, actors: dict[int, Any], sources: list[Any]) -> None:
        self.found = found
        self.actors = actors
        self.sources = sources  # [a reference] of each part, for as long as it may be reloaded
        self.sparse = found.sparse
        self.n = sum(found.rows)
        self.d = found.d
        self.dtype = found.dtype

    @property
    def cost(self) -> float:
        return self.found.cost + (self.d - self.found.d) * self.n

    @property
    def pairs(self) -> float:
        if self.found.pairs is None:
            return super().pairs
        more = self.d - self.found.d
        return self.found.pairs + 2 * more * self.found.cost / self.n + more

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        raise ValueError(
            f"{WHERE}: rows must be left out for rows in Ray actors, which are numbered part by "
            "part; ask for all of them."
        )

    def with_column(self) -> Rows:
        wider = copy(self)
        wider.d += 1
        return wider

    def fingerprint(self) -> str:
        """A hash of the fingerprints of the parts."""
        calls = [
            actor.ask.remote((self.sources[part], None), Problem.fingerprint)
            for part, actor in self.actors.items()
        ]
        parts = repr((self.found.rows, insist(lambda: ray.get(calls))))
        return hashlib.sha256(parts.encode()).hexdigest()


def column_sums(part: Problem, stride: int, centre: Array | None) -> Array:
    """Rows looked at; sums over them of x (or of its squares about the centre) and of x != 0; and
    the least and the largest of each column."""
    X = part.given.X
    if part.given.sparse:
        squares = part.n * part.given.squares()
        entries = np.bincount(X.indices, minlength=X.shape[1])
        return np.stack([np.full(X.shape[1], float(part.n)), squares, entries, entries, entries])
    sample = np.asarray(X[::stride], dtype=np.float64)
    if centre is None:
        about = sample
    else:
        about = np.square(sample - centre)
    count = np.full(X.shape[1], float(len(sample)))
    entries = np.count_nonzero(sample, axis=0)
    return np.stack([count, about.sum(axis=0), entries, sample.min(axis=0), sample.max(axis=0)])


class ActorProblem(PartedProblem):
    """f is the mean over the parts, and every part lives in an actor.

    ``frame``: the variables of the questions to the workers, [a reference to a ``Frame``], or None
    for the caller's variables.
    """

    given: ActorRows
    frame: list[Any] | None = None

    def __init__(self, rows: ActorRows, loss: Any, l2: float, intercept: bool) -> None:
        if intercept:
            penalty = np.append(np.ones(rows.d), 0.0)
        else:
            penalty = None
        places = {"engine": ActorEngine, "scores": ActorScores, "classes": rows.found.classes}
        self._fill(rows, loss, l2, intercept=intercept, penalty=penalty, **places)

    def home(self, part: int) -> Any:
        """What a message to a worker begins with: its source, and the variables."""
        return self.given.sources[part], self.frame

    def columns_seen(self) -> tuple[Array, Array, Array] | None:
        """Two rounds: sums of the columns, then of their squares about the centre. As on one
        machine a sample of the rows will do, and all of them are looked at for columns that seem
        constant there."""
        if self.given.found.in_files:
            return None
        stride = -(-self.n // self.limits.sample_rows)
        centre = np.zeros(self.d)
        dense = not self.sparse
        if self.intercept and dense:
            rows, total, _, least, most = self._column_sums(stride, None)
            centre = np.where(least == most, least, total / rows)  # to the bit where it is constant
        rows, squares, entries, _, _ = self._column_sums(stride, centre)
        flat = squares / rows <= np.square(CONSTANT_SPREAD * centre)
        if stride > 1 and flat.any() and dense:  # rare in the sample, perhaps not in the data
            rows, squares, entries, _, _ = self._column_sums(1, centre)
            flat = squares / rows <= np.square(CONSTANT_SPREAD * centre)
        return centre, np.where(flat, 0.0, squares / rows), entries / rows

    def _column_sums(self, stride: int, centre: Array | None) -> Array:
        """``column_sums`` of all parts together."""
        parts = np.stack([answer for _, answer in self.over(column_sums, stride, centre)])
        whole: Array = parts.sum(axis=0)
        whole[3] = parts[:, 3].min(axis=0)
        whole[4] = parts[:, 4].max(axis=0)
        return whole

    def in_frame(self, frame: Any) -> ActorProblem:
        penalty = np.append(frame.scale**2, np.zeros(int(self.intercept)))
        return self.with_fields(frame=[ray.put(frame)], penalty=penalty)

    def over(self, ask: Any, *args: Any) -> Iterator[tuple[int, Any]]:
        actors = self.given.actors
        sent = [shared(a) if isinstance(a, np.ndarray) else a for a in args]

        def answers() -> list[Any]:
            calls = [
                actor.ask.remote(self.home(part), ask, *sent) for part, actor in actors.items()
            ]
            return list(ray.get(calls))

        yield from zip((self.given.found.rows[part] for part in actors), insist(answers))


@contextmanager
def placed(found: Survey, loss: Any, l2: float, intercept: bool) -> Iterator[ActorProblem]:
    """The problem, whose parts are in actors that end with the block.

    An empty part has no actor, and the other parts keep their numbers.
    """
    check_parts(sum(count > 0 for count in found.rows))
    remote = ray.remote(workers.Worker).options(
        max_restarts=RESTARTS, max_task_retries=-1, scheduling_strategy="SPREAD"
    )
    sources = [[ray.put(source)] for source in found.sources]
    actors: dict[int, Any] = {
        part: remote.remote(loss, l2, intercept) for part, rows in enumerate(found.rows) if rows
    }
    try:
        yield ActorProblem(ActorRows(found, actors, sources), loss, l2, intercept)
    finally:
        for actor in actors.values():
            ray.kill(actor)


class ActorEngine(RemoteEngine):
    """Steps on all rows: w goes out, sums come back."""

    problem: ActorProblem

    def __init__(self, problem: ActorProblem, b: int, seed: int, mode: str) -> None:
        super().__init__(problem, b)

    def batch_gradient(self, at: Array, k: int) -> Array:
        return self.look(at).gradient

    def look(self, w: Array) -> Look:
        with np.errstate(over="ignore", invalid="ignore"):
            if self.has_gram:
                return super().look(w)
            return self.problem.look(w)
