"""Huber's loss: least squares that outliers pull with bounded force."""

from typing import Any, NamedTuple

import numpy as np

from .. import _checks
from .._types import Array
from .loss import loss
from .residuals import Residuals

EFFICIENT = 1.345  # standard deviations: 95 % of the efficiency of least squares on normal rows
SETTLED_DELTA = 0.01  # A delta within this share of the one that the residuals ask for is kept.


@loss("huber")
class Huber(NamedTuple):
    """r^2/2 for |r| <= delta, and delta |r| - delta^2/2 beyond, r = z - y.

    Parameters
    ----------
    delta : float or None, default 1.0
        The distance, in the unit of y, from which the loss grows linearly, > 0. None is 1.345
        times a robust scale of the residuals, which ``minimize`` finds together with w.

    Examples
    --------
    >>> float(Huber(1.0).value(3.0, 0.0)), float(Huber(1.0).slope(-3.0, 0.0))
    (2.5, -1.0)
    """

    delta: Any = 1.0  # a number, or None

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

    def check(loss) -> None:
        if loss.delta is not None:
            remedy = "a distance in the unit of y; None is found with the fit"
            _checks.real("Huber", "delta", loss.delta, above=0.0, remedy=remedy)

    @property
    def is_complete(loss) -> bool:
        """Is ``delta`` a number?"""
        return loss.delta is not None

    def suited_to(loss, residuals: Residuals) -> "Huber":
        """The loss whose ``delta`` is 1.345 times the scale of the residuals."""
        delta = EFFICIENT * residuals.scale
        if loss.delta is None:
            return loss._replace(delta=delta or 1.0)  # Residuals of zero have any delta.
        if delta == 0.0 or abs(delta - loss.delta) <= SETTLED_DELTA * loss.delta:
            return loss
        return loss._replace(delta=delta)
