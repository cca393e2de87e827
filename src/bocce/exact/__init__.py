"""Exact expectations: first and second moments of the iterates."""

from __future__ import annotations

from .averages import expected_average
from .best import BestSchedule, best_schedule, regret
from .curves import Curve, expected
from .gaussian import Gaussian
from .stability import (
    Stationary,
    critical_batch_size,
    mean_square_rate,
    stationary,
)
from .typical import Typical, typical_rate

__all__ = [
    "BestSchedule",
    "Curve",
    "Gaussian",
    "Stationary",
    "Typical",
    "best_schedule",
    "critical_batch_size",
    "expected",
    "expected_average",
    "mean_square_rate",
    "regret",
    "stationary",
    "typical_rate",
]
