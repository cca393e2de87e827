"""Newton's method on the plane: f as a function of as many numbers as there are directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._types import Array
from ..control import RunVerdict
from .directions import Directions
from .linalg import falls, largest, solve, units
from .scores.base import Evaluation, Scores

HOPELESS = 0.01  # A fall of f below this share of its rounding cannot be seen.
PREDICTED = 1.5  # Where a product with X^T is saved, a gradient so many times as large will do.
SHORTEST = 1e-300  # No Newton step is cut to less than this share; rounding ends it before.
SHARE = 0.1  # Without curvature a step fell enough by this share of what its slope promised.


@dataclass(frozen=True)
class PlaneLimits:
    """How often something is done: ``refresh_every`` steps scores are computed from w;
    ``newton_steps`` are taken on one plane at most; ``stalls`` steps may gain nothing, and
    ``escapes`` may move a score far for nothing, before a run is over. Of several outputs no more
    than ``score_bytes`` of scores are kept.

    A sample is solved first where X has ``sample_numbers`` in memory, and ``sample_rows`` for each
    column. On covtype that takes 0.5 to 0.7 of the time, on a million rows 0.9; with fewer rows the
    sample's metric is too rough, and 100,000 x 200 takes 1.2 to 1.4 times as long."""

    refresh_every: int = 50
    newton_steps: int = 30
    stalls: int = 10
    escapes: int = 5
    score_bytes: int = 1 << 32
    sample_numbers: int = 1 << 23
    sample_rows: int = 6400


LIMITS = PlaneLimits()


class PlanePoint(NamedTuple):
    """The best point of a plane: its coordinates, what was evaluated, and the fall foreseen."""

    c: Array
    evaluation: Evaluation
    predicted: float


class Step(NamedTuple):
    """What a step of the plane found, at the new point."""

    value: float
    gradient: Array
    norm: float  # of the gradient
    predicted: float  # by how much f falls, as the first Newton step on the plane sees it
    products: int  # with X and X^T, so far
    evaluations: int  # of the loss of all rows, so far
    verdict: RunVerdict


class Subspace:
    """f(w + D c) for the first k directions; f, its rounding ``slack``, gradient and penalty at w
    are these.

    ``evaluations`` counts what was spent; ``trusted`` is whether the predicted step was right, None
    where there was none.
    """

    def __init__(
        self,
        scores: Scores,
        directions: Directions,
        value: float,
        slack: float,
        gradient: Array,
        penalty: float,
        penalty_gradient: Array | None,
        k: int,
        limits: PlaneLimits = LIMITS,
    ) -> None:
        self.scores, self.directions, self.limits = scores, directions, limits
        self.value, self.slack, self.penalty = value, slack, penalty
        D = directions.rows(k)
        self.a = D @ gradient.reshape(-1)  # the gradient on the plane
        self.penalised = penalty_gradient is not None
        self.penalty_slope = np.zeros(k)
        if penalty_gradient is not None:
            self.penalty_slope = D @ penalty_gradient.reshape(-1)
        self.evaluations = 0
        self.trusted: bool | None = None

    def best_point(
        self, share: float, predicted_step: float = 0.0, newton_step: float = 0.0
    ) -> PlanePoint | None:
        """c that leaves ``share`` of the gradient on the plane; None where no fall can be measured.

        ``predicted_step``: a multiple of direction 0 that is taken if it will do. ``newton_step``:
        the one that Newton's method takes, where direction 0 is Newton's and the only one.
        """
        a, k = self.a, self.a.size
        H = a[None] / -newton_step if newton_step else self.directions.curvature(self.scores, k)
        unit = units(H)
        goal = share * largest(a * unit)
        if predicted_step and (there := self._predicted(predicted_step, unit, goal)) is not None:
            return there
        c, value, found, predicted, stretch = np.zeros(k), self.value, None, 0.0, 1.0
        for _ in range(self.limits.newton_steps):
            p = solve(H, a, unit)
            p *= -stretch
            slope = float(a @ p)
            if not math.isfinite(slope):  # hardly any curvature: then by the gradient alone
                p, slope = -a, -float(a @ a)
            if not slope < 0.0:
                break
            reach = self._reach(slope, value)
            p, slope = p * reach, slope * reach
            predicted = predicted or -0.5 * slope
            tried = self._search(c, p, value, slope, SHARE if reach < 1.0 else 0.0)
            if tried is None:
                if found is not None:
                    found = self._try(c)[0]
                break
            t, found, value, a = tried
            c = c + t * p
            if largest(a * unit) <= goal:
                break
            if t == 1.0 and float(a @ p) < 0.5 * slope:
                stretch *= 4.0  # f bends less than its second derivative says: Huber's loss, far
                continue
            stretch, H = 1.0, self.directions.curvature(self.scores, k)
            unit = units(H)
        return None if found is None else PlanePoint(c, found, predicted)

    def _predicted(self, step: float, unit: Array, goal: float) -> PlanePoint | None:
        """The point where the scores know the gradient, if it will do."""
        c = np.zeros(self.a.size)
        c[0] = step
        slope = float(self.a @ c)
        found, value, after = self._try(c)
        good = slope < 0.0 and falls(value - self.value, self.slack, float(after @ c), slope)
        self.trusted = good and float(np.abs(after * unit).max()) <= PREDICTED * goal
        return PlanePoint(c, found, -0.5 * slope) if self.trusted else None

    def _reach(self, slope: float, value: float) -> float:
        """The share of a Newton step to try first; 1 unless the step promises a fall of f below its
        infimum. Then second derivatives say nothing (Huber's loss far from the targets, the Poisson
        loss at a very negative score), and a straight line is followed down to the infimum."""
        if -0.5 * slope <= abs(value):
            return 1.0
        room = max(value - self.scores.infimum(), self.slack)
        return room / -slope if -0.5 * slope > room else 1.0

    def _search(
        self, c: Array, p: Array, value: float, slope: float, share: float
    ) -> tuple[float, Evaluation, float, Array] | None:
        """The first of t = 1, 1/4, 1/16 ... at which f(w + D (c + t p)) falls, and by more than
        ``share`` of what its slope promises."""
        t = 1.0
        while t > SHORTEST:
            found, new, a = self._try(c + t * p)
            enough = new - value <= share * t * slope + self.slack
            if enough and falls(new - value, self.slack, float(a @ p), slope):
                return t, found, new, a
            if -slope * t < HOPELESS * self.slack:
                return None  # what a shorter step could gain is rounding
            t *= 0.25
        return None

    def _try(self, c: Array) -> tuple[Evaluation, float, Array]:
        """The loss at w + D c, f, and the gradient on the plane."""
        self.evaluations += 1
        k, found = c.size, self.scores.try_step(c)
        if not self.penalised:
            return found, found.value, found.plane_gradient
        Qc = self.directions.penalty_gram[:k, :k] @ c
        penalty = self.penalty + float(c @ (self.penalty_slope + 0.5 * Qc))
        return found, found.value + penalty, found.plane_gradient + self.penalty_slope + Qc
