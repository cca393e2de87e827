"""Sparse rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._types import Array, Index
from .base import Rows
from .moments import Moments, gram_of, rows_in_cache

PART_ENTRIES = 1 << 18  # Sums over all rows take this many entries at a time.
# Scales between which squares are as well taken unscaled.
LEAST_FACTOR = 2.0**-100
LARGEST_FACTOR = 2.0**100
SPARSE_COST = 8.0  # A sparse multiplication in a Gram matrix costs as much as this many dense ones.


@dataclass(frozen=True)
class GramPrices:
    """The cost of a Gram matrix in nanoseconds, and the size of its dense blocks.

    Dense blocks make a Gram matrix 4.2 times faster on ijcnn1 and 1.5 times on mushrooms. Entries
    of one size that are counted in float32 make least squares 1.55 times faster on a9a and 1.7
    times on mushrooms.
    """

    sparse_pair: float = 2.1  # a multiplication of two sparse entries
    product: float = 0.004  # a dense multiplication, for each byte of a number
    laying: float = 0.4  # writing a number into a dense block
    # The numbers of a dense block. None is 2^18 (1 MB of float32: a9a takes 0.83 of the time
    # of 2^19), or as many rows as stay in the cache if those are more.
    block: int | None = None

    def rows_of_block(self, d: int) -> int:
        if self.block is not None:
            return max(1, self.block // d)
        return max((1 << 18) // d, rows_in_cache(d))


PRICES = GramPrices()


class Csr(Rows):
    """The rows of a SciPy CSR array in canonical format."""

    storage = "csr"
    sparse = True

    def __init__(self, X: sp.csr_array, prices: GramPrices = PRICES) -> None:
        self.X = X
        self.prices = prices
        self.n, self.d = (int(size) for size in X.shape)
        self.dtype = X.dtype

    def blocks(self, rows: Index | None = None) -> Iterator[sp.csr_array]:
        yield self.X if rows is None else self.X[rows]

    def times(self, w: Array, rows: Index | None = None) -> Array:
        return np.asarray(next(self.blocks(rows)) @ w)

    @cached_property
    def _turned(self) -> sp.csc_array:
        """The transpose, for sums over all rows (a view: CSC of the same arrays)."""
        return self.X.T

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        return np.asarray((self._turned if rows is None else self.X[rows].T) @ c)

    @property
    def cost(self) -> float:
        return float(self.X.nnz)

    @property
    def gram_cost(self) -> float:
        return SPARSE_COST**2 * self.cost**2 / self.n

    @cached_property
    def shares(self) -> Array:
        """The share of rows that have an entry, for each column."""
        counts = np.zeros(self.d)
        step = max(PART_ENTRIES, self.d)
        for start in range(0, self.X.nnz, step):  # bincount makes indices 64 bits wide
            counts += np.bincount(self.X.indices[start : start + step], minlength=self.d)
        return np.asarray(counts / self.n)

    @cached_property
    def pairs(self) -> float:  # type: ignore[override]
        counts = np.diff(self.X.indptr).astype(np.float64)
        return float(counts @ counts) / max(1, self.n)

    @property
    def shared_entries(self) -> float:
        counts = self.n * self.shares
        return float(counts @ counts)

    @cached_property
    def norms2(self) -> Array:
        return self.row_sums(np.ones(self.d))

    def row_sums(self, factors: Array) -> Array:
        """sum_j f_j x_ij^2 for each row."""
        sums = np.empty(self.n)
        for rows, part in self._parts(PART_ENTRIES):
            squares = sp.csr_array((np.square(part.data), part.indices, part.indptr), part.shape)
            sums[rows] = squares @ factors
        return sums

    def squares(self, weights: Array | None = None) -> Array:
        if weights is None and self._sizes is not None:
            return np.asarray(np.square(self._sizes) * self.shares)
        total = np.zeros(self.d)
        if weights is None:
            shares = np.ones(self.n)
        else:
            shares = weights
        for rows, part in self._parts(PART_ENTRIES):
            part.data = np.square(part.data)
            total += part.T @ shares[rows]
        return total / self.n

    def column_moments(self, weights: Array | None = None) -> tuple[Array, Array]:
        c = np.ones(self.n) if weights is None else weights
        mean = self.combine(c) / self.n
        squares = np.zeros(self.d)
        weight = np.zeros(self.d)
        for rows, part in self._parts(PART_ENTRIES):
            part.data = np.square(part.data - mean[part.indices])
            squares += part.T @ c[rows]
            part.data = np.ones(part.nnz)
            weight += part.T @ c[rows]
        return mean, squares / self.n + np.square(mean) * (1.0 - weight / self.n).clip(0.0)

    def _parts(self, entries: int) -> Iterator[tuple[slice, sp.csr_array]]:
        """About so many entries at a time, in float64: copies of all would double the data."""
        step = max(1, entries * self.n // max(1, self.X.nnz))
        for start in range(0, self.n, step):
            rows = slice(start, min(self.n, start + step))
            yield rows, self._cut(rows, self.X.data).astype(np.float64, copy=False)

    def projections2(self, directions: Array) -> Array:
        rotated = self.times(directions)
        return np.asarray(np.einsum("ij,ij->i", rotated, rotated))

    def gram(self, weights: Array | None = None) -> Array:
        """By sparse products, or by dense ones of rows that are laid out a block at a time, in the
        cache: whichever costs less."""
        sparse = self.prices.sparse_pair * self.pairs
        if weights is None and self._laid_out(np.float32) < sparse and self._sizes is not None:
            return self._counted(self._sizes)
        if self._laid_out(np.float64) < sparse:
            return gram_of(self.in_cache(), weights, self.n, self.d)
        return self._sparse_gram(weights)

    def _laid_out(self, dtype: npt.DTypeLike) -> float:
        """Nanoseconds of a row's part of the Gram matrix, if it is laid out densely."""
        dense = self.prices.product * np.dtype(dtype).itemsize * self.d**2
        return float(dense + self.prices.laying * self.d)

    def in_cache(self) -> Iterator[Array]:
        return self._dense_blocks(self.X.data.astype(np.float64, copy=False))

    def _dense_blocks(self, data: Array) -> Iterator[Array]:
        """Rows with these entries, laid out in the same memory one block after the other."""
        step = self.prices.rows_of_block(self.d)
        room = np.empty((min(step, self.n), self.d), dtype=data.dtype)
        for start in range(0, self.n, step):
            part = self._cut(slice(start, start + step), data)
            yield part.toarray(out=room[: part.shape[0]])

    @cached_property
    def _sizes(self) -> Array | None:
        """The size of a column's entries, where these are but marks of what a row has: all of one
        size, before columns were scaled. None elsewhere."""
        data = self.X.data
        first = abs(float(data[0])) if data.size else 0.0
        if not 0.0 < first < math.inf:
            return None
        for start in range(0, data.size, PART_ENTRIES):
            if not (np.abs(data[start : start + PART_ENTRIES]) == first).all():
                return None
        return np.full(self.d, first)

    def _counted(self, sizes: Array) -> Array:
        """The Gram matrix of marks: sums of +-1 and 0, in float32 exact up to 2^24 of them."""
        total = np.zeros((self.d, self.d))
        for x in self._dense_blocks(np.sign(self.X.data, dtype=np.float32, casting="same_kind")):
            total += x.T @ x
        return total * sizes * sizes[:, None] / self.n

    def _sparse_gram(self, weights: Array | None) -> Array:
        total: Array = np.zeros(())
        for rows, part in self._parts(max(PART_ENTRIES, self.d**2)):
            other = part
            if weights is not None:
                data = part.data * np.repeat(weights[rows], np.diff(part.indptr))
                other = sp.csr_array((data, part.indices, part.indptr), shape=part.shape)
            total = total + (part.T @ other).toarray()
        return np.asarray(total) / self.n

    def moments(self, y: Array, weights: Array | None = None) -> Moments:
        weighted_targets = y if weights is None else weights * y
        b = self.combine(np.asarray(weighted_targets, dtype=np.float64)) / self.n
        target2 = float(weighted_targets @ y) / self.n
        return Moments(self.gram(weights), b, target2, self.n, n=self.n)

    def take(self, rows: Index) -> Csr:
        return Csr(self.X[rows], self.prices)

    def part(self, rows: slice) -> Csr:
        return Csr(self._cut(rows, self.X.data), self.prices)

    def _cut(self, rows: slice, data: Array) -> sp.csr_array:
        """Consecutive rows with these entries, without a copy."""
        ends = self.X.indptr[rows.start : rows.stop + 1]
        of = slice(ends[0], ends[-1])
        entries = data[of], self.X.indices[of], ends - ends[0]
        return sp.csr_array(entries, shape=(ends.size - 1, self.d))

    def arrays(self) -> tuple[Array, ...]:
        return self.X.data, self.X.indices, self.X.indptr

    def with_column(self) -> Csr:
        return self.scaled(np.ones(self.d), 1.0)

    def framed(self, centre: Array, scale: Array, unit: float) -> Csr:
        return self.scaled(scale, unit)

    def row_products(self, ridge: Array, dtype: npt.DTypeLike = np.float64) -> Array:
        X = self.X.astype(np.float64, copy=False)
        scaled = sp.csr_array((X.data / ridge[X.indices], X.indices, X.indptr), shape=X.shape)
        return np.asarray((scaled @ X.T).toarray())

    def scaled(self, scale: Array, unit: float) -> Csr:
        """Columns multiplied by ``scale``, and ``unit`` behind each row if it is not 0."""
        if unit == 0.0 and (scale == 1.0).all():
            return self
        made = ScaledCsr(self, scale, unit)
        if np.any(
            (scale < LEAST_FACTOR) | (scale > LARGEST_FACTOR)
        ):  # squares of X itself might vanish
            return Csr(made.X, self.prices)
        return made


class ScaledCsr(Csr):
    """Sparse rows with columns multiplied by ``scale``, and ``unit`` behind each if it is not 0.

    Products and sums are those of the rows as they lie, multiplied afterwards. An array of their
    own, as large as all rows, is made when somebody asks for ``X``: the kernels of batches do.
    """

    computed = True

    def __init__(self, rows: Csr, scale: Array, unit: float) -> None:
        self.made_of = rows
        self.prices = rows.prices
        self.scale = scale
        self.unit = unit
        self.n = rows.n
        self.d = rows.d + (unit > 0.0)
        self.dtype = rows.dtype

    @cached_property
    def X(self) -> sp.csr_array:  # type: ignore[override]
        return self._made(self.made_of.X)

    def _made(self, X: sp.csr_array) -> sp.csr_array:
        if (self.scale != 1.0).any():
            data = X.data * self.scale[X.indices].astype(X.dtype)
            X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
        if self.unit > 0.0:
            X = _with_last(X, self.unit)
        return X

    def _of(self, rows: Csr) -> ScaledCsr:
        """Other rows in the same units."""
        return ScaledCsr(rows, self.scale, self.unit)

    def _with_unit(self, values: Array, last: Array | float) -> Array:
        """One value a column, and the last one's where there is a unit."""
        if self.unit > 0.0:
            return np.concatenate([values, np.broadcast_to(last, (1, *values.shape[1:]))])
        return values

    def blocks(self, rows: Index | None = None) -> Iterator[sp.csr_array]:
        for block in self.made_of.blocks(rows):
            yield self._made(block)

    def times(self, w: Array, rows: Index | None = None) -> Array:
        inner = (self.scale * w[: self.scale.size].T).T
        found = self.made_of.times(inner, rows)
        if self.unit > 0.0:
            found += self.unit * w[-1]
        return found

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        total = (self.scale * self.made_of.combine(c, rows).T).T
        return self._with_unit(total, self.unit * c.sum(axis=0))

    @property
    def cost(self) -> float:
        return self.made_of.cost + self.n * (self.unit > 0.0)

    @property
    def shares(self) -> Array:  # type: ignore[override]
        return self._with_unit(self.made_of.shares, 1.0)

    @cached_property
    def pairs(self) -> float:  # type: ignore[override]
        entries = self.made_of.cost / max(1, self.n)
        return self.made_of.pairs + (2.0 * entries + 1.0) * (self.unit > 0.0)

    @cached_property
    def norms2(self) -> Array:
        return self.made_of.row_sums(np.square(self.scale)) + self.unit**2

    def squares(self, weights: Array | None = None) -> Array:
        mean = 1.0 if weights is None else float(weights.mean())
        squares = self.made_of.squares(weights) * np.square(self.scale)
        return self._with_unit(squares, self.unit**2 * mean)

    def column_moments(self, weights: Array | None = None) -> tuple[Array, Array]:
        mean, variance = self.made_of.column_moments(weights)
        means = self._with_unit(mean * self.scale, self.unit)
        return means, self._with_unit(variance * np.square(self.scale), 0.0)

    def gram(self, weights: Array | None = None) -> Array:
        H = self.made_of.gram(weights)
        H *= self.scale
        H *= self.scale[:, None]
        if self.unit == 0.0:
            return H
        c = np.ones(self.n) if weights is None else weights
        gram = np.empty((self.d, self.d))
        gram[:-1, :-1] = H
        gram[-1] = gram[:, -1] = self.unit / self.n * self.combine(c)
        return gram

    def in_cache(self) -> Iterator[Array]:
        for block in self.made_of.in_cache():
            made = np.full((len(block), self.d), self.unit)
            np.multiply(block, self.scale, out=made[:, : self.scale.size])
            yield made

    def take(self, rows: Index) -> Csr:
        return self._of(self.made_of.take(rows))

    def part(self, rows: slice) -> Csr:
        return self._of(Csr(self.made_of._cut(rows, self.made_of.X.data), self.prices))

    def scaled(self, scale: Array, unit: float) -> Csr:
        return Csr(self.X, self.prices).scaled(scale, unit)

    def arrays(self) -> tuple[Array, ...]:
        return *self.made_of.arrays(), self.scale, np.array([self.unit])


def _with_last(X: sp.csr_array, unit: float) -> sp.csr_array:
    """X with one more column, of ``unit`` everywhere. (``scipy.sparse.hstack`` takes three times as
    long.)"""
    n, d = X.shape
    small = X.nnz + n <= np.iinfo(X.indptr.dtype).max and d < np.iinfo(X.indices.dtype).max
    kind = X.indptr.dtype if small else np.int64
    starts = X.indptr.astype(kind) + np.arange(n + 1, dtype=kind)
    old = np.ones(X.nnz + n, dtype=bool)
    old[starts[1:] - 1] = False
    data = np.full(old.size, unit, dtype=X.dtype)
    indices = np.full(old.size, d, dtype=kind)
    data[old] = X.data
    indices[old] = X.indices
    return sp.csr_array((data, indices, starts), shape=(n, d + 1))
