"""Rows of a dense array: in memory, mapped from a file, of any order, float32 or float64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._threads import threads_for
from .base import Array, Index, Rows
from .moments import rows_in_cache

BLOCK_BYTES = 1 << 23  # rows are taken this many bytes at a time where a copy must be made
COPIED_BYTES = 1 << 26  # up to this size rows are copied to have a column behind them


def widened(X: Array, step: int) -> Iterator[tuple[slice, Array]]:
    """Which rows, and these as float64 one after the other: ``step`` at a time. Where they have to
    be copied, into the same memory: pages that are new cost more than the numbers."""
    n, d = X.shape
    as_is = X.dtype == np.float64 and X.flags.c_contiguous
    room = np.empty((0 if as_is else min(step, n), d))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        block = X[rows]
        if not as_is:
            copied = room[: len(block)]
            copied[...] = block
            block = copied
        yield rows, block


class Dense(Rows):
    """The rows of an array, used where they lie."""

    def __init__(self, X: Array) -> None:
        self.X = X.view(np.ndarray)
        self.X.flags.writeable = False
        self.n, self.d = (int(size) for size in X.shape)
        self.dtype = X.dtype

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        count = self.n if rows is None else len(rows)
        step = max(1, BLOCK_BYTES // (8 * self.d))
        if rows is None and self.dtype == np.float64:
            step = max(step, count)  # no copy is made: one block
        for start in range(0, count, step):
            part = slice(start, start + step)
            yield np.asarray(self.X[part if rows is None else rows[part]], dtype=np.float64)

    def times(self, w: Array, rows: Index | None = None) -> Array:
        with threads_for(self.X.size * w[:1].size if w.ndim > 1 else 0):
            return self.X @ w if self._as_it_is(rows) else super().times(w, rows)

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        with threads_for(self.X.size * c[:1].size if c.ndim > 1 else 0):
            return self.X.T @ c if self._as_it_is(rows) else super().combine(c, rows)

    def _as_it_is(self, rows: Index | None) -> bool:
        """Is it one block, of which no copy is made?"""
        return rows is None and self.dtype == np.float64

    def in_cache(self) -> Iterator[Array]:
        for _, block in widened(self.X, rows_in_cache(self.d)):
            yield block

    def take(self, rows: Index) -> Dense:
        return Dense(self.X[rows])

    def arrays(self) -> tuple[Array, ...]:
        return (self.X,)

    def with_column(self) -> Rows:
        from .scaled import Copied, Scaled

        d = self.d
        rows = Scaled(self.X, np.zeros(d), np.ones(d), 1.0)
        return rows if self.X.nbytes > COPIED_BYTES else Copied(rows, self.dtype)
