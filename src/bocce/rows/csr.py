"""Sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import Array, Index, Rows

SQUARED_ENTRIES = 1 << 20  # at a time
SPARSE_COST = 8.0  # of a sparse multiplication in a Gram matrix, in dense ones


class Csr(Rows):
    """The rows of a SciPy CSR array in canonical format."""

    sparse = True

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n, self.d = (int(size) for size in X.shape)
        self.dtype = X.dtype

    @cached_property
    def _exact(self) -> Any:
        return self.X.astype(np.float64, copy=False)

    def blocks(self, rows: Index | None = None) -> Iterator[Any]:
        yield self.X if rows is None else self.X[rows]

    def times(self, w: Array, rows: Index | None = None) -> Array:
        return np.asarray(next(self.blocks(rows)) @ w)

    @cached_property
    def _turned(self) -> Any:
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
    def pairs(self) -> float:  # type: ignore[override]
        counts = np.diff(self.X.indptr).astype(np.float64)
        return float(counts @ counts) / max(1, self.n)

    @cached_property
    def norms2(self) -> Array:
        return np.asarray(self._exact.multiply(self._exact).sum(axis=1)).ravel()

    def squares(self, weights: Array | None = None) -> Array:
        X, total = self.X, np.zeros(self.d)
        shares = np.ones(self.n) if weights is None else weights
        step = max(1, SQUARED_ENTRIES * self.n // max(1, X.nnz))  # rows whose squares are at hand
        for start in range(0, self.n, step):
            part = X.indptr[start : start + step + 1]
            of = slice(part[0], part[-1])
            data = np.square(X.data[of], dtype=np.float64)
            shape = (part.size - 1, self.d)
            squared = sp.csr_array((data, X.indices[of], part - part[0]), shape=shape)
            total += squared.T @ shares[start : start + step]
        return total / self.n

    def projections2(self, directions: Array) -> Array:
        rotated = self.X @ directions
        return np.asarray(np.einsum("ij,ij->i", rotated, rotated))

    def gram(self, weights: Array | None = None) -> Array:
        X = other = self._exact
        if weights is not None:
            data = X.data * np.repeat(weights, np.diff(X.indptr))
            other = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
        return np.asarray((X.T @ other).toarray()) / self.n

    def take(self, rows: Index) -> Csr:
        return Csr(self.X[rows])

    def arrays(self) -> tuple[Array, ...]:
        return self.X.data, self.X.indices, self.X.indptr

    def with_column(self) -> Csr:
        return self.scaled(np.ones(self.d), 1.0)

    def scaled(self, scale: Array, unit: float) -> Csr:
        """Columns multiplied by ``scale``, and ``unit`` behind each row if it is not 0."""
        X = self.X
        if (scale != 1.0).any():
            data = X.data * scale[X.indices].astype(X.dtype)
            X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
        if unit > 0.0:
            column = sp.csr_array(np.full((self.n, 1), unit, dtype=X.dtype))
            X = sp.csr_array(sp.hstack([X, column], format="csr"))
        return Csr(X)
