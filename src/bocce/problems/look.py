"""What is seen of an objective at a point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..rows import Array


def norm(g: Array) -> float:
    """||g||, of numbers of any size.

    >>> round(norm(np.array([3e200, 4e200])) / 1e200, 12)
    5.0
    """
    largest = float(np.abs(g).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return largest
    return largest * float(np.linalg.norm(g / largest))


class Look(NamedTuple):
    """The objective and its full gradient at a point."""

    value: float
    gradient: Array

    @property
    def norm(self) -> float:
        return norm(self.gradient)
