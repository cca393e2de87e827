"""Newton's step, where the Hessian of all rows was taken at w itself.

Then -H^-1 g is nearly all there is to a step, and at full length it ends nearly where f is least
along it. So the points along that line are looked at, and no other directions: a product with X, a
sweep or two, a product with X^T. Where no such point will do, nothing has happened but those looks,
and the plane searches as always.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .fused import Looked
from .small import falls

Array = npt.NDArray[np.float64]

NEAR = 0.03  # of the slope along the line where it begins: more may not be left at the end
TRIES = 5  # lengths
LONGER = 4.0  # times the last one, at most


def full_step(plane: Any) -> tuple[Looked, float] | None:
    """Go to w - t H^-1 g, where f is nearly least along the line: t = 1 if that will do.

    Returns what the sweep saw there, and the fall that was foreseen; None, and w stays where it is,
    where f does not fall or its slope along the line does not become small enough.
    """
    g, scores = plane.gradient, plane.scores
    d = -plane.metric.solve(g)
    slope = float(g @ d)
    if not slope < 0.0:
        return None
    scores.aim(0, d, float(scores.guesses_on(1)))
    plane.products += 1
    along, bent = _pull(plane, d)
    t, line = 1.0, Line(slope)
    for _ in range(TRIES):
        looked = scores.move(np.array([t]))
        plane.sweeps += 1
        change = looked.value + plane.penalty + t * (along + 0.5 * t * bent) - plane.value
        after = float(looked.plane[0]) + along + t * bent
        if abs(after) <= -NEAR * slope and falls(change, plane.slack, t * after, t * slope):
            _go(plane, t * d)
            return looked, -0.5 * slope
        if not math.isfinite(after):
            break
        curvature = 0.0 if after > 0.0 else float(scores.gram(1)[0, 0]) + bent
        t = line.next(t, after, curvature)
    plane._look()  # where the search begins
    return None


class Line:
    """Where to look next for the zero of a slope that rises along a line, below zero at 0.

    By Newton's method as long as no slope above zero is known, and between two known ones after
    that, as if it were straight.

    >>> Line(-1.0).next(1.0, 3.0, 0.0)
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


def _pull(plane: Any, d: Array) -> tuple[float, float]:
    """The penalty's first and second derivative along d."""
    if not plane.penalised:
        return 0.0, 0.0
    return float(plane.pulls @ d), float(d @ (plane.ridge * d))


def _go(plane: Any, displacement: Array) -> None:
    plane.w += displacement
    plane.far = plane.scores.far if plane.free else 0.0  # asked for only where w could run away
    plane.scores.keep(0, 1.0)
