"""Dense rows in other units, made of the caller's array as they are used: no copy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .base import Array, Index, Rows
from .dense import Dense
from .moments import Moments, of_blocks, rows_in_cache

BLOCK_BYTES = 1 << 20  # rows are made this many bytes at a time
TOGETHER = 512  # numbers that are centred in one go
SMALLEST, LARGEST = 2.0**-30, 2.0**30  # scales between which squares are as well taken unscaled


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
        if (self.scale != 1.0).any():
            inner *= self.scale.astype(dtype)
        return made

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        count = self.n if rows is None else len(rows)
        step = max(1, BLOCK_BYTES // (8 * self.d))
        for start in range(0, count, step):
            part = slice(start, start + step)
            yield self.made(part if rows is None else rows[part])

    def moments(self, y: Array, weights: Array | None = None) -> Moments:
        """Sums of centred rows, and those are scaled: by powers of two, which rounds nothing."""
        if np.any((self.scale < SMALLEST) | (self.scale > LARGEST)):  # squares might vanish
            return super().moments(y, weights)
        columns = self.scale.size
        sums = of_blocks(self._centred(), y, weights, self.n, columns, self.unit)
        return sums.scaled(np.append(self.scale, np.ones(self.d - columns)))

    def _centred(self) -> Iterator[Array]:
        """x - centre, a block that stays in the cache at a time. Several rows are one long one
        where that can be: NumPy takes more time to begin a row than to go through it."""
        step, columns = rows_in_cache(self.scale.size), self.scale.size
        often = max(1, TOGETHER // columns) if self.X.flags.c_contiguous else 1
        centres, room = np.tile(self.centre, often), np.empty((min(step, self.n), columns))
        for start in range(0, self.n, step):
            x = self.X[start : start + step]
            made, even = room[: len(x)], len(x) // often * often
            long = (even // often, often * columns)
            np.subtract(x[:even].reshape(long), centres, out=made[:even].reshape(long))
            np.subtract(x[even:], self.centre, out=made[even:])
            yield made

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


class Copied(Dense):
    """The same rows as an array of their own, which is made when somebody asks for it: sums over
    all rows need none."""

    def __init__(self, rows: Scaled, dtype: Any = np.float64) -> None:
        self.made_of, self.dtype = rows, np.dtype(dtype)
        self.n, self.d = rows.n, rows.d

    @cached_property
    def X(self) -> Array:  # type: ignore[override]
        made = self.made_of.made(slice(None), self.dtype)
        made.flags.writeable = False
        return made

    def moments(self, y: Array, weights: Array | None = None) -> Moments:
        exact = self.dtype == np.float64 and "X" not in vars(self)
        return self.made_of.moments(y, weights) if exact else super().moments(y, weights)
