"""Storage formats of the rows, one file each."""

from typing import Any

import scipy.sparse as sp

from .arrays import ArrayRows, HostView
from .backend import foreign, host
from .base import Array, Index, Rows, digest
from .csr import Csr
from .dense import Copied, Dense, Scaled
from .files import FileRows, InBlocks
from .moments import Moments


def rows_of(X: Any) -> Rows:
    """The rows of a checked array (NumPy's or another library's), SciPy CSR array, or rows.

    Parameters
    ----------
    X : array, csr_array or Rows
        The data, checked.

    Returns
    -------
    Rows
    """
    if isinstance(X, Rows):
        return X
    if foreign(X):
        return ArrayRows.of(X)
    return Csr(X) if sp.issparse(X) else Dense(X)


__all__ = [
    "Array",
    "ArrayRows",
    "Copied",
    "Csr",
    "Dense",
    "FileRows",
    "HostView",
    "InBlocks",
    "Index",
    "Moments",
    "Rows",
    "Scaled",
    "digest",
    "foreign",
    "host",
    "rows_of",
]
