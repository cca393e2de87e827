"""What happens on average: exact first and second moments of the three-parameter update."""

from __future__ import annotations

from .curves import Curve, expected
from .stability import (
    Stationary,
    critical_batch_size,
    mean_square_rate,
    stationary,
)

__all__ = [
    "Curve",
    "Stationary",
    "critical_batch_size",
    "expected",
    "mean_square_rate",
    "stationary",
]
