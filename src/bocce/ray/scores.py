"""The plane's scores of rows in actors: each worker keeps the scores of its part, and sums travel.

The driver sends a message of a few operations to every worker. The worker does them on the
``Scores`` of its part and answers the last one: a maximum, then sums over rows. The answers are
joined in a tree.

A step takes one message where the metric is good: the driver sends the direction; the workers
answer with the curvature on the plane, and with value and gradient at the end of Newton's step.
Where the plane goes elsewhere there are two more messages, for the best point and the gradient
there.

A worker that was started again has no scores and answers None. The driver then sends w, the
directions and the point last tried, and the worker computes its scores from them.
"""

from __future__ import annotations

from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ..plane.metrics.base import Sample, is_sparse
from ..plane.scores.base import Evaluation, Scores
from ..plane.scores.sampled import set_right
from ..rows import Array
from .cluster import insist
from .workers import gathered, reduced, shared

Operation = tuple[Any, ...]  # the name of a method of ``PartScores``, and its arguments
TURNS = 20  # The most times that a message is sent again because workers have lost their scores.
_serial = count(1)


class DriverState:
    """The driver's copy of w, D, and of c where the workers last looked at z + c U."""

    def __init__(self, memory: int) -> None:
        self.w = np.zeros(0)
        self.D: list[Any] = [None] * (memory + 1)
        self.c: Array | None = None

    def done(self, name: str, *args: Any) -> None:
        """All workers have done this operation."""
        if name == "start":
            self.w = args[0]
            self.c = None
        elif name == "look":
            self.c = None
        elif name == "add_direction":
            slot, d, k, step = args
            self.D[slot] = d
            if step:  # The workers stand at the guess.
                self.c = step * np.eye(k)[slot]
        elif name == "scale_direction":
            slot, factor = args
            self.D[slot] = self.D[slot] / factor
            if self.c is not None:
                self.c[slot] *= factor
        elif name == "try_step":
            self.c = args[0]
        elif name == "accept":
            assert self.c is not None
            moved = sum(x * d for x, d in zip(self.c, self.D))
            self.w = self.w + moved
            self.c = None
            if args[0]:
                self.D[args[0]] = moved / args[1]

    def operations(self) -> list[Operation]:
        """Operations that lead a new worker to the same scores, to rounding."""
        made: list[Operation] = [("start", self.w)]
        made += [
            ("add_direction", slot, d, 1, 0.0) for slot, d in enumerate(self.D) if d is not None
        ]
        if self.c is None:
            return made
        return [*made, ("try_step", self.c)]


class Guess(NamedTuple):
    """The answer that came with a direction: the likely end of the step, evaluated."""

    c: Array
    evaluation: Evaluation
    max_change: float
    gradient: Array


class ActorScores(Scores):
    """``Scores`` of all parts together, for the plane."""

    def __init__(self, problem: Any, memory: int, outputs: tuple[int, ...]) -> None:
        self.problem = problem
        self.n = problem.n
        self.memory = memory
        self.actors = problem.given.actors
        self.serial = next(_serial)
        self.turn = 0
        self.known = DriverState(memory)
        self.waiting: list[Operation] = []  # operations without an answer, sent with the next
        self.known_curvature: Array | None = None  # on the plane, where it came with an answer
        self.guess: Guess | None = None
        self.total: Array | None = None  # X^T slope at the last evaluation, if it is known

    # -- messages ------------------------------------------------------------------------------

    def _ask(self, *operation: Any, each: bool = False) -> Any:
        """The answer to an operation, after those that wait; ``each``: those of all parts."""
        todo = [*self.waiting, operation]
        sent = [tuple(shared(a) if isinstance(a, np.ndarray) else a for a in one) for one in todo]
        self.turn += 1
        before = (self.serial, self.turn - 1)
        now = (self.serial, self.turn)
        for _ in range(TURNS):
            answer = self._send("plane", now, sent, each=each)
            if answer is not None:
                break
            if self.turn > 1:
                lost = self.known.operations()
            else:
                lost = []
            self._send("catch_up", before, now, lost, each=True)
        else:
            raise RuntimeError(
                f"ray.minimize: workers were lost {TURNS} times in one step, must stay for a "
                "while; see why they end (`ray logs`, memory?), or give smaller parts."
            )
        for one in todo:
            self.known.done(*one)
        self.waiting = []
        return answer

    def _send(self, method: str, *args: Any, each: bool) -> Any:
        """Call a method of every worker: all answers, or the answers joined in the tree."""

        def once() -> Any:
            pending = []
            for place, (part, actor) in enumerate(self.actors.items()):
                made = (self.problem.home(part), self.memory, place)
                pending.append((part, getattr(actor, method).remote(made, *args)))
            if each:
                return gathered(pending)
            return reduced(self.actors, pending)

        return insist(once)

    # -- what the plane asks -------------------------------------------------------------------

    def predicts_gradient(self, trusted: bool) -> bool:
        return trusted

    def start(self, w: Array) -> Evaluation:
        self._forget()
        return self._means(self._ask("start", w.copy())[1:])

    def look(self) -> Evaluation:
        self._forget()
        return self._means(self._ask("look")[1:])

    def _forget(self) -> None:
        self.known_curvature = self.guess = self.total = None

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        used = [i for i, row in enumerate(self.known.D) if row is not None]
        k = 1 + max([slot, *used, *(one[1] for one in self.waiting if one[0] == "accept")])
        change, curvature, *end = self._ask("add_direction", slot, d.copy(), k, likely_step)
        self.known_curvature = curvature / self.n
        self.guess = None
        if likely_step:
            *sums, gradient = end
            c = likely_step * np.eye(k)[slot]
            self.guess = Guess(c, self._means(sums), abs(likely_step) * change, gradient)
        return float(change)

    def scale_direction(self, slot: int, factor: float) -> None:
        self.waiting.append(("scale_direction", slot, factor))
        if self.known_curvature is not None:
            self.known_curvature[slot] /= factor
            self.known_curvature[:, slot] /= factor
        if self.guess is not None:
            self.guess.c[slot] *= factor
            self.guess.evaluation.plane_gradient[slot] /= factor

    def try_step(self, c: Array) -> Evaluation:
        guess = self.guess
        self._forget()
        if guess is not None and np.array_equal(guess.c[: c.size], c):
            self.max_change = guess.max_change
            self.total = guess.gradient
            found = guess.evaluation  # The workers stand there already.
            return found._replace(plane_gradient=found.plane_gradient[: c.size])
        self.max_change, *sums = self._ask("try_step", c.copy())
        return self._means(sums)

    def accept(self, slot: int, factor: float) -> None:
        self.waiting.append(("accept", slot, factor))
        self.known_curvature = None

    def curvature(self, k: int, slot: int | None = None) -> Array:
        if self.known_curvature is None or len(self.known_curvature) < k:
            self.known_curvature = np.asarray(self._ask("curvature", k)[1] / self.n)
        found = self.known_curvature[:k, :k]
        if slot is None:
            return found
        return found[:, slot : slot + 1]

    def gradient(self) -> Array:
        if self.total is None:
            self.total = np.asarray(self._ask("gradient")[1])
        return self.total

    def infimum(self) -> float:
        return float(self._ask("infimum")[1]) / self.n

    def hessian_diagonal(self) -> Array:
        return np.asarray(self._ask("hessian_diagonal")[1] / self.n)

    def row_curvature(self) -> Array:
        """Nobody has the numbers of all rows."""
        raise NotImplementedError

    def hessian(self, sample: Sample) -> Array:
        """The matrix that ``hessian_of`` computes for all rows in one process."""
        of = None
        if not sample.whole:
            largest, sums = zip(*self._ask("row_curvature", each=True))
            if max(largest) > 0.0:
                of = (self.n, sample.rows, sample.turn, list(sums))
        sparse = of is not None and is_sparse(self.problem.rows)
        _, H, squares = self._ask("hessian", of, sparse)
        H = np.asarray(H / self.n)
        if sparse:
            return set_right(H, squares / self.n)
        return H

    def state_dict(self, k: int) -> dict[str, Array]:
        """Nothing: scores stay with the workers, and are computed from w and D again."""
        return {}

    def load_state_dict(self, state: dict[str, Any], w: Array, D: Array) -> None:
        self.start(w)
        for slot, d in enumerate(D, start=1):
            self.add_direction(slot, d)

    def _means(self, sums: list[Any]) -> Evaluation:
        return Evaluation(*(total / self.n for total in sums))
