"""Steps over a stream of chunks that are seen once: stages that double, steps that shrink.

What is kept between chunks is a ``Stream``: plain numbers and arrays, so that it can be pickled and
goes on where it was.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from ..rows import Array
from ..schedules import Schedule
from ..schedules.adaptive import design
from .anytime import FIRST_SHARE, LOWER

BATCH = 8  # rows of a batch, unless said: of 8, 16, 32 and hundreds the best on streams
FIRST_STAGE = 32  # steps; each further stage of "auto" is twice as long,
CUT = math.sqrt(0.5)  # and its steps are so much shorter
AVERAGED = 4  # stages whose iterates are averaged: the last 7/8 of all steps or more


@dataclass
class Trail:
    """One output: w, v = w - w_before, and the sums of w over the last stages, one a row."""

    w: Array
    v: Array
    sums: Array

    @classmethod
    def at(cls, w: Array) -> Trail:
        return cls(w, np.zeros_like(w), np.zeros((AVERAGED, *w.shape)))

    def arrive(self, w: Array, v: Array, total: Array) -> None:
        """Be where steps have led; ``total`` is the sum of the iterates of the stage under way."""
        self.w, self.v = w, v
        self.sums = np.concatenate([total[None], self.sums[1:]])


@dataclass
class StreamPlace:
    """What the steps of a chunk change, and what goes back with them."""

    trails: list[Trail]
    k: int = 0
    stage: int = 0
    stage_end: int = FIRST_STAGE
    summed: tuple[int, ...] = (0,) * AVERAGED  # steps in each row of the trails' ``sums``

    def count(self, steps: int) -> None:
        """So many steps were taken; a stage may end with them."""
        self.k += steps
        self.summed = (self.summed[0] + steps, *self.summed[1:])
        if self.k < self.stage_end:
            return
        self.stage += 1
        self.stage_end += FIRST_STAGE * 2**self.stage
        self.summed = (0, *self.summed[:-1])
        for trail in self.trails:
            trail.sums = np.concatenate([np.zeros_like(trail.sums[:1]), trail.sums[:-1]])

    def average(self, trail: Trail) -> Array:
        """Over the last stages; in the first, where the start still counts, the last iterate."""
        mean: Array = trail.sums.sum(axis=0) / max(1, sum(self.summed))
        return mean if self.stage else trail.w


@dataclass
class Stream:
    """A schedule that goes on from chunk to chunk: a named one, or ``auto``'s doubling stages."""

    L: float
    mu: float
    L_max: float
    place: StreamPlace
    named: Schedule | None = None  # of a method that is not "auto"
    doublings: int = 0
    before: StreamPlace | None = field(default=None, repr=False)

    def steps(self, b: int, most: int) -> Schedule:
        """The next steps, at most so many, up to the end of a stage."""
        k, scale = self.place.k, 2.0**self.doublings
        if self.named is not None:
            held = np.minimum(k + np.arange(most), self.named.T - 1)
            steps, momenta, lookahead = (column[held] for column in self.named.table)
            return Schedule(steps / scale, momenta, lookahead)
        stage = self.place.stage
        mu = min(self.L, max(self.mu, FIRST_SHARE * self.L / LOWER**stage))
        # b rows of endless data have noise 1/b
        alpha, beta, theta = design(scale * self.L, mu, scale * self.L_max, None, 1.0 / b)
        return Schedule(alpha * CUT**stage, beta, theta, T=min(most, self.place.stage_end - k))

    def points(self) -> list[Array]:
        """What is reported, for each output."""
        if self.named is not None:
            return [trail.w for trail in self.place.trails]
        return [self.place.average(trail) for trail in self.place.trails]

    def begin_chunk(self, L_max: float) -> None:
        """A chunk begins, with rows as curved as this: where to go back to if it is taken back."""
        self.L_max, self.before = L_max, deepcopy(self.place)

    def end_chunk(self) -> None:
        """The chunk stays."""
        self.before = None

    def retreat(self) -> None:
        """The chunk is taken back: from rest where it began, with shorter steps."""
        assert self.before is not None
        self.place = deepcopy(self.before)
        for trail in self.place.trails:
            trail.v = np.zeros_like(trail.v)
        self.doublings += 1
