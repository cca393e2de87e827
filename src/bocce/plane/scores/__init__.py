"""What is known of X w and X D: one file for each place where rows lie, and a registry."""

from __future__ import annotations

from collections.abc import Callable

from .array import ArrayScores
from .base import Scores
from .file import FileScores
from .gram import GramScores
from .matrix import MatrixScores
from .memory import MemoryScores
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
    "FileScores",
    "GramScores",
    "MatrixScores",
    "MemoryScores",
    "PredictingScores",
    "Scores",
]
