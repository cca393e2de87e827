"""Where rows lie: one file a storage."""

from typing import Any

import scipy.sparse as sp

from .base import Array, Index, Rows, digest
from .csr import Csr
from .dense import Dense
from .files import FileRows
from .scaled import Scaled


def rows_of(X: Any) -> Rows:
    """The rows of a checked array, SciPy CSR array, or rows."""
    if isinstance(X, Rows):
        return X
    return Csr(X) if sp.issparse(X) else Dense(X)


__all__ = ["Array", "Csr", "Dense", "FileRows", "Index", "Rows", "Scaled", "digest", "rows_of"]
