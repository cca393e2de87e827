"""Which class a problem is of: that depends on where its rows lie."""

from __future__ import annotations

from typing import Any

from ..rows import ArrayRows, foreign


def kind_of(X: Any, usual: Any) -> Any:
    """For rows in a file or of another library than NumPy, their own class; else the usual."""
    if hasattr(X, "n_blocks"):
        from .parts import FileProblem

        return FileProblem
    if isinstance(X, ArrayRows) or foreign(X):
        from .arrays import ArrayProblem

        return ArrayProblem
    return usual
