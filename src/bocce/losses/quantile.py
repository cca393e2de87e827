"""The quantile loss, smoothed: its minimiser predicts a quantile of y instead of the mean."""

from typing import NamedTuple

import numpy as np

from .._types import Array
from .loss import loss


@loss("quantile")
class Quantile(NamedTuple):
    """level r + s log(1 + exp(-r/s)) with r = y - z and s = ``smoothing``.

    As s goes to 0 this is the pinball loss: level r for r > 0, and (level - 1) r for r < 0; it lies
    at most s log 2 above it. ``smoothing`` is in the units of y: take a small share of the spread
    of y around its predictions. The second derivative is at most 1/(4 s).

    Parameters
    ----------
    level : float, default 0.5
        The quantile to predict, 0 < level < 1; 0.5 is the median.
    smoothing : float, default 0.1
        The width s of the rounded corner, in the unit of y, > 0.

    Examples
    --------
    >>> Quantile(0.9, 1e-3).value(np.array([0.0, 2.0]), 1.0).round(3).tolist()
    [0.9, 0.1]
    """

    level: float = 0.5
    smoothing: float = 0.1

    description = "smoothed quantile regression"
    model = "residuals"
    attains_minimum = True

    @property
    def curvature(loss) -> float:
        return 0.25 / loss.smoothing

    @property
    def self_concordance(loss) -> float:
        return 1.0 / loss.smoothing

    def value(loss, z: Array, y: Array) -> Array:
        t = (z - y) / loss.smoothing
        soft = np.maximum(t, 0.0) + np.log1p(np.exp(-np.abs(t)))
        return loss.smoothing * (soft - loss.level * t)

    def slope(loss, z: Array, y: Array) -> Array:
        t = (z - y) / loss.smoothing
        e = np.exp(-np.abs(t))
        return np.where(t > 0.0, 1.0, e) / (1.0 + e) - loss.level

    def bend(loss, z: Array, y: Array) -> Array:
        e = np.exp(-np.abs((z - y) / loss.smoothing))
        return e / (1.0 + e) ** 2 / loss.smoothing

    def infimum(loss, y: Array) -> Array:
        """s times the entropy of ``level``, whatever y is."""
        q = loss.level
        entropy = -q * np.log(q) - (1.0 - q) * np.log(1.0 - q)
        return loss.smoothing * entropy + np.zeros(np.shape(y))
