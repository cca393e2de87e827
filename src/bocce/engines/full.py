"""Newton's step at full length: where the Hessian of all rows was taken at w itself.

Then -H^-1 g is nearly all there is to a step, and it ends nearly where f is least along it. So the
point at its end is looked at first, without the search among several directions: a product with X,
a sweep, a product with X^T. Where it does not do what Newton's step must, nothing has happened but
that look, and the plane searches as always.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .fused import Looked
from .small import falls

NEAR = 0.3  # of the slope along the step where it begins: more may not be left at its end
WHOLE = np.ones(1)


def full_step(plane: Any) -> tuple[Looked, float] | None:
    """Go to w - H^-1 g: what the sweep saw there, and the fall that was foreseen; None where f does
    not fall, or its slope along the step not enough, and then w stays where it is."""
    g, scores = plane.gradient, plane.scores
    d = -plane.metric.solve(g)
    slope = float(g @ d)
    if not slope < 0.0:
        return None
    scores.aim(0, d, float(scores.guesses_on(1)))
    looked = scores.move(WHOLE)
    plane.products += 1
    plane.sweeps += 1
    value, after = looked.value, float(looked.plane[0])
    if plane.penalised:
        along, bent = float(plane.pulls @ d), float(d @ (plane.ridge * d))
        value += plane.penalty + along + 0.5 * bent
        after += along + bent
    if not (abs(after) <= -NEAR * slope and falls(value - plane.value, plane.slack, after, slope)):
        plane._look()  # where the search begins
        return None
    plane.w += d
    plane.far = scores.far if plane.free else 0.0  # asked for only where w could run away
    scores.keep(0, 1.0)
    return looked, -0.5 * slope
