"""Huber's loss: least squares that outliers pull with bounded force."""

from typing import NamedTuple

import numpy as np

from .._types import Array
from .loss import loss


@loss("huber")
class Huber(NamedTuple):
    """r^2/2 for |r| <= delta, and delta |r| - delta^2/2 beyond, r = z - y.

    Parameters
    ----------
    delta : float, default 1.0
        The distance, in the unit of y, from which the loss grows linearly, > 0.

    Examples
    --------
    >>> float(Huber(1.0).value(3.0, 0.0)), float(Huber(1.0).slope(-3.0, 0.0))
    (2.5, -1.0)
    """

    delta: float = 1.0

    description = "Huber regression"
    curvature = 1.0
    model = "residuals"
    attains_minimum = True

    def value(loss, z: Array, y: Array) -> Array:
        near = np.minimum(np.maximum(z - y, -loss.delta), loss.delta)
        return near * (z - y - 0.5 * near)

    def slope(loss, z: Array, y: Array) -> Array:
        return np.minimum(np.maximum(z - y, -loss.delta), loss.delta)

    def bend(loss, z: Array, y: Array) -> Array:
        return 1.0 * (np.abs(z - y) <= loss.delta)
