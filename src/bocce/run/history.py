"""Records of a run: a table that grows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..rows import Array


class Record(NamedTuple):
    """What was measured at a step; ``evaluations`` counts gradients of rows until then."""

    k: float
    value: float
    norm: float  # of the gradient, in the caller's variables
    evaluations: float


class History:
    """Rows of records, added one at a time or many at once.

    >>> history = History()
    >>> history.add(Record(0, 3.0, 1.0, 0))
    >>> history.extend(np.array([[1, 2.0, 0.5, 10], [2, 1.0, 0.1, 20]]))
    >>> history.last.norm, len(history), history.table()[:, 0].tolist()
    (0.1, 3, [0.0, 1.0, 2.0])
    """

    def __init__(self, table: Array | None = None) -> None:
        self._rows = np.zeros((8, 4))
        self._size = 0
        if table is not None:
            self.extend(table)

    def __len__(self) -> int:
        return self._size

    @property
    def first(self) -> Record:
        return Record(*self._rows[0].tolist())

    @property
    def last(self) -> Record:
        return Record(*self._rows[self._size - 1].tolist())

    def add(self, record: Record) -> None:
        self._grow(self._size + 1)
        self._rows[self._size] = record
        self._size += 1

    def extend(self, rows: Array) -> None:
        end = self._size + len(rows)
        self._grow(end)
        self._rows[self._size : end] = rows
        self._size = end

    def _grow(self, size: int) -> None:
        """Room for so many records."""
        if size > len(self._rows):
            grown = np.zeros((max(size, 2 * len(self._rows)), 4))
            grown[: self._size] = self._rows[: self._size]
            self._rows = grown

    def drop_last(self) -> None:
        self._size -= 1

    def table(self, size: int | None = None) -> Array:
        """The first ``size`` records (all unless given), a row each."""
        return self._rows[: self._size if size is None else size].copy()
