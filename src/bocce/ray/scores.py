"""The plane's scores where the rows are: each part keeps its own, and sums travel.

The driver sends a message of a few operations to every worker; each does them on its part's
``Scores`` and answers the last with an array: the largest of something, then sums over rows. The
answers are put together in a tree.

A step takes one message where the metric is good: the direction goes down; the curvature on the
plane, and value and gradient at the end of Newton's step, come up. Where the plane goes elsewhere
there are two more, for the best point and the gradient there.

A worker that was started anew has no scores. It says so (by no answer), is told what the driver
knows - w, the directions, and the point last tried - and computes them from that.
"""

from __future__ import annotations

import math
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ..plane.metrics.base import Sample, is_sparse
from ..plane.scores import FileScores, PredictingScores
from ..plane.scores.base import Evaluation
from ..plane.scores.sampled import part_of_hessian, set_right
from ..problems import Problem
from ..rows import Array
from .cluster import insist
from .workers import Made, gathered, reduced, shared

Operation = tuple[Any, ...]  # the name of a method of PartScores, and its arguments
TURNS = 20  # of telling workers what they have lost
_serial = count(1)


class PartScores:
    """The scores of one part: ``Scores`` whose answers are arrays that can be added up."""

    def __init__(self, problem: Problem, memory: int, place: int) -> None:
        kind = FileScores if problem.in_parts else PredictingScores
        self.scores, self.problem = kind(problem, memory, problem.shape[1:]), problem
        self.n, self.place = problem.n, place

    def start(self, w: Array) -> Array:
        return self._sums(self.scores.start(w))

    def look(self) -> Array:
        return self._sums(self.scores.look())

    def aim(self, slot: int, d: Array, k: int, step: float = 0.0) -> Array:
        """U[slot] = X d, with the curvature of the first k directions; where ``step`` is not 0,
        followed by what there is to see at z + step U[slot]."""
        far = self.scores.add_direction(slot, d, step)
        parts = [[far], self.n * self.scores.curvature(k).reshape(-1)]
        if step:
            c = np.zeros(k)
            c[slot] = step
            parts += [self._sums(self.scores.try_step(c))[1:], self.scores.gradient().reshape(-1)]
        return np.concatenate(parts)

    def scale(self, slot: int, far: float) -> None:
        self.scores.scale_direction(slot, far)

    def move(self, c: Array) -> Array:
        return self._sums(self.scores.try_step(c), self.scores.max_change)

    def keep(self, slot: int, far: float) -> None:
        self.scores.accept(slot, far)

    def gram(self, k: int) -> Array:
        return np.append(0.0, self.n * self.scores.curvature(k).reshape(-1))

    def gradient(self) -> Array:
        return np.append(0.0, self.scores.gradient().reshape(-1))

    def infimum(self) -> Array:
        return np.array([0.0, self.n * self.scores.infimum()])

    def bends(self) -> Array:
        """The largest bend, and the sum of all."""
        bend = self.scores.row_curvature()
        return np.array([bend.max(), bend.sum()])

    def squares(self) -> Array:
        return np.append(0.0, self.n * self.scores.hessian_diagonal())

    def hessian(self, of: tuple[int, int, int, list[float]] | None, with_squares: bool) -> Array:
        """Of all rows, or of those drawn: (n, rows, turn, sums of the bends of all parts)."""
        rows, bend = self.problem.rows, self.scores.row_curvature()
        if of is None:
            H = self.n * rows.gram(bend)
        else:
            n, drawn, turn, sums = of
            before = float(sum(sums[: self.place]))
            H = n * part_of_hessian(rows, bend, drawn, turn, (n, before, float(sum(sums))))
        squares = self.n * rows.squares(bend) if with_squares else np.zeros(0)
        return np.concatenate([[0.0], H.reshape(-1), squares])

    def _sums(self, looked: Evaluation, far: float = 0.0) -> Array:
        return np.array(
            [far, *(self.n * np.array([looked.value, looked.scale, *looked.plane_gradient]))]
        )


class DriverState:
    """What the driver knows of the scores: w, D, and c where the last look was at z + c U."""

    def __init__(self, memory: int) -> None:
        self.w = np.zeros(0)
        self.D: list[Array | None] = [None] * (memory + 1)
        self.c: Array | None = None

    def done(self, name: str, *args: Any) -> None:
        """An operation was done by all."""
        if name == "start":
            self.w, self.c = args[0], None
        elif name == "look":
            self.c = None
        elif name == "aim":
            slot, d, k, step = args
            self.D[slot] = d
            if step:  # the workers stand at the guess
                self.c = np.zeros(k)
                self.c[slot] = step
        elif name == "scale":
            self.D[args[0]] = self._row(args[0]) / args[1]
            if self.c is not None:
                self.c[args[0]] *= args[1]
        elif name == "move":
            self.c = args[0]
        elif name == "keep":
            assert self.c is not None
            moved = sum(x * self._row(slot) for slot, x in enumerate(self.c))
            self.w, self.c = self.w + moved, None
            if args[0]:
                self.D[args[0]] = moved / args[1]

    def _row(self, slot: int) -> Array:
        row = self.D[slot]
        assert row is not None
        return row

    def operations(self) -> list[Operation]:
        """Those that lead to the same scores, to rounding."""
        made: list[Operation] = [("start", self.w)]
        made += [("aim", slot, d, 1, 0.0) for slot, d in enumerate(self.D) if d is not None]
        return made if self.c is None else [*made, ("move", self.c)]


class Guess(NamedTuple):
    """What came with a direction: a point on the plane, and what there is to see there."""

    c: Array
    looked: Evaluation
    far: float
    gradient: Array


class ActorScores:
    """``Scores`` of all parts together, as the plane sees them."""

    eps = float(np.finfo(np.float64).eps)

    def __init__(self, problem: Any, memory: int, outputs: tuple[int, ...]) -> None:
        self.problem, self.n, self.memory = problem, problem.n, memory
        self.shape = (problem.rows.d, *outputs)  # of w
        self.actors = problem.given.actors
        self.serial, self.turn = next(_serial), 0
        self.known = DriverState(memory)
        self.waiting: list[Operation] = []  # operations without an answer, sent with the next
        self.known_curvature: Array | None = None  # on the plane, where it came with an answer
        self.max_change = 0.0
        self.guess: Guess | None = None
        self.total: Array | None = None  # X^T slope where last was looked, if that is known

    # -- messages ------------------------------------------------------------------------------

    def _ask(self, *operation: Any, each: bool = False) -> Array:
        """The answer to an operation, after those that wait; ``each``: a row a part."""
        todo = [*self.waiting, operation]
        self.turn += 1
        sent = [self._light(one) for one in todo]
        answer = self._round(sent, each)
        for one in todo:
            self.known.done(*one)
        self.waiting = []
        return answer

    def _light(self, operation: Operation) -> Operation:
        return tuple(shared(a) if isinstance(a, np.ndarray) else a for a in operation)

    def _round(self, todo: list[Operation], each: bool) -> Array:
        for _ in range(TURNS):
            answer = insist(lambda: self._once(todo, each))
            if answer is not None:
                return np.asarray(answer)
            self._tell_the_new()
        raise RuntimeError(
            f"ray.minimize: workers were lost {TURNS} times in one step, must stay for a while; "
            "see why they end (`ray logs`, memory?), or give smaller parts."
        )

    def _once(self, todo: list[Operation], each: bool) -> Any:
        key = (self.serial, self.turn)
        pending = [
            (part, actor.plane.remote(key, self._made(place), todo))
            for place, (part, actor) in enumerate(self.actors.items())
        ]
        return gathered(pending) if each else reduced(self.actors, pending)

    def _made(self, place: int) -> Made:
        return self.problem.frame, self.memory, place

    def _tell_the_new(self) -> None:
        """Workers that are not where the others are get there."""
        before, now = (self.serial, self.turn - 1), (self.serial, self.turn)
        lost = self.known.operations() if self.turn > 1 else []

        def tell() -> None:
            gathered(
                [
                    (part, actor.catch_up.remote(before, now, self._made(place), lost))
                    for place, (part, actor) in enumerate(self.actors.items())
                ]
            )

        insist(tell)

    # -- what the plane asks -------------------------------------------------------------------

    def first_direction(self) -> Array | None:
        return None

    def predicts_gradient(self, trusted: bool) -> bool:
        return trusted

    def start(self, w: Array) -> Evaluation:
        self._forget()
        return self._looked(self._ask("start", w.copy()))

    def look(self) -> Evaluation:
        self._forget()
        return self._looked(self._ask("look"))

    def _forget(self) -> None:
        self.known_curvature = self.guess = self.total = None

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        step, k = (
            likely_step,
            1 + max((i for i, row in enumerate(self.known.D) if row is not None), default=0),
        )
        k = max([k, slot + 1, *(1 + op[1] for op in self.waiting if op[0] == "keep")])
        answer = self._ask("aim", slot, d.copy(), k, step)
        far, squares = float(answer[0]), k * k + 1
        self.known_curvature = (answer[1:squares] / self.n).reshape(k, k)
        self.guess = None
        if step:
            c, end = np.zeros(k), squares + 2 + k
            c[slot] = step
            seen = self._looked(np.append(0.0, answer[squares:end]))
            total = answer[end:].reshape(self.shape)
            self.guess = Guess(c, seen, abs(step) * far, total)
        return far

    def scale_direction(self, slot: int, factor: float) -> None:
        self.waiting.append(("scale", slot, factor))
        if self.known_curvature is not None:
            self.known_curvature[slot] /= factor
            self.known_curvature[:, slot] /= factor
        if self.guess is not None:
            self.guess.c[slot] *= factor
            self.guess.looked.plane_gradient[slot] /= factor

    def try_step(self, c: Array) -> Evaluation:
        guess = self.guess
        self._forget()
        if guess is not None and np.array_equal(guess.c[: c.size], c):
            self.max_change, self.total = guess.far, guess.gradient
            seen = guess.looked  # the workers stand there already
            return Evaluation(seen.value, seen.scale, seen.plane_gradient[: c.size])
        answer = self._ask("move", c.copy())
        self.max_change = float(answer[0])
        return self._looked(answer)

    def accept(self, slot: int, factor: float) -> None:
        self.waiting.append(("keep", slot, factor))
        self.known_curvature = None

    def curvature(self, k: int, slot: int | None = None) -> Array:
        if self.known_curvature is None or len(self.known_curvature) < k:
            self.known_curvature = (self._ask("gram", k)[1:] / self.n).reshape(k, k)
        found = self.known_curvature[:k, :k]
        return found if slot is None else found[:, slot : slot + 1]

    def gradient(self) -> Array:
        if self.total is None:
            self.total = self._ask("gradient")[1:].reshape(self.shape)
        return self.total

    def infimum(self) -> float:
        return float(self._ask("infimum")[1]) / self.n

    def hessian_diagonal(self) -> Array:
        """The diagonal of X^T diag(bend) X / n, where last was looked."""
        return np.asarray(self._ask("squares")[1:] / self.n)

    def gradient_error(self) -> Array | None:
        return None

    def row_curvature(self) -> Array:
        """Not to be had in one place."""
        raise NotImplementedError

    def max_score(self) -> float:
        return math.inf

    def hessian(self, sample: Sample) -> Array:
        """As ``hessian_of`` makes it of all rows in one place."""
        of = None
        if not sample.whole:
            bends = self._ask("bends", each=True)
            if bends[:, 0].max() > 0.0:
                of = (self.n, sample.rows, sample.turn, bends[:, 1].tolist())
        rows, d = self.problem.rows, self.problem.rows.d
        sparse = of is not None and is_sparse(rows)
        answer = self._ask("hessian", of, sparse)[1:] / self.n
        H = answer[: d * d].reshape(d, d)
        return set_right(H, answer[d * d :]) if sparse else H

    def state_dict(self, k: int) -> dict[str, Array]:
        """Nothing: scores stay where they are, and are had from w and D again."""
        return {}

    def load_state_dict(self, state: dict[str, Any], w: Array, D: Array) -> None:
        self.start(w)
        for slot, d in enumerate(D, start=1):
            self.add_direction(slot, d)

    def _looked(self, answer: Array) -> Evaluation:
        return Evaluation(
            float(answer[1] / self.n), float(answer[2] / self.n), np.asarray(answer[3:] / self.n)
        )
