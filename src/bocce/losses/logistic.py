"""The logistic loss: two classes."""

import math
from typing import NamedTuple

import numpy as np

from .._types import Array
from .loss import Body, Three, loss
from .targets import sign_targets


@loss("logistic")
class Logistic(NamedTuple):
    """log(1 + exp(-y z)) with y = -1 or 1.

    >>> round(float(Logistic().value(0.0, 1.0)), 6), float(Logistic().slope(0.0, -1.0))
    (0.693147, 0.5)
    """

    problem_name = "Logistic"
    description = "Logistic regression"
    margin = True
    curvature = 0.25
    model = "likelihood"
    self_concordance = 1.0
    targets = staticmethod(sign_targets)

    def value(loss, z: Array, y: Array) -> Array:
        return np.maximum(-y * z, 0.0) + np.log1p(np.exp(-np.abs(z)))

    def slope(loss, z: Array, y: Array) -> Array:
        e = np.exp(-np.abs(z))
        return -y * np.where(y * z > 0.0, e, 1.0) / (1.0 + e)

    def bend(loss, z: Array, y: Array) -> Array:
        e = np.exp(-np.abs(z))
        return e / (1.0 + e) ** 2

    def value_slope_bend(loss, z: Array, y: Array) -> Three:
        """One exponential for all three."""
        m = y * z
        e = np.exp(-np.abs(z))
        one = 1.0 + e
        value = np.log1p(e)
        value -= np.minimum(m, 0.0)
        e /= one
        slope = np.maximum(e, (m <= 0.0) / one)
        slope *= -y
        e /= one
        return value, slope, e

    def best_constant(loss, mean: float) -> float:
        """The log of the odds, from the mean of the signs."""
        if abs(mean) < 1.0:
            return math.log((1.0 + mean) / (1.0 - mean))
        return 0.0

    @staticmethod
    def compiled() -> dict[str, Body]:
        """The slope through an exponential without branches, so that loops over it vectorise."""
        from numba import njit

        exp = njit(fastmath={"contract"}, error_model="numpy")(_exp)

        def slope(loss: object, z: float, y: float) -> float:
            margin = y * z
            e = exp(max(-abs(margin), -700.0))
            return -y * (e if margin > 0.0 else 1.0) / (1.0 + e)

        return {"slope": slope}


def _exp(x: float) -> float:
    """e^x for -708 <= x <= 0 (error 4e-16): 2^k times a polynomial, k written as exponent bits.

    Compiled without reordering, which would undo the two-part ln 2.
    """
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = x - k * 6.93145751953125e-1 - k * 1.42860682030941723212e-6
    s = 1.0 / 6227020800.0
    s = s * r + 1.0 / 479001600.0
    s = s * r + 1.0 / 39916800.0
    s = s * r + 1.0 / 3628800.0
    s = s * r + 1.0 / 362880.0
    s = s * r + 1.0 / 40320.0
    s = s * r + 1.0 / 5040.0
    s = s * r + 1.0 / 720.0
    s = s * r + 1.0 / 120.0
    s = s * r + 1.0 / 24.0
    s = s * r + 1.0 / 6.0
    s = s * r + 0.5
    s = s * r + 1.0
    s = s * r + 1.0
    return s * np.int64((np.int64(k) + 1023) << 52).view(np.float64)  # type: ignore[no-any-return]
