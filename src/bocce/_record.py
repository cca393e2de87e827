"""What a part of a run saves: numbers and arrays by name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


def record(**numbers: int | float) -> Arrays:
    """Numbers by name, as arrays without axes.

    >>> int(record(k=3)["k"])
    3
    """
    return {name: np.array(number) for name, number in numbers.items()}


def joined(**parts: Arrays) -> Arrays:
    """What several parts save, each under its own name.

    >>> list(joined(stop=record(first=1.0)))
    ['stop.first']
    """
    return {f"{part}.{name}": array for part, own in parts.items() for name, array in own.items()}


def part_of(saved: Arrays, part: str) -> Arrays:
    """What one of the parts saved.

    >>> part_of(joined(stop=record(first=1.0), run=record(k=3)), "run")
    {'k': array(3)}
    """
    prefix = f"{part}."
    return {
        name.removeprefix(prefix): array for name, array in saved.items() if name.startswith(prefix)
    }
