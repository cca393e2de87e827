"""Columns that no row has: hashed words are mostly such, and a run need not carry them along.

A coefficient that starts at zero and that no row knows of stays there, penalised or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Index = npt.NDArray[np.intp]

FEW_COLUMNS = 4096  # columns that are always carried along
FULL = 10  # entries for each column: then hardly half will be empty


def used(X: Any) -> Index | None:
    """The columns of sparse rows with an entry; None where that is at least half of them, or not
    worth a look."""
    if not sp.issparse(X) or X.shape[1] <= FEW_COLUMNS or X.nnz >= FULL * X.shape[1]:
        return None
    columns = np.flatnonzero(np.bincount(X.indices))
    if 0 < 2 * columns.size < X.shape[1]:
        return columns
    return None


def taken(X: Any, columns: Index) -> Any:
    """Rows of these columns alone, which hold all entries there are.

    >>> X = sp.csr_array(np.array([[0.0, 0.0, 2.0], [3.0, 0.0, 0.0]]))
    >>> taken(X, np.array([0, 2])).toarray()
    array([[0., 2.],
           [3., 0.]])
    """
    place = np.zeros(X.shape[1], dtype=X.indices.dtype)
    place[columns] = np.arange(columns.size)
    return type(X)((X.data, place[X.indices], X.indptr), shape=(X.shape[0], columns.size))


def spread(coef: Any, columns: Index | None, d: int, axis: int = -1) -> Any:
    """Coefficients of all d columns, which lie along ``axis``; those of the others are zero."""
    if columns is None:
        return coef
    shape = list(coef.shape)
    shape[axis] = d
    everywhere = np.zeros(shape, dtype=coef.dtype)
    np.moveaxis(everywhere, axis, 0)[columns] = np.moveaxis(coef, axis, 0)
    return everywhere
