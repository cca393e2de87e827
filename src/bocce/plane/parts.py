"""Rows of several outputs, some at a time: so that nothing is made that is as long as the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..rows import Rows


@dataclass(frozen=True)
class PartLimits:
    """Sizes of the blocks of rows.

    Attributes
    ----------
    numbers : int
        Several outputs: a part has about so many numbers of X, or scores: they stay in the cache.
    rows : int
        A part has at least so many rows; with fewer, BLAS packs the other factor too often.
    entries : float
        A sparse part has at least so many entries a column: its sum fills all columns.
    block : int
        One output: element-wise functions take this many rows at a time: a dozen such vectors fit
        in a level-2 cache.
    """

    numbers: int = 1 << 17
    rows: int = 512
    entries: float = 4.0
    block: int = 1 << 13


LIMITS = PartLimits()


class RowPart(NamedTuple):
    """Some consecutive rows, and which they are."""

    place: slice
    rows: Rows


def slices(n: int, step: int) -> list[slice]:
    """0 .. n-1, ``step`` at a time."""
    return [slice(k, min(k + step, n)) for k in range(0, n, step)]


def parts_of(rows: Rows, outputs: int = 0, limits: PartLimits = LIMITS) -> list[RowPart]:
    """All rows; with several outputs, in parts that stay in the cache while they are used.

    >>> import numpy as np
    >>> from bocce.rows import Dense
    >>> [part.place for part in parts_of(Dense(np.ones((700, 300))), 3)]
    [slice(0, 512, None), slice(512, 700, None)]
    """
    step = max(limits.rows, limits.numbers // max(outputs, 1 if rows.sparse else rows.d))
    if rows.sparse:
        step = max(step, int(limits.entries * rows.d * rows.n / max(1.0, rows.cost)))
    places = slices(rows.n, step if outputs else rows.n)
    if len(places) == 1:
        return [RowPart(places[0], rows)]
    return [RowPart(place, rows.part(place)) for place in places]
