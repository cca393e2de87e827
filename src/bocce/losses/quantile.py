"""The quantile loss, smoothed: its minimiser predicts a quantile of y instead of the mean."""

from typing import Any, NamedTuple

import numpy as np

from .. import _checks
from .._types import Array
from .loss import loss
from .residuals import Residuals

FIRST_WIDTH = 0.5  # The first smoothing, in scales of the residuals of constant predictions.
WIDEST = 0.1  # The most smoothing of a fit, in scales of its residuals.
NARROWER = 0.4  # The factor by which the smoothing shrinks.
EXCESS = 0.005  # The share by which the pinball loss may exceed the least one.
SMALL_EXCESS = 1e-4  # Where the excess is smaller, less smoothing does not change the predictions.
EXACT_LOSS = 1e-7  # A pinball loss below this share of the spread of y: predictions are exact.
MISSED_SHARE = 0.01  # How far, beside 1/n, the share of rows below may be from the level.


@loss("quantile")
class Quantile(NamedTuple):
    """factor (level r + s log(1 + exp(-r/s))) with r = y - z and s = ``smoothing``.

    As s goes to 0 this is the pinball loss: level r for r > 0, and (level - 1) r for r < 0; it lies
    at most s log 2 above it. The second derivative is at most factor/(4 s).

    Parameters
    ----------
    level : float, default 0.5
        The quantile to predict, 0 < level < 1; 0.5 is the median.
    smoothing : float or None, default 0.1
        The width s of the rounded corner, in the unit of y, > 0. None: ``minimize`` finds it
        together with w. It shrinks until the pinball loss is proved to be within 0.5 % of the
        least one, and the share of rows below the predictions is within 1/n + 1 % of the level.
        ``factor`` is then the spread of y, so that l2 means the same in every unit of y.
    factor : float, default 1.0
        A number > 0 that multiplies the loss.

    Examples
    --------
    >>> Quantile(0.9, 1e-3).value(np.array([0.0, 2.0]), 1.0).round(3).tolist()
    [0.9, 0.1]
    """

    level: float = 0.5
    smoothing: Any = 0.1  # a number, or None
    factor: float = 1.0

    description = "smoothed quantile regression"
    model = "residuals"
    attains_minimum = True

    def check(loss) -> None:
        level = "0.5 is the median"
        _checks.real("Quantile", "level", loss.level, above=0.0, below=1.0, remedy=level)
        if loss.smoothing is not None:
            width = "a distance in the unit of y; None is found with the fit"
            _checks.real("Quantile", "smoothing", loss.smoothing, above=0.0, remedy=width)
        _checks.real("Quantile", "factor", loss.factor, above=0.0, remedy="1 is usual")

    @property
    def curvature(loss) -> float:
        return 0.25 * loss.factor / loss.smoothing

    @property
    def self_concordance(loss) -> float:
        return 1.0 / loss.smoothing

    def value(loss, z: Array, y: Array) -> Array:
        t = (z - y) / loss.smoothing
        soft = np.maximum(t, 0.0) + np.log1p(np.exp(-np.abs(t)))
        return loss.factor * loss.smoothing * (soft - loss.level * t)

    def slope(loss, z: Array, y: Array) -> Array:
        t = (z - y) / loss.smoothing
        e = np.exp(-np.abs(t))
        return loss.factor * (np.where(t > 0.0, 1.0, e) / (1.0 + e) - loss.level)

    def bend(loss, z: Array, y: Array) -> Array:
        e = np.exp(-np.abs((z - y) / loss.smoothing))
        return loss.factor * e / (1.0 + e) ** 2 / loss.smoothing

    def infimum(loss, y: Array) -> Array:
        """s times the entropy of ``level``, whatever y is."""
        q = loss.level
        entropy = -q * np.log(q) - (1.0 - q) * np.log(1.0 - q)
        return loss.factor * loss.smoothing * entropy + np.zeros(np.shape(y))

    @property
    def is_complete(loss) -> bool:
        """Is ``smoothing`` a number?"""
        return loss.smoothing is not None

    def suited_to(loss, residuals: Residuals) -> "Quantile":
        """The loss itself where it is near enough to the pinball loss, or one with less smoothing.

        Let a_i = level - sigmoid(-r_i/s) at the minimiser. The a_i are feasible for the dual of
        the pinball loss, so the pinball loss exceeds the least one by at most the mean of
        |r_i| sigmoid(-|r_i|/s).
        """
        if loss.smoothing is None:
            spread = residuals.spread or 1.0  # Residuals of zero have any smoothing.
            return loss._replace(smoothing=FIRST_WIDTH * spread, factor=spread)
        r = residuals.values
        below = (r < 0.0) * 1.0
        pinball = residuals.mean(r * (loss.level - below))
        e = np.exp(-np.abs(r) / loss.smoothing)
        excess = residuals.mean(np.abs(r) * e / (1.0 + e))
        least = pinball - excess
        off = abs(residuals.mean(below) - loss.level)
        split = off <= 1.0 / r.size + MISSED_SHARE or excess <= SMALL_EXCESS * least
        if excess <= EXCESS * least and split:
            return loss
        if residuals.scale == 0.0 or pinball <= EXACT_LOSS * loss.factor:
            return loss
        smoothing = min(NARROWER * loss.smoothing, WIDEST * residuals.scale)
        return loss._replace(smoothing=smoothing)
