"""Rows in a file larger than memory, read a block at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from .._types import Array, Index
from .base import Rows


@runtime_checkable
class InBlocks(Protocol):
    """What streams rows a block at a time: a block file, or a table that ``data.open`` opened."""

    @property
    def n(self) -> int: ...

    @property
    def d(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[np.generic]: ...

    @property
    def labels(self) -> list[float] | None: ...

    @property
    def classes(self) -> list[str] | None: ...

    @property
    def n_blocks(self) -> int: ...

    @property
    def identity(self) -> str:
        """A hash of all rows."""

    def start(self, block: int) -> int:
        """The first row of the block."""

    def stream(self, blocks: Iterable[int]) -> Generator[tuple[Array, Array]]:
        """A generator of (X, y) of the blocks named."""


class OffsetBlocks:
    """Blocks of which one column is no feature but an offset: the imaginary part of y."""

    def __init__(self, file: InBlocks, column: int) -> None:
        self.file, self.column = file, column
        self.n, self.d, self.dtype, self.n_blocks = file.n, file.d - 1, file.dtype, file.n_blocks
        self.labels, self.classes = file.labels, file.classes
        self.identity = f"{file.identity} offset {column}"

    def start(self, block: int) -> int:
        return int(self.file.start(block))

    def stream(self, blocks: Iterable[int]) -> Generator[tuple[Array, Array], None, None]:
        with closing(self.file.stream(blocks)) as stream:
            for X, y in stream:
                yield np.delete(X, self.column, axis=1), y + 1j * X[:, self.column]


class FileRows(Rows):
    """The rows of a block file (or of anything that streams blocks as it does).

    Products with all rows read the file once; what they give, n numbers, is kept in memory.
    """

    in_parts = True

    def __init__(self, file: InBlocks) -> None:
        self.X = file
        self.n, self.d, self.dtype = file.n, file.d, file.dtype

    @cached_property
    def starts(self) -> Index:
        """The first row of each block, and n."""
        return np.array([*(self.X.start(i) for i in range(self.X.n_blocks)), self.n])

    def like(self, X: Array) -> Rows:
        """Rows of the file that were taken into memory."""
        from .dense import Dense

        return Dense(X)

    def widened(self, blocks: Iterable[int] | None = None) -> Iterator[tuple[Array, Array]]:
        """X as float64, and y, of each block (all, or those named), valid until the next."""
        room = np.ones((int(np.diff(self.starts).max()), self.d))
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
        if rows is not None:
            for X, _, local in self.named(rows):
                yield np.asarray(X[local], dtype=np.float64)
            return
        for X, _ in self.widened():
            yield X

    def named(self, rows: Index) -> Iterator[tuple[Array, Array, Index]]:
        """The blocks that hold the rows, in the order asked for, and the rows' numbers there."""
        starts = self.starts[:-1]
        home = np.searchsorted(starts, rows, side="right") - 1
        ends = np.flatnonzero(np.diff(home, append=-1)) + 1
        first = 0
        for end, (X, y) in zip(ends.tolist(), self.read(home[ends - 1])):
            yield X, y, np.asarray(rows[first:end] - starts[home[first]])
            first = end

    def targets(self) -> Array:
        """y of all rows, as stored."""
        return np.concatenate([y.copy() for _, y in self.read()])

    def take(self, rows: Index) -> Rows:
        return self.like(np.concatenate([np.array(X[local]) for X, _, local in self.named(rows)]))

    def with_column(self) -> Rows:
        return FileWithColumn(self.X)

    def fingerprint(self) -> str:
        return str(self.X.identity)


class FileWithColumn(FileRows):
    """The rows of a file with a 1 behind each."""

    def __init__(self, file: InBlocks) -> None:
        super().__init__(file)
        self.d = file.d + 1

    def like(self, X: Array) -> Rows:
        return super().like(X).with_column()

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        if rows is None:
            yield from super().blocks()
            return
        for block in super().blocks(rows):
            yield np.column_stack([block, np.ones(len(block))])
