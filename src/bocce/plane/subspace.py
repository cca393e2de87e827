"""Newton's method on the plane: f as a function of as many numbers as there are directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._types import Array
from .directions import Directions
from .linalg import falls, largest, solve, units
from .scores.base import Evaluation, Scores

HOPELESS = 0.01  # A fall of f below this share of its rounding error cannot be measured.
PREDICTED = 1.5  # A predicted step, which saves a pass, may leave this many times the gradient.
SHORTEST_CUT = 1e-300  # A Newton step is cut to no less than this share; rounding ends it before.
PROMISED_FALL = 0.1  # Without curvature, f must fall by this share of what the slope promises.


@dataclass(frozen=True)
class PlaneLimits:
    """How often something is done: scores are computed from w every ``refresh_every`` steps; at
    most ``newton_steps`` are taken on one plane; a run ends after ``stalls`` steps that gain
    nothing, or ``escapes`` steps that move a score far for nothing. Scores of several outputs are
    stored up to ``score_bytes``.

    A sample is solved first if X has ``sample_numbers`` in memory and ``sample_rows`` for each
    column. Runs on covtype then take 0.5 to 0.7 of the time, on a million rows 0.9. With fewer rows
    the sample's metric is too rough, and 100,000 x 200 takes 1.2 to 1.4 times as long."""

    refresh_every: int = 50
    newton_steps: int = 30
    stalls: int = 10
    escapes: int = 5
    score_bytes: int = 1 << 32
    sample_numbers: int = 1 << 23
    sample_rows: int = 6400


LIMITS = PlaneLimits()


class PlanePoint(NamedTuple):
    """The best point of a plane: coordinates, evaluation, and the predicted fall of f."""

    c: Array
    evaluation: Evaluation
    predicted: float


def full_step(H: Array, a: Array, unit: Array, stretch: float) -> tuple[Array, float]:
    """The step -H^-1 a, so many times as long, and its slope; along -a if there is hardly any
    curvature."""
    p = solve(H, a, unit)
    p *= -stretch
    slope = float(a @ p)
    if math.isfinite(slope):
        return p, slope
    return -a, -float(a @ a)


class Subspace:
    """f(w + D c) for the first k directions, given f, its rounding error ``slack``, its gradient
    and its penalty at w.

    ``evaluations`` counts evaluations of the loss; ``trusted``: was the predicted step taken (None
    if there was none)?
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
        self.scores = scores
        self.directions = directions
        self.limits = limits
        self.value = value
        self.slack = slack
        self.penalty = penalty
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
        """c that leaves ``share`` of the gradient on the plane; None if no fall can be measured.

        ``predicted_step``: a multiple of direction 0 that is taken if it is good enough.
        ``newton_step``: the multiple that Newton's method takes, if direction 0 is Newton's and the
        only one.
        """
        k = self.a.size
        if newton_step:
            H = self.a[None] / -newton_step
        else:
            H = self.directions.curvature(self.scores, k)
        unit = units(H)
        goal = share * largest(self.a * unit)
        if predicted_step and (there := self._predicted(predicted_step, unit, goal)) is not None:
            return there
        return self._by_newton(H, unit, goal)

    def _by_newton(self, H: Array, unit: Array, goal: float) -> PlanePoint | None:
        """Newton steps from w, until the gradient's largest entry in these units is the goal."""
        a = self.a
        c = np.zeros(a.size)
        value = self.value
        found = None
        predicted = 0.0
        stretch = 1.0
        for _ in range(self.limits.newton_steps):
            p, slope = full_step(H, a, unit, stretch)
            if not slope < 0.0:
                break
            reach = self._reach(slope, value)
            p = p * reach
            slope = slope * reach
            predicted = predicted or -0.5 * slope
            tried = self._search(c, p, value, slope, PROMISED_FALL if reach < 1.0 else 0.0)
            if tried is None:
                if found is not None:
                    found = self._try(c)[0]
                break
            t, found, value, a = tried
            c = c + t * p
            if largest(a * unit) <= goal:
                break
            if t == 1.0 and float(a @ p) < 0.5 * slope:
                stretch *= 4.0  # less curvature than at w: Huber's loss, far from the targets
                continue
            stretch = 1.0
            H = self.directions.curvature(self.scores, a.size)
            unit = units(H)
        if found is None:
            return None
        return PlanePoint(c, found, predicted)

    def _predicted(self, step: float, unit: Array, goal: float) -> PlanePoint | None:
        """The point at which the scores know the gradient, if it is good enough."""
        c = np.zeros(self.a.size)
        c[0] = step
        slope = float(self.a @ c)
        found, value, after = self._try(c)
        good = slope < 0.0 and falls(value - self.value, self.slack, float(after @ c), slope)
        self.trusted = good and float(np.abs(after * unit).max()) <= PREDICTED * goal
        if self.trusted:
            return PlanePoint(c, found, -0.5 * slope)
        return None

    def _reach(self, slope: float, value: float) -> float:
        """The share of a Newton step to try first: 1 unless the step promises a value below the
        infimum of f. Then second derivatives mean nothing (Huber's loss far from the targets, the
        Poisson loss at a very negative score), and a straight line is followed to the infimum."""
        if -0.5 * slope <= abs(value):
            return 1.0
        room = max(value - self.scores.infimum(), self.slack)
        if -0.5 * slope > room:
            return room / -slope
        return 1.0

    def _search(
        self, c: Array, p: Array, value: float, slope: float, share: float
    ) -> tuple[float, Evaluation, float, Array] | None:
        """The first of t = 1, 1/4, 1/16 ... at which f(w + D (c + t p)) falls, and by more than
        ``share`` of what its slope promises."""
        t = 1.0
        while t > SHORTEST_CUT:
            found, new, a = self._try(c + t * p)
            enough = new - value <= share * t * slope + self.slack
            if enough and falls(new - value, self.slack, float(a @ p), slope):
                return t, found, new, a
            if -slope * t < HOPELESS * self.slack:
                return None  # a shorter step can gain no more than rounding
            t *= 0.25
        return None

    def _try(self, c: Array) -> tuple[Evaluation, float, Array]:
        """The loss at w + D c, f, and the gradient on the plane."""
        self.evaluations += 1
        k = c.size
        found = self.scores.try_step(c)
        if not self.penalised:
            return found, found.value, found.plane_gradient
        Qc = self.directions.penalty_gram[:k, :k] @ c
        penalty = self.penalty + float(c @ (self.penalty_slope + 0.5 * Qc))
        return found, found.value + penalty, found.plane_gradient + self.penalty_slope + Qc
