"""The gamma loss: positive amounts whose spread grows with their mean, with a log link."""

import math
from typing import NamedTuple

import numpy as np

from .._types import Array
from .loss import loss
from .targets import positive_targets


@loss("gamma")
class Gamma(NamedTuple):
    """z + y exp(-z) with y > 0: the likelihood of gamma variables of mean exp(z), up to a constant.

    Half of the gamma deviance is ``value(z, y) - 1 - log(y)``. The second derivative y exp(-z) has
    no bound, so no step of a given length is safe: the loss is for ``plane``, which "auto" without
    T uses, and for line searches.

    >>> float(Gamma().value(0.0, 3.0)), float(Gamma().slope(0.0, 3.0))
    (3.0, -2.0)
    """

    description = "gamma regression with a log link"
    curvature = None
    log_link = True
    model = "scaled"
    self_concordance = 1.0
    attains_minimum = True
    targets = staticmethod(positive_targets)

    def value(loss, z: Array, y: Array) -> Array:
        return z + y * np.exp(-z)

    def slope(loss, z: Array, y: Array) -> Array:
        return 1.0 - y * np.exp(-z)

    def bend(loss, z: Array, y: Array) -> Array:
        return y * np.exp(-z)

    def infimum(loss, y: Array) -> Array:
        """1 + log y, at z = log y."""
        return 1.0 + np.log(y)

    def best_constant(loss, mean: float) -> float:
        """The log of the mean."""
        return math.log(mean)
