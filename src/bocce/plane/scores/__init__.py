"""What is known of X w and X D: one file for each place where rows lie, and a registry."""

from __future__ import annotations

from collections.abc import Callable

from .array import ArrayScores as ArrayScores
from .base import Evaluation as Evaluation
from .base import Scores as Scores
from .file import FileScores as FileScores
from .gram import GramScores as GramScores
from .memory import MemoryScores as MemoryScores
from .memory import RecomputedScores as RecomputedScores

SCORES: dict[str, Callable[..., Scores]] = {
    "memory": MemoryScores,
    "file": FileScores,
    "array": ArrayScores,
    "gram": GramScores,
}
