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
        return SPARSE_COST**2 * float(self.X.nnz) ** 2 / self.n

    @cached_property
    def shares(self) -> Array:
        """The share of rows that have an entry, for each column."""
        return np.asarray(np.bincount(self.X.indices, minlength=self.d) / self.n)

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
        exact = self.X.astype(np.float64, copy=False)
        return np.asarray(exact.multiply(exact).sum(axis=1)).ravel()

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
        rotated = self.X @ directions
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
        marks = (data == first).all() or (np.abs(data) == first).all()
        if marks:
            return np.full(self.d, first)
        return None

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
        pulls = y if weights is None else weights * y
        b = self.combine(np.asarray(pulls, dtype=np.float64)) / self.n
        return Moments(self.gram(weights), b, float(pulls @ y) / self.n, self.n)

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
        X = self.X
        sizes = self._sizes
        if (scale != 1.0).any():
            data = X.data * scale[X.indices].astype(X.dtype)
            X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
        if unit > 0.0:
            X = _with_last(X, unit)
        made = Csr(X, self.prices)
        if sizes is None:
            made._sizes = None
        else:
            made._sizes = np.append(sizes * scale, [unit] * (unit > 0.0))
        return made


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
