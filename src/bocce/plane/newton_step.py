"""Exact Newton step with a line search, where the Hessian of all rows was taken at w itself.

The full step -H^-1 g then ends nearly where f is least along it. So only points on that line are
tried: one product with X, one or two evaluations, one product with X^T. If no such point lowers f
enough, the plane of all directions is searched.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .linalg import falls
from .scores.base import Evaluation, Scores

NEAR = 0.03  # At the end no more than this share of the slope along the line may be left.
TRIES = 5  # So many lengths are tried.
LONGER = 4.0  # A length is at most so many times the last one.


class Penalty(NamedTuple):
    """The penalty along a direction: its value at the start, and its derivatives there."""

    value: float
    slope: float
    curvature: float


class LinePoint(NamedTuple):
    """A search along a line: the length (None if none will do), what was evaluated there, and the
    number of evaluations."""

    length: float | None
    evaluation: Evaluation | None
    evaluations: int


def search(scores: Scores, slope: float, value: float, slack: float, penalty: Penalty) -> LinePoint:
    """A length t at which f is nearly least along direction 0: t = 1 if that will do.

    ``slope`` and ``value`` are those of f at the start, where rounding hides ``slack``. No length
    is found where f does not fall, or its slope does not become small enough.
    """
    t, line = 1.0, LineSearch(slope)
    for tried in range(1, TRIES + 1):
        found = scores.try_step(np.array([t]))
        more = t * (penalty.slope + 0.5 * t * penalty.curvature)
        change = found.value + penalty.value + more - value
        after = float(found.plane_gradient[0]) + penalty.slope + t * penalty.curvature
        if abs(after) <= -NEAR * slope and falls(change, slack, t * after, t * slope):
            return LinePoint(t, found, tried)
        if not math.isfinite(after):
            return LinePoint(None, None, tried)
        curvature = 0.0
        if after <= 0.0:
            curvature = float(scores.curvature(1)[0, 0]) + penalty.curvature
        t = line.next(t, after, curvature)
    return LinePoint(None, None, TRIES)


class LineSearch:
    """Where to look next for the zero of a slope that rises along a line, below zero at 0.

    By Newton's method as long as no slope above zero is known, and between two known ones after
    that, as if it were straight.

    >>> LineSearch(-1.0).next(1.0, 3.0, 0.0)
    0.25
    """

    def __init__(self, slope: float) -> None:
        self.low, self.high = (0.0, slope), (math.inf, math.inf)

    def next(self, t: float, slope: float, curvature: float) -> float:
        """After t, where the slope and (if that is below zero) its derivative are these."""
        if slope > 0.0:
            self.high = (t, slope)
        else:
            self.low = (t, slope)
        (a, below), (b, above) = self.low, self.high
        if b < math.inf:
            return a + (b - a) * below / (below - above)
        return min(t - slope / curvature, LONGER * t) if curvature > 0.0 else LONGER * t
