"""Whether the diagonal of the Hessian is a good metric, where there is no room for all of it.

Text has columns that are in every row and columns that are in two. In the identity's metric the
rare ones hardly move; in the diagonal's they move too far where they only tell rows apart
(n < d). No rule that looks at the columns alone was found to tell which it is, so both directions
are tried, where the run stands, as soon as steps are slow enough to pay for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .metric import MOST_COLUMNS, Chooser, Metric, cost_of_step
from .rowspace import FewRows, RowSpace
from .small import largest

if TYPE_CHECKING:
    from .plane import Plane

Array = npt.NDArray[np.float64]

EXPECTED = 0.5  # how much a step shrinks the gradient in a good diagonal metric
SQUARED = 4.5  # nanoseconds: an entry squared, weighted and summed
SURE = 3.0  # times the fall of f along -g: where it is so much more, the diagonal is used


class Wide:
    """Decides before each step whether to compare the identity with the diagonal.

    As ``Chooser`` does for a Hessian: when what slow steps have lost comes to the price of a
    comparison, one is made: the first at half the price, each further one at twice the last. The
    diagonal is used from where the fall of f that the second derivatives foresee along -g/diagonal
    is three times that along -g (two products with X). Then the memory is dropped, for conjugate
    directions of one metric are none of another, and after that the diagonal is only taken anew.
    """

    anew = False  # no step is Newton's

    def __init__(self, problem: Any, outputs: int = 1) -> None:
        self.step = cost_of_step(problem, outputs)
        self.squares = SQUARED * float(problem.rows.cost)
        self.price = 0.5 * self.full_price
        self.lost = 0.0
        handed_on = getattr(problem, "handed_on", None)
        self.handed_on: dict[str, Any] = {} if handed_on is None else handed_on
        self.known = bool(self.handed_on.get("diagonal"))  # by the run before: it is used at once

    @property
    def full_price(self) -> float:
        """Of a diagonal and two products."""
        return self.step + self.squares

    def wants(self, shrank: float) -> bool:
        """Compare now? ``shrank``: the last step's gradient norm over the one before."""
        if shrank > 0.0:  # not at the first step
            rate = max(0.0, math.log(shrank) / math.log(EXPECTED))  # no step loses more than itself
            self.lost = max(0.0, self.lost + self.step * (1.0 - rate))
        return self.known or self.lost >= self.price

    def metric(self, plane: Plane) -> Metric:
        """The identity, or the diagonal where the plane stands."""
        diagonal = Metric.diagonal(plane.scores.squares(), plane.ridge.reshape(-1))
        self.lost, self.price, g = 0.0, 2.0 * self.price, plane.gradient
        if plane.metric.plain:
            if not (
                self.known or fall_along(plane, diagonal.solve(g)) > SURE * fall_along(plane, g)
            ):
                return plane.metric
            self.price, plane.kept = self.full_price, 0
            self.known, self.handed_on["diagonal"] = False, True
        return diagonal

    def remade(self, factor: Array | None, root: Array | None) -> Metric:
        """A metric that was taken, from what a checkpoint holds of it."""
        return Metric(factor, root)

    def state(self) -> Array:
        return np.array([self.lost, self.price, self.known])

    def restore(self, state: Array) -> None:
        self.lost, self.price, self.known = float(state[0]), float(state[1]), bool(state[2])


def fall_along(plane: Plane, d: Array) -> float:
    """By how much f falls along -d if it is as its second derivatives say. (The scores of the new
    direction are lost.)"""
    d = d / largest(d)
    plane.products += 1
    plane.scores.aim(0, d)
    bent = float(plane.scores.gram(1)[0, 0]) + float(np.vdot(d, plane.ridge * d))
    return 0.5 * float(np.vdot(d, plane.gradient)) ** 2 / bent if bent > 0.0 else math.inf


def chooser_of(problem: Any, outputs: int) -> Chooser | Wide:
    """Who decides on the metric of a problem."""
    if outputs == 1 and RowSpace.can(problem):
        return FewRows(problem)
    kind = Chooser if problem.rows.d <= MOST_COLUMNS else Wide
    return kind(problem, outputs)
