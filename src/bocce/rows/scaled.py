"""Dense rows in other units, made of the caller's array as they are used: no copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .base import Array, Index, Rows
from .dense import Dense
from .moments import rows_in_cache

BLOCK_BYTES = 1 << 20  # rows are made this many bytes at a time


class Scaled(Rows):
    """The rows (x - centre) * scale, and ``unit`` behind each if it is not 0."""

    def __init__(self, X: Array, centre: Array, scale: Array, unit: float) -> None:
        self.X, self.centre, self.scale, self.unit = X, centre, scale, unit
        self.n, self.d = int(X.shape[0]), int(X.shape[1]) + (unit > 0)
        self.dtype = X.dtype

    def made(self, rows: Any, dtype: Any = np.float64) -> Array:
        """The rows named, as an array of their own."""
        x = np.asarray(self.X[rows], dtype=np.float64)
        made = np.full((x.shape[0], self.d), self.unit, dtype=dtype)
        inner = made[:, : x.shape[1]]
        np.subtract(x, self.centre, out=inner, casting="same_kind")
        inner *= self.scale.astype(dtype)
        return made

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        count = self.n if rows is None else len(rows)
        step = max(1, BLOCK_BYTES // (8 * self.d))
        for start in range(0, count, step):
            part = slice(start, start + step)
            yield self.made(part if rows is None else rows[part])

    def in_cache(self) -> Iterator[Array]:
        step, columns = rows_in_cache(self.d), self.X.shape[1]
        room = np.full((min(step, self.n), self.d), self.unit)
        for start in range(0, self.n, step):
            x = self.X[start : start + step]
            made = room[: len(x)]
            inner = made[:, :columns]
            np.subtract(x, self.centre, out=inner)
            inner *= self.scale
            yield made

    def times(self, w: Array, rows: Index | None = None) -> Array:
        inner, offset = self.inner(w)
        return np.asarray(self._plain.times(inner, rows) + offset)

    def inner(self, w: Array) -> tuple[Array, Any]:
        """(v, a) such that the product with w is X v + a."""
        v = (self.scale * w[: self.scale.size].T).T
        return v, (self.unit * w[-1] if self.unit > 0 else 0.0) - self.centre @ v

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        return self.outer(self._plain.combine(c, rows), c.sum(axis=0))

    def outer(self, total: Array, slopes: Array) -> Array:
        """The combination of these rows, from that of the rows of X and the sum of c."""
        total = total - np.multiply.outer(self.centre, slopes)
        total = (self.scale * total.T).T
        return np.concatenate([total, self.unit * slopes[None]]) if self.unit > 0 else total

    @property
    def _plain(self) -> Dense:
        return Dense(self.X)

    def take(self, rows: Index) -> Dense:
        return Dense(self.made(rows))

    def arrays(self) -> tuple[Array, ...]:
        return self.X, self.centre, self.scale, np.array([self.unit])
