"""What is known of X w and X D: one file for each place where rows lie, and a registry."""

from __future__ import annotations

from collections.abc import Callable

from .array import ArrayScores
from .base import Evaluation, Scores
from .file import FileScores
from .gram import GramScores
from .memory import MemoryScores, RecomputedScores
from .predicting import PredictingScores

SCORES: dict[str, Callable[..., Scores]] = {
    "memory": MemoryScores,
    "predicting": PredictingScores,
    "file": FileScores,
    "array": ArrayScores,
    "gram": GramScores,
}

__all__ = [
    "SCORES",
    "ArrayScores",
    "Evaluation",
    "FileScores",
    "GramScores",
    "MemoryScores",
    "PredictingScores",
    "RecomputedScores",
    "Scores",
]
