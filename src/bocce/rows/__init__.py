"""Storage formats of the data: dense, sparse, files, and arrays of other libraries."""

import scipy.sparse as sp

from .._types import Array as Array
from .._types import Design
from .._types import Index as Index
from .arrays import ArrayRows as ArrayRows
from .arrays import Held as Held
from .backend import foreign as foreign
from .backend import host as host
from .base import Rows as Rows
from .base import digest as digest
from .csr import Csr as Csr
from .csr import ScaledCsr as ScaledCsr
from .dense import Copied as Copied
from .dense import Dense as Dense
from .dense import Scaled as Scaled
from .factored import FactoredMoments as FactoredMoments
from .files import FileRows as FileRows
from .files import OffsetParts as OffsetParts
from .files import Parts as Parts
from .limits import RowLimits as RowLimits
from .moments import Moments as Moments


def rows_of(X: Design | Rows) -> Rows:
    """The rows of a checked array (NumPy's or another library's), SciPy CSR array, or rows."""
    if isinstance(X, Rows):
        return X
    if foreign(X):
        return ArrayRows.of(X)
    if sp.issparse(X):
        return Csr(X)
    return Dense(X)


# The kinds of rows by their ``storage``; tests/contract/test_rows.py asks all of them the same.
KINDS: dict[str, type[Rows]] = {
    kind.storage: kind for kind in (Dense, Scaled, Csr, ArrayRows, FileRows)
}

__all__: list[str] = []  # all names are for other rooms: users give their data to ``Problem``
