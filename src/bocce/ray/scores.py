"""The plane's scores where the rows are: each part keeps its own, and sums travel.

The driver sends a message of a few operations to every worker; each does them on its part's
``Scores`` and answers the last with an array: the largest of something, then sums over rows. The
answers are put together in a tree. A step takes three messages: the gradient; the direction, with
the curvature on the plane; and the point tried there.

A worker that was started anew has no scores. It says so (by no answer), is told what the driver
knows - w, the directions, and the point last tried - and computes them from that.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from ..engines.fused import Looked
from ..engines.metric import DENSE, Chooser, Metric, part_of_hessian, set_right
from ..engines.scores import Scores
from ..problems import Problem
from ..rows import Array
from .cluster import insist
from .workers import gathered, reduced, shared

Operation = tuple[Any, ...]  # the name of a method of PartScores, and its arguments
TURNS = 20  # of telling workers what they have lost
_serial = count(1)


class PartScores:
    """The scores of one part: ``Scores`` whose answers are arrays that can be added up."""

    def __init__(self, problem: Problem, memory: int, place: int) -> None:
        self.scores, self.problem = Scores(problem, memory, ()), problem
        self.n, self.place = problem.n, place

    def start(self, w: Array) -> Array:
        return self._sums(self.scores.start(w))

    def look(self) -> Array:
        return self._sums(self.scores.look())

    def aim(self, slot: int, d: Array, k: int) -> Array:
        far = self.scores.aim(slot, d)
        return np.append(far, self.n * self.scores.gram(k).reshape(-1))

    def scale(self, slot: int, far: float) -> None:
        self.scores.scale(slot, far)

    def move(self, c: Array) -> Array:
        return self._sums(self.scores.move(c), self.scores.far)

    def keep(self, slot: int, far: float) -> None:
        self.scores.keep(slot, far)

    def gram(self, k: int) -> Array:
        return np.append(0.0, self.n * self.scores.gram(k).reshape(-1))

    def gradient(self) -> Array:
        return np.append(0.0, self.scores.gradient())

    def bends(self) -> Array:
        """The largest bend, and the sum of all."""
        bend = self.scores.sweep.bend
        return np.array([bend.max(), bend.sum()])

    def hessian(self, of: tuple[int, int, int, list[float]] | None, with_squares: bool) -> Array:
        """Of all rows, or of those drawn: (n, rows, turn, sums of the bends of all parts)."""
        rows, bend = self.problem.rows, self.scores.sweep.bend
        if of is None:
            H = self.n * rows.gram(bend)
        else:
            n, drawn, turn, sums = of
            before = float(sum(sums[: self.place]))
            H = n * part_of_hessian(rows, bend, drawn, turn, (n, before, float(sum(sums))))
        squares = self.n * rows.squares(bend) if with_squares else np.zeros(0)
        return np.concatenate([[0.0], H.reshape(-1), squares])

    def _sums(self, looked: Looked, far: float = 0.0) -> Array:
        return np.array([far, *(self.n * np.array([looked.value, looked.size, *looked.plane]))])


class Known:
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
            self.D[args[0]] = args[1]
        elif name == "scale":
            self.D[args[0]] = self._row(args[0]) / args[1]
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
        made += [("aim", slot, d, 1) for slot, d in enumerate(self.D) if d is not None]
        return made if self.c is None else [*made, ("move", self.c)]


class ActorScores:
    """``Scores`` of all parts together, as the plane sees them."""

    def __init__(self, problem: Any, memory: int, outputs: tuple[int, ...]) -> None:
        self.problem, self.n, self.memory = problem, problem.n, memory
        self.actors = problem.given.actors
        self.serial, self.turn = next(_serial), 0
        self.known = Known(memory)
        self.waiting: list[Operation] = []  # operations without an answer, sent with the next
        self.curvature: Array | None = None  # on the plane, where it came with an answer
        self.far = 0.0

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
            (part, actor.plane.remote(key, self.memory, place, todo))
            for place, (part, actor) in enumerate(self.actors.items())
        ]
        return gathered(pending) if each else reduced(self.actors, pending)

    def _tell_the_new(self) -> None:
        """Workers that are not where the others are get there."""
        before, now = (self.serial, self.turn - 1), (self.serial, self.turn)
        lost = self.known.operations() if self.turn > 1 else []

        def tell() -> None:
            gathered(
                [
                    (part, actor.catch_up.remote(before, now, self.memory, place, lost))
                    for place, (part, actor) in enumerate(self.actors.items())
                ]
            )

        insist(tell)

    # -- what the plane asks -------------------------------------------------------------------

    def start(self, w: Array) -> Looked:
        self.curvature = None
        return self._looked(self._ask("start", w.copy()))

    def look(self) -> Looked:
        self.curvature = None
        return self._looked(self._ask("look"))

    def aim(self, slot: int, d: Array) -> float:
        k = 1 + max((i for i, row in enumerate(self.known.D) if row is not None), default=0)
        k = max([k, slot + 1, *(1 + op[1] for op in self.waiting if op[0] == "keep")])
        answer = self._ask("aim", slot, d.copy(), k)
        self.curvature = (answer[1:] / self.n).reshape(k, k)
        return float(answer[0])

    def scale(self, slot: int, far: float) -> None:
        self.waiting.append(("scale", slot, far))
        if self.curvature is not None:
            self.curvature[slot] /= far
            self.curvature[:, slot] /= far

    def move(self, c: Array) -> Looked:
        self.curvature = None
        answer = self._ask("move", c.copy())
        self.far = float(answer[0])
        return self._looked(answer)

    def keep(self, slot: int, far: float) -> None:
        self.waiting.append(("keep", slot, far))
        self.curvature = None

    def gram(self, k: int, slot: int | None = None) -> Array:
        if self.curvature is None or len(self.curvature) < k:
            self.curvature = (self._ask("gram", k)[1:] / self.n).reshape(k, k)
        found = self.curvature[:k, :k]
        return found if slot is None else found[:, slot : slot + 1]

    def gradient(self) -> Array:
        return self._ask("gradient")[1:]

    def metric(self, ridge: Array, chooser: Chooser) -> Metric:
        """As ``sampled_metric`` makes it of all rows in one place."""
        chooser.take()
        of = None
        if not chooser.whole:
            bends = self._ask("bends", each=True)
            if bends[:, 0].max() > 0.0:
                of = (self.n, chooser.rows, chooser.taken, bends[:, 1].tolist())
        rows, d = self.problem.rows, self.problem.d
        sparse = of is not None and rows.cost < DENSE * rows.n * d
        answer = self._ask("hessian", of, sparse)[1:] / self.n
        H = answer[: d * d].reshape(d, d)
        return Metric.of(set_right(H, answer[d * d :]) if sparse else H, ridge, 1.0 / chooser.rows)

    def state(self, k: int) -> dict[str, Array]:
        """Nothing: scores stay where they are, and are had from w and D again."""
        return {}

    def restore(self, state: dict[str, Any], w: Array, D: Array) -> None:
        self.start(w)
        for slot, d in enumerate(D, start=1):
            self.aim(slot, d)

    def _looked(self, answer: Array) -> Looked:
        return Looked(
            float(answer[1] / self.n), float(answer[2] / self.n), np.asarray(answer[3:] / self.n)
        )
