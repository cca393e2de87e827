"""The squared loss: least squares, ridge regression."""

from typing import Any, NamedTuple

from .loss import loss


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
    model, self_concordance = "scaled", 0.0
    attains_minimum = True

    def value(loss, z: Any, y: Any) -> Any:
        return 0.5 * (z - y) ** 2

    def slope(loss, z: Any, y: Any) -> Any:
        return z - y

    def bend(loss, z: Any, y: Any) -> Any:
        return 0.0 * z + 1.0

    def value_slope_bend(loss, z: Any, y: Any) -> tuple[Any, Any, Any]:
        """One difference for all, and one bend."""
        r = z - y
        return 0.5 * r**2, r, 1.0

    def best_constant(loss, mean: float) -> float:
        return mean
