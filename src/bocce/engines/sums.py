"""Sums of row gradients over chosen rows or blocks, by the compiled kernels."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

import numpy as np
from numba import njit

from ..problems import BlockProblem, LeastSquares, LinearProblem
from .compiled import pack, read_only, row_width
from .loop import NOTHING
from .rows import KERNEL, LogisticRows, SquaredRows, accumulate
from .stream import draw, forget, make_stream


@njit(**KERNEL)
def _sum_rows(rows, source, count, listed, at, g, want_loss):
    """g = sum of slope_i x_i over the rows listed, or the first ``count``; returns the loss."""
    return accumulate(rows, source, 0, count, listed, at, g, want_loss)


class RowSums:
    """Units are rows in memory."""

    def __init__(self, problem: LinearProblem) -> None:
        self.n, self.d = problem.n, problem.d
        self.rows = pack(problem)
        width = row_width(self.rows, self.d)
        self.at, self.g = np.zeros(width), np.zeros(width)
        if isinstance(self.rows, SquaredRows) and self.rows.own:
            self.at[self.d] = -1.0  # the column that holds y

    def everything(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum of all losses, and of all slope_i x_i."""
        return self._sum(at, NOTHING, self.n, False)

    def of(self, at: np.ndarray, units: np.ndarray) -> np.ndarray:
        """The sum of slope_i x_i over the units."""
        return self._sum(at, units, units.size, True)[1]

    def _sum(
        self, at: np.ndarray, source: np.ndarray, count: int, listed: bool
    ) -> tuple[float, np.ndarray]:
        self.at[: self.d] = at
        loss = _sum_rows(self.rows, source, count, listed, self.at, self.g, not listed)
        return float(loss), self.g[: self.d].copy()


class BlockSums:
    """Units are the blocks of a file."""

    def __init__(self, problem: BlockProblem) -> None:
        self.problem = problem
        self.kind = SquaredRows if isinstance(problem, LeastSquares) else LogisticRows
        self.g, self.link, self.none = np.zeros(problem.d), np.zeros(2), read_only(np.zeros(0))

    def everything(self, at: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum of all losses, and of all slope_i x_i."""
        with closing(self.problem.X.stream(range(self.problem.units))) as blocks:
            return self.add(blocks, at, True)

    def of(self, at: np.ndarray, units: np.ndarray) -> np.ndarray:
        """The sum of slope_i x_i over the units."""
        with closing(self.problem.X.stream(np.sort(units))) as blocks:
            return self.add(blocks, at, False)[1]

    def add(self, blocks: Iterable, at: np.ndarray, want_loss: bool) -> tuple[float, np.ndarray]:
        """The sums over blocks already under way."""
        loss, total = 0.0, np.zeros(self.problem.d)
        for X, y in blocks:
            rows = self.kind(X, read_only(self.problem.encoded(y)), self.none, self.link, False)
            loss += _sum_rows(rows, NOTHING, y.size, False, at, self.g, want_loss)
            total += self.g
        return float(loss), total


class Draws:
    """``sampling.batch``, compiled: batches of at most ``most`` units, or what they leave out."""

    def __init__(self, seed: int, n: int, most: int, mode: str = "independent") -> None:
        half = max(1, n // 2)  # no more are ever drawn
        self.stream = make_stream(seed, n, min(most, half), mode if most <= half else "independent")

    def units(self, k: int, count: int) -> np.ndarray:
        """The units of batch k, in no particular order."""
        return self._draw(k, count, False)

    def left_out(self, k: int, count: int) -> np.ndarray:
        """The units that batch k leaves out."""
        return self._draw(k, count, True)

    def _draw(self, k: int, count: int, wanted_out: bool) -> np.ndarray:
        n = self.stream.n
        stream = self.stream._replace(b=count)
        source, start, drawn = draw(stream, k)
        if (2 * count > n) == wanted_out:  # of more than half, those left out are drawn
            units = source[start : start + drawn].copy()
        else:
            units = np.flatnonzero(stream.seen == 0)
        forget(stream, drawn)
        return units
