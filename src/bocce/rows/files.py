"""Rows in a file larger than memory, read a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from .._types import Array, Index
from ..blockfile import Block, BlockFile, Store
from .base import Rows
from .dense import Dense


class OffsetBlocks(BlockFile):
    """Blocks of which one column is no feature but an offset: the imaginary part of y."""

    def __init__(self, store: Store, column: int) -> None:
        super().__init__(store)
        self.column = column
        self.d, self.identity = self.d - 1, f"{self.identity} offset {column}"

    def __reduce__(self) -> Any:
        return OffsetBlocks, (self.store, self.column)

    def read(self, i: int) -> Block:
        X, y = super().read(i)
        return np.delete(X, self.column, axis=1), y + 1j * X[:, self.column]


class FileRows(Rows):
    """The rows of a block file, with a 1 behind each if there is a ``column``.

    Products with all rows read the file once; what they give, n numbers, is kept in memory.
    """

    in_parts = True

    def __init__(self, file: BlockFile, column: bool = False) -> None:
        self.X, self.column = file, column
        self.n, self.d, self.dtype = file.n, file.d + column, file.dtype
        self.starts: Index = file.store.starts  # the first row of each block, and n

    def like(self, X: Array) -> Rows:
        """Rows of the file that were taken into memory."""
        return Dense(X).with_column() if self.column else Dense(X)

    def widened(self, blocks: Iterable[int] | None = None) -> Iterator[tuple[Array, Array]]:
        """X as float64, and y, of each block (all, or those named), valid until the next."""
        room = np.ones((self.X.block_rows, self.d))
        for X, y in self.read(blocks):
            block = room[: len(X)]
            # into the same memory: pages that are new cost more than the numbers
            block[:, : X.shape[1]] = X
            yield block, y

    def read(self, blocks: Iterable[int] | None = None) -> Iterator[tuple[Array, Array]]:
        """X and y of each block (all, or those named), valid until the next is taken."""
        named = range(self.X.n_blocks) if blocks is None else blocks
        with closing(self.X.stream(named)) as stream:
            yield from stream

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        if rows is None:
            yield from (X for X, _ in self.widened())
            return
        for X, _ in self._named(rows):
            yield from self.like(X).blocks()

    def _named(self, rows: Index) -> Iterator[tuple[Array, Array]]:
        """X and y of the rows named, in their order, a block at a time."""
        home = np.searchsorted(self.starts[:-1], rows, side="right") - 1
        ends = np.flatnonzero(np.diff(home, append=-1)) + 1
        first = 0
        for end, (X, y) in zip(ends.tolist(), self.read(home[ends - 1])):
            local = rows[first:end] - self.starts[home[first]]
            yield X[local], y[local]
            first = end

    def targets(self, rows: Index | None = None) -> Array:
        """y of all rows, or those named, as stored."""
        blocks = self.read() if rows is None else self._named(rows)
        return np.concatenate([y.copy() for _, y in blocks])

    def take(self, rows: Index) -> Rows:
        return self.like(np.concatenate([X for X, _ in self._named(rows)]))

    def with_column(self) -> Rows:
        return FileRows(self.X, column=True)

    def fingerprint(self) -> str:
        return str(self.X.identity)
