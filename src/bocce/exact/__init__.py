"""Exact expectations: first and second moments of the iterates."""

from __future__ import annotations

from .arrival import batch_facts
from .batches import BatchCurve, UsefulBatches, batch_curve, useful_batches
from .best import BestSchedule, best_schedule, regret
from .curves import Curve, expected
from .gaussian import Gaussian
from .model import BatchFacts
from .stability import (
    Stationary,
    critical_batch_size,
    mean_square_rate,
    stationary,
)

__all__ = [
    "BatchCurve",
    "BatchFacts",
    "BestSchedule",
    "Curve",
    "Gaussian",
    "Stationary",
    "UsefulBatches",
    "batch_curve",
    "batch_facts",
    "best_schedule",
    "critical_batch_size",
    "expected",
    "mean_square_rate",
    "regret",
    "stationary",
    "useful_batches",
]
