"""What the runs of a path hand on: sums and curvature that the next run need not compute."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from ..rows import Array


@dataclass
class PathCache:
    """Handed from a run to the next one on the same rows, whose penalty may differ.

    ``gram`` is X^T X/n; ``hessian`` is the one that the last run has used, and ``diagonal`` tells
    whether its diagonal was a good metric. ``pairs`` are the directions of earlier solutions for
    several outputs, under the penalty ``pairs_ridge``; ``hessian_rows`` are the rows as
    products with the Hessian want them.
    """

    hessian: Array | None = None
    diagonal: bool = False
    gram: Array | None = None
    pairs: Any = None
    pairs_ridge: Array | None = None
    hessian_rows: Any = None

    def keep(self, **found: Any) -> None:
        """Fields that a run has found, for the next one."""
        for name, value in found.items():
            setattr(self, name, value)

    def copy(self) -> PathCache:
        """Another cache that goes its own way from here."""
        return replace(self)

    def follow(self, leader: PathCache, quadratic: bool) -> None:
        """Take over what a run on the same rows with other targets or weights has found; of a
        quadratic its own Hessian is all that a run needs."""
        for field in fields(self):
            found = getattr(leader, field.name)
            own = quadratic and field.name == "hessian"
            if own or found is None or found is False:
                continue
            setattr(self, field.name, found.copy() if field.name == "pairs" else found)
