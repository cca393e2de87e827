"""The Poisson loss: counts and rates, with a log link."""

import math
from typing import NamedTuple

import numpy as np

from .._types import Array
from .loss import loss
from .targets import count_targets


@loss("poisson")
class Poisson(NamedTuple):
    """exp(z) - y z with y >= 0: the likelihood of counts of mean exp(z), but for a constant.

    Its second derivative exp(z) has no bound, so no step of a given length is safe: it is for
    ``plane``, which "auto" without T uses, and for line searches.

    >>> float(Poisson().value(0.0, 3.0)), float(Poisson().slope(0.0, 3.0))
    (1.0, -2.0)
    """

    description = "Poisson regression with a log link"
    curvature = None
    log_link = True
    model = "likelihood"
    self_concordance = 1.0
    targets = staticmethod(count_targets)

    def value(loss, z: Array, y: Array) -> Array:
        return np.exp(z) - y * z

    def slope(loss, z: Array, y: Array) -> Array:
        return np.exp(z) - y

    def bend(loss, z: Array, y: Array) -> Array:
        return np.exp(z)

    def infimum(loss, y: Array) -> Array:
        """y - y log y, which is 0 for y = 0."""
        return y - y * np.log(np.where(y > 0.0, y, 1.0))

    def best_constant(loss, mean: float) -> float:
        """The log of the mean."""
        if mean > 0.0:
            return math.log(mean)
        return 0.0
