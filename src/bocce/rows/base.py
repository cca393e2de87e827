"""What is asked of rows, wherever they lie.

A kind of storage (a file of this room) says how its rows are had a block at a time; products, sums
and Gram matrices follow from that, and a storage that knows a shorter way has its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._types import Array, Design, Index
from .limits import LIMITS, RowLimits
from .moments import Moments, gram_of, of_blocks

HASHED_BYTES = 1 << 22  # at a time
COLUMNS = 512  # Products of all pairs of rows are summed over this many columns at a time.


class Rows:
    """n rows of d numbers.

    ``X`` is what the caller gave. ``storage`` is the name in ``KINDS``: what keeps a form of the
    rows for itself, such as the compiled kernels, finds it by that name. ``in_parts``: are the rows
    read from elsewhere, a part at a time? ``foreign``: are they an array of another library than
    NumPy, perhaps on another device? ``computed``: are they made of other numbers at each use?
    In all methods ``rows`` are the numbers of some rows (None: all rows), w and D have a row for
    each of the d columns of X, and ``weights`` and y have one number a row.
    """

    X: Design
    n: int
    d: int
    dtype: np.dtype[np.generic]
    storage: ClassVar[str] = ""
    limits: RowLimits = LIMITS
    sparse = False
    in_parts = False
    foreign = False
    computed = False

    @property
    def library(self) -> str:
        """The name of that library and a space, for messages."""
        return ""

    def blocks(self, rows: Index | None = None) -> Iterator[Design]:
        """The rows, a block at a time, as float64 where they are dense."""
        raise NotImplementedError

    def take(self, rows: Index) -> Rows:
        """Some of the rows, in memory."""
        raise NotImplementedError

    def part(self, rows: slice) -> Rows:
        """Consecutive rows, without a copy where they are in memory."""
        return self.take(np.arange(self.n)[rows])

    def arrays(self) -> tuple[Array, ...]:
        """The arrays that hold the rows."""
        raise NotImplementedError

    def with_column(self) -> Rows:
        """The rows with a 1 appended to each, so that the last variable is the intercept."""
        raise NotImplementedError

    def framed(self, centre: Array, scale: Array, unit: float) -> Rows:
        """The rows (x - centre) * scale, and ``unit`` behind each if it is not 0. Sparse rows have
        the centre 0."""
        raise NotImplementedError

    def standardized(self, centre: Array, scale: Array) -> Rows:
        """The rows (x - centre) * scale in memory of their own, in their own type; rows in parts
        are computed when they are read."""
        return self.framed(centre, scale, 0.0)

    def narrowed(self) -> Rows:
        """The rows in float32."""
        raise NotImplementedError

    @property
    def in_memory(self) -> bool:
        """Are these NumPy rows of this process?"""
        return not (self.in_parts or self.foreign)

    @property
    def sampled(self) -> Any:
        """What gives some rows, and of these some columns, as ``[rows, columns]``."""
        return self.X

    def not_finite(self) -> int | None:
        """The first row that has NaN or infinity."""
        start = 0
        for block in self.blocks():
            numbers = block.data if self.sparse else block
            if not all_finite(numbers):
                finite = np.isfinite(numbers.reshape(numbers.shape[0], -1)).all(axis=1)
                at = int(np.argmin(finite))
                if self.sparse:
                    at = int(np.searchsorted(block.indptr, at, side="right")) - 1
                return start + at
            start += block.shape[0]
        return None

    def row_products(self, ridge: Array, dtype: npt.DTypeLike = np.float64) -> Array:
        """X R^-1 X^T with R = diag(ridge), n x n numbers; dense rows are multiplied in ``dtype``.
        A column of infinite ridge is left out."""
        total = np.zeros((self.n, self.n), dtype=dtype)
        X = np.concatenate([np.array(block) for block in self.blocks()])  # each is valid once
        for start in range(0, self.d, COLUMNS):
            part = slice(start, start + COLUMNS)
            x = (X[:, part] * ridge[part] ** -0.5).astype(dtype, copy=False)
            total += x @ x.T
        return total

    @property
    def cost(self) -> float:
        """Multiplications of one product with a vector."""
        return float(self.n) * self.d

    @property
    def gram_cost(self) -> float:
        """Multiplications, as cheap as dense ones, of a Gram matrix."""
        return float(self.n) * self.d**2

    @property
    def pairs(self) -> float:
        """Multiplications of a row's part of a Gram matrix, on average."""
        return (self.cost / max(1, self.n)) ** 2

    @property
    def shared_entries(self) -> float:
        """Over all pairs of rows, the sum of the columns in which both have an entry."""
        return float(self.n) ** 2 * self.d

    def times(self, w: Array, rows: Index | None = None) -> Array:
        """x_i . w for all rows, or those named."""
        parts = [block @ w for block in self.blocks(rows)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        """sum_i c_i x_i over all rows, or those named."""
        total = np.zeros((self.d, *c.shape[1:]))
        start = 0
        for block in self.blocks(rows):
            total += block.T @ c[start : start + block.shape[0]]
            start += block.shape[0]
        return total

    @cached_property
    def norms2(self) -> Array:
        """||x_i||^2."""
        return np.concatenate([np.einsum("ij,ij->i", block, block) for block in self.blocks()])

    def squares(self, weights: Array | None = None) -> Array:
        """1/n sum_i s_i x_ij^2 for each column, s_i the weights (1 unless given)."""
        total = np.zeros(self.d)
        start = 0
        for block in self.blocks():
            part = slice(start, start + block.shape[0])
            if weights is None:
                shares = np.ones(block.shape[0])
            else:
                shares = weights[part]
            total += shares @ np.square(block)
            start = part.stop
        return total / self.n

    def column_moments(self, weights: Array | None = None) -> tuple[Array, Array]:
        """The mean and the variance of each column, without cancellation."""
        mean = np.zeros(self.d)
        squares = np.zeros(self.d)
        before = 0.0
        start = 0
        room = np.empty((0, self.d))
        for block in self.in_cache():
            part = slice(start, start + block.shape[0])
            if len(room) < len(block):
                room = np.empty(block.shape)
            if weights is None:
                c = np.ones(block.shape[0])
            else:
                c = weights[part]
            weight = float(c.sum())
            start = part.stop
            here = c @ block / weight
            share = weight / (before + weight)
            apart = np.subtract(block, here, out=room[: len(block)])  # new memory costs more
            squares += c @ np.square(apart, out=apart) + before * share * np.square(here - mean)
            mean = mean + share * (here - mean)
            before = before + weight
        return mean, squares / before

    def projections2(self, directions: Array) -> Array:
        """||x_i^T D||^2 for the columns of D."""
        rotated = (block @ directions for block in self.in_cache())
        return np.concatenate([np.einsum("ij,ij->i", block, block) for block in rotated])

    def gram(self, weights: Array | None = None) -> Array:
        """1/n sum_i s_i x_i x_i^T, s_i >= 0 the weights (1 unless given)."""
        return gram_of(self.in_cache(), weights, self.n, self.d)

    def moments(self, y: Array, weights: Array | None = None) -> Moments:
        """The Gram matrix and 1/n sum_i s_i y_i x_i, 1/n sum_i s_i y_i^2, in one pass."""
        return of_blocks(self.in_cache(), y, weights, self.n, self.d)

    def rough_gram(self, weights: Array | None = None) -> Array:
        """The Gram matrix for a metric: in the precision of the rows, where that is faster."""
        return self.gram(weights)

    def rough_moments(self, y: Array, weights: Array | None = None) -> Moments:
        """The moments, perhaps from sums in the precision of the rows (``Moments.rough``)."""
        return self.moments(y, weights)

    def in_cache(self) -> Iterator[Array]:
        """All rows as float64, in blocks small enough for the processor's cache.

        A block is valid until the next one.
        """
        return self.blocks()

    def fingerprint(self) -> str:
        """A hash of the shape, the type and every number."""
        return digest(*self.arrays())


def all_finite(numbers: Array) -> bool:
    """Are there neither NaN nor infinity?"""
    with np.errstate(over="ignore", invalid="ignore"):
        quick = np.isfinite(numbers.sum(dtype=np.float64))
    return bool(quick or np.isfinite(numbers).all())  # a sum may overflow on its own


def digest(*arrays: Array) -> str:
    """A hash of shapes, types and contents, taken a block at a time."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.shape}{array.dtype}".encode())
        flat = np.atleast_1d(array)
        step = max(1, HASHED_BYTES * len(flat) // max(1, flat.nbytes))
        for start in range(0, len(flat), step):
            sha.update(np.ascontiguousarray(flat[start : start + step]).data)
    return sha.hexdigest()
