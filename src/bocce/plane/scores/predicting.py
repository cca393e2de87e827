"""Scores that take two products with X in one go: a step's direction, and the gradient at its end.

If the metric is good, the step ends near where Newton's method says. So the gradient there is
computed together with the scores of the direction, a block of rows at a time: rows are read once a
step instead of twice. If the step ends elsewhere, the gradient is computed there in a second pass,
and no gradient is predicted until there is a new metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..._types import Array
from ...problems import Problem
from ...rows import Rows
from ..linalg import largest
from ..parts import parts_of
from .base import Evaluation
from .memory import MemoryScores


class PredictingScores(MemoryScores):
    """``MemoryScores`` that know the gradient at ``guess`` times the direction last added.

    ``total`` is X^T slope where the last evaluation was, if that is known.
    """

    def __init__(self, problem: Problem, memory: int, outputs: tuple[int, ...]) -> None:
        super().__init__(problem, memory, outputs)
        self._forget()

    def _forget(self) -> None:
        self.guess = 0.0
        self.guessed: Array | None = None
        self.total: Array | None = None

    def _blocks(self) -> Iterator[tuple[slice, Rows]]:
        """All rows, a block that fits into the cache at a time."""
        yield from parts_of(self.rows, math.prod(self.shape[1:]))

    def predicts_gradient(self, trusted: bool) -> bool:
        return trusted

    def start(self, w: Array) -> Evaluation:
        self._forget()
        return super().start(w)

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        """U[slot] = X d; where ``likely_step`` is not 0, with the gradient there."""
        u, total = self.U[slot], np.zeros(d.shape)
        for place, rows in self._blocks():
            u[place] = rows.times(d)
            if likely_step:
                z, y = self.z[place] + likely_step * u[place], self.y[place]
                total += rows.combine(self.problem.weighted(self.loss.slope(z, y), place))
        if slot == 0:
            self.guess, self.guessed = likely_step, total if likely_step else None
        return largest(u)

    def scale_direction(self, slot: int, factor: float) -> None:
        super().scale_direction(slot, factor)
        if slot == 0:
            self.guess *= factor

    def _evaluate(self, c: Array | None) -> Evaluation:
        total = self.total if c is None and self.c is None else None
        if c is not None and c[0] == self.guess and not c[1:].any():
            total = self.guessed
        found, self.total = super()._evaluate(c), total
        return found

    def accept(self, slot: int, factor: float) -> None:
        super().accept(slot, factor)
        self.guessed = None

    def gradient(self) -> Array:
        if self.total is None:
            self.total = super().gradient()
        return self.total

    def state_dict(self, k: int) -> dict[str, Array]:
        known = {} if self.total is None else {"total": self.total.copy()}
        return {**super().state_dict(k), **known}

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        super().load_state_dict(state, w, D)
        self.total = np.array(state["total"]) if "total" in state else None
