"""Sums of row gradients over chosen rows or blocks, by the compiled kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...problems import Problem
from ...rows import Array, Index
from .bound import bound
from .entry import KERNEL, on_disk
from .loop import accumulate
from .pack import at_vector, pack, read_only
from .rows import DenseRows, bind
from .stream import draw, forget, make_stream

NOTHING = np.zeros(1, dtype=np.int64)


def _sum_rows(rows, source, count, listed, at, g, want_loss):
    """g = sum of slope_i x_i over the rows listed, or the first ``count``; returns the loss."""
    return accumulate(rows, source, 0, count, listed, at, g, want_loss)


sum_rows = on_disk(_sum_rows, **KERNEL)


class RowSums:
    """Units are rows in memory."""

    def __init__(self, problem: Problem) -> None:
        self.n, self.d = problem.n, problem.width
        self.rows = pack(problem)
        self.bound = bound(bind, self.rows)
        self.at = at_vector(self.rows, self.d)
        self.g = np.zeros(self.at.size)

    def everything(self, at: Array) -> tuple[float, Array]:
        """The sum of all losses, and of all slope_i x_i."""
        return self._sum(at, NOTHING, self.n, False)

    def of(self, at: Array, units: Index) -> Array:
        """The sum of slope_i x_i over the units."""
        return self._sum(at, units, units.size, True)[1]

    def _sum(self, at: Array, source: Array, count: int, listed: bool) -> tuple[float, Array]:
        self.at[: self.d] = at
        loss = sum_rows(self.bound, source, count, listed, self.at, self.g, not listed)
        return float(loss), self.g[: self.d].copy()


class BlockSums:
    """Units are the blocks of a file."""

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.g, self.link, self.none = np.zeros(problem.width), np.zeros(2), read_only(np.zeros(0))
        self.room = np.ones((0, problem.width), dtype=problem.given.dtype)

    def everything(self, at: Array) -> tuple[float, Array]:
        """The sum of all losses, and of all slope_i x_i."""
        return self.add(self.problem.given.read(), at, True)

    def of(self, at: Array, units: Index) -> Array:
        """The sum of slope_i x_i over the units."""
        return self.add(self.problem.given.read(np.sort(units)), at, False)[1]

    def add(self, blocks: Iterable[Any], at: Array, want_loss: bool) -> tuple[float, Array]:
        """The sums over blocks already under way."""
        p, loss, total = self.problem, 0.0, np.zeros(self.problem.width)
        for X, y in blocks:
            X = self._with_column(X) if p.intercept else X
            rows = DenseRows(X, read_only(p.encoded(y)[0]), self.none, self.link, False, p.loss)
            of_block = bound(bind, rows)
            loss += sum_rows(of_block, NOTHING, y.size, False, at, self.g, want_loss)
            total += self.g
        return float(loss), total

    def _with_column(self, X: Array) -> Array:
        """The block with a 1 behind each row."""
        if len(self.room) < len(X):
            self.room = np.ones((len(X), X.shape[1] + 1), dtype=X.dtype)
        block = self.room[: len(X)]
        block[:, :-1] = X
        return read_only(block[:])


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
