"""Rows of a dense array: in memory, mapped from a file, of any order, float32 or float64.

``Dense`` uses the array where it lies. ``Scaled`` has the rows in other units, computed from the
caller's array whenever they are used. ``Copied`` has those rows as an array of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .._threads import MULTIPLICATIONS_PER_READ, threads_for
from .._types import Array, Index
from . import mixed, single
from .base import COLUMNS, Rows
from .limits import LIMITS, RowLimits
from .moments import Moments, of_blocks, rows_in_cache

# Numbers that are centred in one go; least squares on 200,000 x 8 takes 1.12 times as long with 1.
CENTRED_TOGETHER = 512
# scales between which squares are as well taken unscaled
SMALLEST_SCALE = 2.0**-30
LARGEST_SCALE = 2.0**30


def by_columns(X: Array) -> bool:
    """Does each column lie in one piece (Fortran order), and not each row?"""
    return X.flags.f_contiguous and not X.flags.c_contiguous


def room_for(X: Array, rows: int, columns: int) -> Array:
    """Memory for some rows, which lie as those of X: so numbers are copied in the order in which
    they are read."""
    if by_columns(X):
        return np.empty((columns, rows)).T
    return np.empty((rows, columns))


def widened(X: Array, step: int) -> Iterator[tuple[slice, Array]]:
    """Which rows, and these as float64 one after the other: ``step`` at a time. Where they have to
    be copied, into the same memory: pages that are new cost more than the numbers."""
    n, d = X.shape
    as_is = X.dtype == np.float64 and (X.flags.c_contiguous or by_columns(X))
    room = room_for(X, 0 if as_is else min(step, n), d)
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

    storage = "dense"

    def __init__(self, X: Array, limits: RowLimits = LIMITS) -> None:
        self.limits = limits
        self.X = X.view(np.ndarray)
        self.X.flags.writeable = False
        self.n, self.d = (int(size) for size in X.shape)
        self.dtype = X.dtype

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        count = self.n if rows is None else len(rows)
        step = max(1, self.limits.block // (8 * self.d))
        if rows is None and self.dtype == np.float64:
            step = max(step, count)  # no copy is made: one block
        for start in range(0, count, step):
            part = slice(start, start + step)
            yield np.asarray(self.X[part if rows is None else rows[part]], dtype=np.float64)

    def times(self, w: Array, rows: Index | None = None) -> Array:
        if rows is None and mixed.suits(self.X, w):
            return mixed.times(self.X, w)
        with self._threads(w, rows):
            return self.X @ w if self._as_it_is(w, rows) else super().times(w, rows)

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        if rows is None and mixed.suits(self.X, c):
            return mixed.combine(self.X, c)
        with self._threads(c, rows):
            return self.X.T @ c if self._as_it_is(c, rows) else super().combine(c, rows)

    def _threads(self, factor: Array, rows: Index | None) -> AbstractContextManager[None]:
        """The threads of a product of rows with a vector, or with a vector for each output."""
        count = self.n if rows is None else len(rows)
        outputs = factor[:1].size
        return threads_for(count * self.d * max(MULTIPLICATIONS_PER_READ, outputs))

    def _as_it_is(self, factor: Array, rows: Index | None) -> bool:
        """Are these all rows, in float64 or as rough as the factor, so that no copy is needed?"""
        return rows is None and self.dtype in (np.float64, factor.dtype)

    def in_cache(self) -> Iterator[Array]:
        for _, block in widened(self.X, rows_in_cache(self.d)):
            yield block

    def rough_gram(self, weights: Array | None = None) -> Array:
        rough = self._single_moments(np.zeros(self.n), weights)
        if rough is None:
            return self.gram(weights)
        return rough.gram

    def rough_moments(self, y: Array, weights: Array | None = None) -> Moments:
        return self._single_moments(y, weights) or self.moments(y, weights)

    def _single_moments(self, y: Array, weights: Array | None) -> Moments | None:
        if not single.pays(self.X, self.limits):
            return None
        return single.single_moments(self.X, np.zeros(self.d), 0.0, y, weights, self.limits)

    def take(self, rows: Index) -> Dense:
        return Dense(self.X[rows], self.limits)

    def part(self, rows: slice) -> Dense:
        return Dense(self.X[rows], self.limits)

    def arrays(self) -> tuple[Array, ...]:
        return (self.X,)

    def with_column(self) -> Rows:
        d = self.d
        rows = Scaled(self.X, np.zeros(d), np.ones(d), 1.0, self.limits)
        if not self._may_be_copied:
            return rows
        return Copied(rows, self.dtype)

    def framed(self, centre: Array, scale: Array, unit: float) -> Rows:
        made = Scaled(self.X, centre, scale, unit, self.limits)
        if self._may_be_copied:
            return Copied(made)
        return made

    @property
    def _may_be_copied(self) -> bool:
        """Are the rows few enough to be copied into other units?"""
        most = self.limits.copied
        if self.dtype != np.float64:
            most = min(most, self.limits.copied_single)
        return bool(self.X.nbytes <= most)

    def standardized(self, centre: Array, scale: Array) -> Rows:
        return Copied(Scaled(self.X, centre, scale, 0.0, self.limits), self.dtype)

    def narrowed(self) -> Dense:
        if self.dtype == np.float32:
            return self
        return Dense(self.X.astype(np.float32), self.limits)

    def row_products(self, ridge: Array, dtype: npt.DTypeLike = np.float64) -> Array:
        if not (ridge == ridge[0]).all():
            return _row_products(self.X, None, ridge**-0.5, dtype)
        X = self.X.astype(dtype, copy=False)
        products = X @ X.T
        products /= ridge[0]
        return np.asarray(products)


class Scaled(Rows):
    """The rows (x - centre) * scale, and ``unit`` behind each if it is not 0."""

    storage = "scaled"
    computed = True

    def __init__(
        self, X: Array, centre: Array, scale: Array, unit: float, limits: RowLimits = LIMITS
    ) -> None:
        self.limits = limits
        self.X = X
        self.centre = centre
        self.scale = scale
        self.unit = unit
        self.n = int(X.shape[0])
        self.d = int(X.shape[1]) + (unit > 0)
        self.dtype = X.dtype

    def made(self, rows: slice | Index, dtype: npt.DTypeLike = np.float64) -> Array:
        """The rows named, as an array of their own."""
        x = np.asarray(self.X[rows], dtype=dtype if self.dtype == dtype else np.float64)
        made = np.empty((x.shape[0], self.d), dtype=dtype)
        made[:, x.shape[1] :] = self.unit
        inner = made[:, : x.shape[1]]
        np.subtract(x, self.centre.astype(x.dtype, copy=False), out=inner, casting="same_kind")
        if (self.scale != 1.0).any():
            inner *= self.scale.astype(dtype)
        return made

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        count = self.n if rows is None else len(rows)
        step = max(1, self.limits.made // (8 * self.d))
        for start in range(0, count, step):
            part = slice(start, start + step)
            yield self.made(part if rows is None else rows[part])

    @cached_property
    def norms2(self) -> Array:
        moved = self.centre.any() or (self.scale != 1.0).any()
        if moved:
            return super().norms2
        return self._plain.norms2 + self.unit**2

    def moments(self, y: Array, weights: Array | None = None) -> Moments:
        """Sums of centred rows, and those are scaled: by powers of two, which rounds nothing."""
        extreme = (self.scale < SMALLEST_SCALE) | (self.scale > LARGEST_SCALE)
        if extreme.any():  # squares might vanish
            return super().moments(y, weights)
        columns = self.scale.size
        sums = of_blocks(self._centred(), y, weights, self.n, columns, self.unit)
        return sums.scaled(np.append(self.scale, np.ones(self.d - columns)))

    def gram(self, weights: Array | None = None) -> Array:
        """As ``moments`` has it, without targets: short rows are centred many at a time."""
        return self.moments(np.empty((self.n, 0)), weights).gram

    def rough_gram(self, weights: Array | None = None) -> Array:
        rough = self._single_moments(np.zeros(self.n), weights)
        if rough is None:
            return self.gram(weights)
        return rough.gram

    def rough_moments(self, y: Array, weights: Array | None = None) -> Moments:
        return self._single_moments(y, weights) or self.moments(y, weights)

    def _single_moments(self, y: Array, weights: Array | None) -> Moments | None:
        extreme = np.any((self.scale < SMALLEST_SCALE) | (self.scale > LARGEST_SCALE))
        if extreme or not single.pays(self.X, self.limits):
            return None
        sums = single.single_moments(self.X, self.centre, self.unit, y, weights, self.limits)
        if sums is None:
            return None
        return sums.scaled(np.append(self.scale, np.ones(self.d - self.scale.size)))

    def _centred(self) -> Iterator[Array]:
        """x - centre, a block that stays in the cache at a time. Several rows are one long one
        where that can be: NumPy takes more time to begin a row than to go through it."""
        step = rows_in_cache(self.scale.size)
        columns = self.scale.size
        if self.X.flags.c_contiguous:
            often = max(1, CENTRED_TOGETHER // columns)
        else:
            often = 1
        centres = np.tile(self.centre, often)
        room = room_for(self.X, min(step, self.n), columns)
        for start in range(0, self.n, step):
            x = self.X[start : start + step]
            made = room[: len(x)]
            if often == 1:
                np.subtract(x, self.centre, out=made)
                yield made
                continue
            even = len(x) // often * often
            long = (even // often, often * columns)
            np.subtract(x[:even].reshape(long), centres, out=made[:even].reshape(long))
            np.subtract(x[even:], self.centre, out=made[even:])
            yield made

    def in_cache(self) -> Iterator[Array]:
        step = rows_in_cache(self.d)
        columns = self.X.shape[1]
        room = room_for(self.X, min(step, self.n), self.d)
        room[:, columns:] = self.unit
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

    def inner(self, w: Array) -> tuple[Array, Array]:
        """(v, a) such that the product with w is X v + a."""
        v = (self.scale * w[: self.scale.size].T).T
        return v, (self.unit * w[-1] if self.unit > 0 else 0.0) - self.centre @ v

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        return self.outer(self._plain.combine(c, rows), c.sum(axis=0))

    def outer(self, total: Array, slopes: Array) -> Array:
        """The combination of these rows, from the combination of X's rows and the sum of c."""
        total = total - np.multiply.outer(self.centre, slopes)
        total = (self.scale * total.T).T
        if self.unit > 0:
            return np.concatenate([total, self.unit * slopes[None]])
        return total

    @property
    def _plain(self) -> Dense:
        return Dense(self.X, self.limits)

    def narrowed(self) -> Dense:
        return Dense(self.made(slice(None), np.float32), self.limits)

    def row_products(self, ridge: Array, dtype: npt.DTypeLike = np.float64) -> Array:
        size = self.scale.size  # the intercept's column has no ridge
        return _row_products(self.X, self.centre, self.scale * ridge[:size] ** -0.5, dtype)

    def take(self, rows: Index) -> Rows:
        if self.dtype == np.float32:  # stay so
            return Scaled(self.X[rows], self.centre, self.scale, self.unit, self.limits)
        return Dense(self.made(rows), self.limits)

    def part(self, rows: slice) -> Scaled:
        return Scaled(self.X[rows], self.centre, self.scale, self.unit, self.limits)

    def arrays(self) -> tuple[Array, ...]:
        return self.X, self.centre, self.scale, np.array([self.unit])


def _row_products(X: Array, centre: Array | None, scale: Array, dtype: npt.DTypeLike) -> Array:
    """Y Y^T with Y = (X - centre) * scale, some columns at a time."""
    total = np.zeros((X.shape[0], X.shape[0]), dtype=dtype)
    for start in range(0, scale.size, COLUMNS):
        part = slice(start, start + COLUMNS)
        x = X[:, part]
        if centre is not None:
            x = x - centre[part]
        scaled = (x * scale[part]).astype(dtype, copy=False)
        total += scaled @ scaled.T
    return total


class Copied(Dense):
    """The same rows as an array of their own, which is made when somebody asks for it: sums over
    all rows need none."""

    def __init__(self, rows: Scaled, dtype: npt.DTypeLike = np.float64) -> None:
        self.made_of = rows
        self.limits = rows.limits
        self.dtype = np.dtype(dtype)
        self.laid_out = False  # was the array asked for?
        self.n = rows.n
        self.d = rows.d

    @cached_property
    def X(self) -> Array:  # type: ignore[override]
        made = self.made_of.made(slice(None), self.dtype)
        made.flags.writeable = False
        self.laid_out = True
        return made

    def rough_gram(self, weights: Array | None = None) -> Array:
        return self.gram(weights)

    def rough_moments(self, y: Array, weights: Array | None = None) -> Moments:
        return self.moments(y, weights)

    def times(self, w: Array, rows: Index | None = None) -> Array:
        if self._as_exact_where_they_lie:
            return self.made_of.times(w, rows)
        return super().times(w, rows)

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        if self._as_exact_where_they_lie:
            return self.made_of.combine(c, rows)
        return super().combine(c, rows)

    @property
    def _as_exact_where_they_lie(self) -> bool:
        """Does a product need no copy, because no column is centred, which costs digits?"""
        return not (self.laid_out or self.made_of.centre.any())

    def moments(self, y: Array, weights: Array | None = None) -> Moments:
        exact = self.dtype == np.float64 and not self.laid_out
        if exact:
            return self.made_of.moments(y, weights)
        return super().moments(y, weights)
