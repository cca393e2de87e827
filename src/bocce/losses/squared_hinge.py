"""The squared hinge: support vector machines that can be differentiated."""

from typing import NamedTuple

import numpy as np

from .._types import Array
from .loss import loss
from .targets import sign_targets


@loss("squared_hinge")
class SquaredHinge(NamedTuple):
    """max(0, 1 - y z)^2 with y = -1 or 1.

    >>> float(SquaredHinge().value(-1.0, 1.0)), abs(float(SquaredHinge().slope(2.0, 1.0)))
    (4.0, 0.0)
    """

    description = "A linear support vector machine with the squared hinge"
    margin = True
    curvature = 2.0
    attains_minimum = True
    targets = staticmethod(sign_targets)

    def value(loss, z: Array, y: Array) -> Array:
        return np.maximum(1.0 - y * z, 0.0) ** 2

    def slope(loss, z: Array, y: Array) -> Array:
        return -2.0 * y * np.maximum(1.0 - y * z, 0.0)

    def bend(loss, z: Array, y: Array) -> Array:
        return 2.0 * (y * z < 1.0)

    def best_constant(loss, mean: float) -> float:
        return mean
