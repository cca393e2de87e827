"""What is seen of an objective at a point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..rows import Array


def norm(g: Array) -> float:
    """||g||, of numbers of any size.

    >>> round(norm(np.array([3e200, 4e200])) / 1e200, 12)
    5.0
    """
    flat = g.reshape(-1)
    largest = float(np.abs(flat).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return largest
    flat = flat / largest
    return largest * math.sqrt(float(flat @ flat))


class NotFinite(ValueError):
    """The objective or its gradient overflows where a run begins."""


class Look(NamedTuple):
    """The objective and its full gradient at a point."""

    value: float
    gradient: Array

    @property
    def norm(self) -> float:
        return norm(self.gradient)
