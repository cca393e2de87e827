"""Sums of row gradients over chosen rows, and the draws of batches, by the compiled kernels."""

from __future__ import annotations

import numpy as np

from ...problems import Problem
from ...rows import Array, Index
from .entry import Entry
from .pack import pack
from .rows import accumulate
from .stream import draw, forget, make_stream

NOTHING = np.zeros(1, dtype=np.int64)


def _sum_rows(rows, source, count, listed, at, g, want_loss):
    """g = sum of slope_i x_i over the rows listed, or the first ``count``; returns the loss."""
    return accumulate(rows, source, 0, count, listed, at, g, want_loss)


sum_rows = Entry(_sum_rows)


class RowSums:
    """Units are rows in memory."""

    def __init__(self, problem: Problem) -> None:
        self.n = problem.n
        self.d = problem.width
        self.rows = pack(problem)
        self.at = np.zeros(self.d)
        self.g = np.zeros(self.d)

    def everything(self, at: Array) -> tuple[float, Array]:
        """The sum of all losses, and of all slope_i x_i."""
        return self._sum(at, NOTHING, self.n, False)

    def of(self, at: Array, units: Index) -> Array:
        """The sum of slope_i x_i over the units."""
        return self._sum(at, units, units.size, True)[1]

    def _sum(self, at: Array, source: Array, count: int, listed: bool) -> tuple[float, Array]:
        self.at[:] = at
        loss = sum_rows(self.rows, source, count, listed, self.at, self.g, not listed)
        return float(loss), self.g.copy()


class Draws:
    """``sampling.batch``, compiled: batches of at most ``most`` units, or what they leave out."""

    def __init__(self, seed: int, n: int, most: int, mode: str = "independent") -> None:
        half = max(1, n // 2)  # no more are ever drawn
        self.stream = make_stream(seed, n, min(most, half), mode if most <= half else "independent")

    def units(self, k: int, count: int) -> Index:
        """The units of batch k, in no particular order."""
        return self._draw(k, count, False)

    def left_out(self, k: int, count: int) -> Index:
        """The units that batch k leaves out."""
        return self._draw(k, count, True)

    def _draw(self, k: int, count: int, wanted_out: bool) -> Index:
        n = self.stream.n
        stream = self.stream._replace(b=count)
        source, start, drawn = draw(stream, k)
        if (2 * count > n) == wanted_out:  # of more than half, those left out are drawn
            units = source[start : start + drawn].copy()
        else:
            units = np.flatnonzero(stream.seen == 0)
        forget(stream, drawn)
        return np.asarray(units)
