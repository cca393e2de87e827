"""The squared loss: least squares, ridge regression."""

from typing import NamedTuple

from .._types import Array
from .loss import Three, loss


@loss("squared")
class Squared(NamedTuple):
    """(z - y)^2/2.

    >>> Squared().value(3.0, 1.0), Squared().slope(3.0, 1.0)
    (2.0, 2.0)
    """

    problem_name = "LeastSquares"
    description = "Least squares"
    quadratic = True
    curvature = 1.0
    model = "scaled"
    self_concordance = 0.0
    attains_minimum = True

    def value(loss, z: Array, y: Array) -> Array:
        return 0.5 * (z - y) ** 2

    def slope(loss, z: Array, y: Array) -> Array:
        return z - y

    def bend(loss, z: Array, y: Array) -> Array:
        return 0.0 * z + 1.0

    def value_slope_bend(loss, z: Array, y: Array) -> Three:
        """One difference for all, and one bend."""
        r = z - y
        return 0.5 * r**2, r, 1.0

    def best_constant(loss, mean: float) -> float:
        return mean
