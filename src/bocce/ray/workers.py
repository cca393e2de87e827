"""The workers: one part each, and sums over its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import ray

from ..plane.scores import FileScores, MemoryScores
from ..plane.scores.base import Evaluation
from ..plane.scores.sampled import part_of_hessian
from ..problems import Problem
from ..rows import Array

FAN_IN = 8  # The number of answers that one worker of the tree joins.
PUT_BYTES = 100_000  # Larger arrays are stored once a message; smaller ones travel with each call.
Key = tuple[int, int]  # the number of the run, and the number of its message
Answer = list[Any]  # a number whose maximum over the parts is wanted, and sums over rows
Home = tuple[Any, Any]  # [a reference to the source], and [a reference to a frame] or None
Made = tuple[Home, int, int]  # where the part comes from, the plane's memory, the part's place


class PartScores:
    """The scores of one part: ``Scores`` whose answers can be joined with those of other parts."""

    def __init__(self, problem: Problem, memory: int, place: int) -> None:
        if problem.in_parts:
            kind = FileScores
        else:
            kind = MemoryScores
        self.scores = kind(problem, memory, problem.shape[1:])
        self.problem = problem
        self.n = problem.n
        self.place = place

    def start(self, w: Array) -> Answer:
        return self._sums(self.scores.start(w))

    def look(self) -> Answer:
        return self._sums(self.scores.look())

    def add_direction(self, slot: int, d: Array, k: int, step: float = 0.0) -> Answer:
        """The curvature of the first k directions, and where ``step`` is not 0, value and gradient
        at z + step U[slot]."""
        change = self.scores.add_direction(slot, d, step)
        answer = [change, self.n * self.scores.curvature(k)]
        if step:
            found = self.scores.try_step(step * np.eye(k)[slot])
            answer += [*self._sums(found)[1:], self.scores.gradient()]
        return answer

    def scale_direction(self, slot: int, factor: float) -> None:
        self.scores.scale_direction(slot, factor)

    def try_step(self, c: Array) -> Answer:
        return self._sums(self.scores.try_step(c), self.scores.max_change)

    def accept(self, slot: int, factor: float) -> None:
        self.scores.accept(slot, factor)

    def curvature(self, k: int) -> Answer:
        return [0.0, self.n * self.scores.curvature(k)]

    def gradient(self) -> Answer:
        return [0.0, self.scores.gradient()]

    def infimum(self) -> Answer:
        return [0.0, self.n * self.scores.infimum()]

    def row_curvature(self) -> Answer:
        """The largest second derivative, and the sum of all."""
        bend = self.scores.row_curvature()
        return [float(bend.max()), float(bend.sum())]

    def hessian_diagonal(self) -> Answer:
        return [0.0, self.n * self.scores.hessian_diagonal()]

    def hessian(self, of: tuple[int, int, int, list[float]] | None, with_squares: bool) -> Answer:
        """Of all rows, or of those drawn: (n, rows, turn, sums of the bends of all parts)."""
        rows = self.problem.rows
        bend = self.scores.row_curvature()
        if of is None:
            H = self.n * rows.gram(bend)
        else:
            n, drawn, turn, sums = of
            before = float(sum(sums[: self.place]))
            H = n * part_of_hessian(rows, bend, drawn, turn, (n, before, float(sum(sums))))
        return [0.0, H, self.n * rows.squares(bend) if with_squares else 0.0]

    def _sums(self, found: Evaluation, change: float = 0.0) -> Answer:
        return [change, *(self.n * mean for mean in found)]


class Worker:
    """One part: rows from their source, and sums over them. A killed worker is made again.

    Every message names the source, so that a worker that was started again can load its rows. (Ray
    prints an error where the source is an argument of a constructor that may be called again.)
    """

    def __init__(self, loss: Any, l2: float, intercept: bool) -> None:
        self.facts = (loss, l2, intercept)
        self.own: Problem | None = None
        self.framed: tuple[Any, Any] = (None, None)  # in the variables of the last call
        self.key: Key = (0, 0)  # the last message on scores that was answered
        self.answer: Answer | None = None
        self.scores: Any = None

    def problem(self, home: Home) -> Problem:
        """The part in the variables of a frame, or in the caller's own."""
        source, frame = home
        if self.own is None:
            self.own = ray.get(source[0])(*self.facts)
        if frame is None:
            return self.own
        if self.framed[0] != frame[0]:
            self.framed = frame[0], ray.get(frame[0]).problem(self.own)
        framed: Problem = self.framed[1]
        return framed

    def ask(self, home: Home, ask: Callable[..., Any], *args: Any) -> Any:
        """The part's answer to a function of a problem; of a method, the part's own version."""
        problem = self.problem(home)
        name = ask.__name__
        own = getattr(Problem, name, None) is ask
        if own:
            return getattr(problem, name)(*args)
        return ask(problem, *args)

    # -- the plane's scores ----------------------------------------------------------------------

    def plane(self, made: Made, key: Key, todo: list[Any]) -> Answer | None:
        """Do operations on the scores; the answer to the last, or None where scores are lost.

        ``made`` says how scores are made. ``key`` is the number of the run and of its message: a
        message that comes again gets the same answer.
        """
        if key != self.key:
            if key[1] == 1:
                self.scores = self._scores(made)
            elif self.key != (key[0], key[1] - 1):
                return None
            self.answer = self._do(todo)
            self.key = key
        return self.answer

    def catch_up(self, made: Made, before: Key, now: Key, lost: list[Any]) -> None:
        """Compute lost scores again, unless this worker has its scores."""
        if self.key not in (before, now):
            self.scores = self._scores(made)
            self._do(lost)
            self.key = before

    def _scores(self, made: Made) -> PartScores:
        home, memory, place = made
        return PartScores(self.problem(home), memory, place)

    def _do(self, todo: list[Any]) -> Answer | None:
        answer = None
        with np.errstate(all="ignore"):  # A trial step too far overflows and is not taken.
            for name, *args in todo:
                fetched = (ray.get(a) if isinstance(a, ray.ObjectRef) else a for a in args)
                answer = getattr(self.scores, name)(*fetched)
        return answer

    def join(self, *answers: Answer | None) -> Answer | None:
        """A place in the tree."""
        return joined(answers)


def joined(answers: Sequence[Answer | None]) -> Answer | None:
    """The largest of the first entries, and the sums of the others, in order; None if one is."""
    if any(answer is None for answer in answers):
        return None
    first, *others = zip(*answers)
    return [max(first), *(sum(parts) for parts in others)]


def shared(at: Array) -> Any:
    """The form in which an array is sent to every worker."""
    if at.nbytes > PUT_BYTES:
        return ray.put(at)
    return at


def reduced(actors: dict[int, Any], pending: list[tuple[int, Any]]) -> Answer | None:
    """The answers joined in a tree, whose order depends only on the parts that take part."""
    while len(pending) > FAN_IN:
        groups = [pending[i : i + FAN_IN] for i in range(0, len(pending), FAN_IN)]
        pending = [
            (group[0][0], actors[group[0][0]].join.remote(*(ref for _, ref in group)))
            for group in groups
        ]
    return joined(ray.get([ref for _, ref in pending]))


def gathered(pending: list[tuple[int, Any]]) -> list[Answer] | None:
    """The answers of all parts; None where one of them is."""
    answers = ray.get([ref for _, ref in pending])
    if any(answer is None for answer in answers):
        return None
    return list(answers)
