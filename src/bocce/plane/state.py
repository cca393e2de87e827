"""Arrays of a checkpoint: by name, and checked."""

from __future__ import annotations

import numpy as np

from .._types import Array


def under(state: dict[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays whose names begin so, without the prefix.

    >>> under({"metric.root": 1, "w": 2}, "metric.")
    {'root': 1}
    """
    return {n.removeprefix(prefix): a for n, a in state.items() if n.startswith(prefix)}


def check_finite(state: dict[str, Array]) -> None:
    """Refuse arrays that no run has: they would fail many steps later.

    Raises
    ------
    ValueError
        An array other than the plain numbers has NaN or infinity.
    """
    for name, array in state.items():
        if name != "numbers" and not np.isfinite(array).all():
            raise ValueError(f"its array {name!r} has NaN or infinity")
