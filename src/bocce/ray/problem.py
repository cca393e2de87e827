"""A problem whose rows live in actors, and who steps on it in batches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
import ray

from .. import sampling
from ..engines.remote import RemoteEngine
from ..problems import PartedProblem, Problem
from ..problems.cache import depends_on
from ..rows import Array, Index, Rows
from .cluster import WHERE, insist
from .columns import Seen, seen
from .scores import ActorScores
from .sources import Survey
from .workers import reduced, shared, started


class ActorRows(Rows):
    """Rows in actors: nothing as long as the data is ever had in one place."""

    in_parts = True
    X = None

    def __init__(self, found: Survey, actors: dict[int, Any]) -> None:
        self.found, self.actors = found, actors
        self.n, self.d, self.dtype = sum(found.rows), found.d, found.dtype

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return self.found.sparse

    @property
    def cost(self) -> float:
        """Multiplications of one product with a vector."""
        return self.found.cost + (self.d - self.found.d) * self.n

    @property
    def pairs(self) -> float:
        """Multiplications of a row's part of a Gram matrix, on average."""
        if self.found.pairs is None:
            return super().pairs
        more = self.d - self.found.d
        return self.found.pairs + 2 * more * self.found.cost / self.n + more

    def with_column(self) -> Rows:
        wider = copy(self)
        wider.d += 1
        return wider

    def fingerprint(self) -> str:
        """A hash of those of the parts."""
        asked = [actor.ask.remote(None, Problem.fingerprint) for actor in self.actors.values()]
        whole = repr((self.found.rows, insist(lambda: ray.get(asked))))
        return hashlib.sha256(whole.encode()).hexdigest()


class ActorProblem(PartedProblem):
    """f is the mean over the parts, and every part lives in an actor.

    ``frame``: the variables that the workers are asked in, [a reference to a ``Frame``], or None
    for the caller's own.
    """

    given: ActorRows
    frame: list[Any] | None = None

    def __init__(self, rows: ActorRows, loss: Any, l2: float, intercept: bool) -> None:
        self._begin(
            rows,
            loss,
            l2,
            intercept,
            classes=rows.found.classes,
            engine=ActorEngine,
            scores=ActorScores,
        )

    @property
    def units(self) -> int:
        """What a batch is drawn from: the rows, or the blocks, of all parts."""
        return sum(self.given.found.units)

    @depends_on()
    def _identity(self) -> str:
        return self.given.fingerprint()

    def fingerprint(self) -> str:
        return f"{self.loss.problem_name} {self.loss!r} {self._identity} {self._settings()}"

    def columns_seen(self) -> Seen | None:
        return None if self.given.found.in_files else seen(self)

    def in_frame(self, frame: Any) -> ActorProblem:
        penalty = np.append(frame.scale**2, np.zeros(int(self.intercept)))
        return self.with_fields(frame=[ray.put(frame)], penalty=penalty)

    def over(self, ask: Any, *args: Any) -> Iterator[tuple[int, Any]]:
        actors = self.given.actors
        sent = [shared(a) if isinstance(a, np.ndarray) else a for a in args]

        def answers() -> list[Any]:
            asked = [actor.ask.remote(self.frame, ask, *sent) for actor in actors.values()]
            return list(ray.get(asked))

        yield from zip((self.given.found.rows[part] for part in actors), insist(answers))

    def value(self, w: Any, rows: Index | None = None) -> float:
        """f(w)."""
        self._all(rows)
        return float(self.mean(Problem.value, self.point(w)))

    def gradient(self, w: Any, rows: Index | None = None) -> Array:
        """The gradient of f."""
        self._all(rows)
        return np.asarray(self.mean(Problem.gradient, self.point(w)))

    def _all(self, rows: Index | None) -> None:
        if rows is not None:
            raise ValueError(
                f"{self.loss.problem_name}: rows must be left out for rows in Ray actors, which "
                "are numbered part by part; ask for all of them."
            )


@contextmanager
def placed(
    found: Survey, loss: Any, l2: float, intercept: bool, seed: int
) -> Iterator[ActorProblem]:
    """The problem, its parts in actors that end with it; a part keeps its number when others
    are empty."""
    with started(found, loss, l2, intercept, seed) as actors:
        yield ActorProblem(ActorRows(found, actors), loss, l2, intercept)


class ActorEngine(RemoteEngine):
    """Sends w out, and has the sums added on their way back."""

    problem: ActorProblem

    def __init__(self, problem: ActorProblem, b: int, seed: int, mode: str) -> None:
        super().__init__(problem, b)
        if mode != "independent":
            raise ValueError(
                f"{WHERE}: sampling={mode!r} must be 'independent': parts draw for themselves."
            )
        if problem.loss.multi_output:
            raise ValueError(
                f"{WHERE}: the {problem.loss.name} loss must be minimised on all rows; leave T and "
                'batch_size out, or use method "plane".'
            )
        self.actors, self.seed = problem.given.actors, seed
        self.split: tuple[int, Array] = (-1, np.empty(0))

    def unit_sum(self, at: Array, k: int) -> Array:
        counts, sent = self._counts(k), shared(at)

        def total() -> Array:
            pending = [
                (part, actor.unit_sum.remote(self.problem.frame, sent, k, int(counts[part])))
                for part, actor in self.actors.items()
                if counts[part]
            ]
            self.split = k + 1, self._counts(k + 1)  # while the workers work
            return np.asarray(reduced(self.actors, pending))

        return np.asarray(insist(total))[1:]

    def row_sum(self, at: Array) -> tuple[float, Array]:
        sent = shared(at)

        def total() -> Array:
            frame = self.problem.frame
            asked = [
                (part, actor.row_sum.remote(frame, sent)) for part, actor in self.actors.items()
            ]
            return np.asarray(reduced(self.actors, asked))

        _, loss, *_ = found = insist(total)
        return float(loss), found[2:]

    def _counts(self, k: int) -> Array:
        if self.split[0] == k:
            return self.split[1]
        return sampling.split_counts(self.seed, k, self.problem.given.found.units, self.fetched)
