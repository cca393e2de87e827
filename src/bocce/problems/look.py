"""What is seen of an objective at a point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..rows import Array

# of squares that have lost nothing
SMALLEST_SQUARE = 1e-200
LARGEST_SQUARE = 1e200


def norm(g: Array) -> float:
    """||g||, of numbers of any size.

    Parameters
    ----------
    g : ndarray
        The numbers.

    Returns
    -------
    float
        The Euclidean norm, without overflow or underflow of squares.

    Examples
    --------
    >>> tiny = 2.0**-600  # its square is 0
    >>> norm(np.array([3.0 * tiny, -4.0 * tiny])) == 5.0 * tiny
    True
    """
    flat = g.reshape(-1)
    square = float(np.vdot(flat, flat))  # which, unlike @, warns of no overflow
    if SMALLEST_SQUARE < square < LARGEST_SQUARE:
        return math.sqrt(square)
    largest = float(np.abs(flat).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return largest
    flat = flat / largest
    return largest * math.sqrt(float(flat @ flat))


class NotFinite(ValueError):
    """The objective or its gradient overflows where a run begins."""


class Look(NamedTuple):
    """The objective and its full gradient at a point.

    Attributes
    ----------
    value, gradient : float, ndarray
        The objective, and its full gradient.
    """

    value: float
    gradient: Array

    @property
    def norm(self) -> float:
        return norm(self.gradient)
