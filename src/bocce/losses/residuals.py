"""Residuals of a fit, and the robust scales that losses take from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._types import Array

if TYPE_CHECKING:
    from .loss import Loss

NORMAL = 1.482602218505602  # the standard deviation of normal numbers over their median size
# The least scale, over the upper quartile of sizes: a robust fit may predict half of the rows.
LEAST_SCALE = 1e-3
ROUNDED_WEIGHT = 1e-12  # of a sum of weights


@dataclass(frozen=True)
class Residuals:
    """r_i = y_i - z_i with weights c_i (None: 1 each); a row of weight k counts k times."""

    values: Array
    weights: Array | None = None

    def mean(self, of_rows: Array) -> float:
        """The weighted mean of a number a row."""
        return float(np.average(of_rows, weights=self.weights))

    def quantile(self, of_rows: Array, level: float) -> float:
        """The lower weighted quantile of a number a row."""
        order = np.argsort(of_rows, kind="stable")
        weights = np.ones(order.size) if self.weights is None else self.weights[order]
        total = np.cumsum(weights)
        place = np.searchsorted(total, level * total[-1] * (1.0 - ROUNDED_WEIGHT))
        return float(of_rows[order[place]])

    @cached_property
    def scale(self) -> float:
        """The standard deviation of normal residuals with the same median size; 0 where three of
        four residuals are zero.

        >>> Residuals(np.array([-2.0, 1.0, 1.5, 0.5, 900.0])).scale / NORMAL
        1.5
        """
        sizes = np.abs(self.values)
        return max(NORMAL * self.quantile(sizes, 0.5), LEAST_SCALE * self.quantile(sizes, 0.75))

    @cached_property
    def spread(self) -> float:
        """The scale of the residuals, or their mean size where that is 0."""
        return self.scale or self.mean(np.abs(self.values))


def first_loss(
    loss: Loss, y: Array, weights: Array | None, intercept: bool, offset: Array | None = None
) -> Loss:
    """The loss with numbers for the parameters that are None, by the residuals of the median of y
    (minus the offset), or without an intercept of zero."""
    if loss.is_complete:
        return loss
    r = Residuals(y if offset is None else y - offset, weights)
    if intercept:
        r = Residuals(r.values - r.quantile(r.values, 0.5), weights)
    return loss.suited_to(r)
