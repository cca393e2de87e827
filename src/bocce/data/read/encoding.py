"""Columns of Arrow as numbers: a column of 0 and 1 for each category, dates as days."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._types import Array, Arrow

DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Encoding:
    """How columns became numbers, for ``bocce.data.open(new, encode=encoding)``.

    Attributes
    ----------
    features : list of str
        The columns of the source, in the order of X.
    categories : dict of (str, list of str)
        The categories of each text column; each is a column of 0 and 1 in X.
    dates : list of str
        Columns of dates; in X they are days since 1970-01-01 (UTC).
    booleans : list of str
        Columns of truth values; in X they are 0 and 1.
    unknown : {"refuse", "ignore"}
        What to do with categories of new data that are not in ``categories``.
    """

    features: list[str]
    categories: dict[str, list[str]]
    dates: list[str]
    booleans: list[str]
    unknown: str = "refuse"

    def without(self, name: str) -> Encoding:
        """The encoding for X without one of its columns.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        Encoding
        """
        left = [[n for n in found if n != name] for found in (self.features, self.booleans)]
        return replace(self, features=left[0], booleans=left[1])

    def __str__(self) -> str:
        """
        >>> print(Encoding(["a", "b", "c"], {"a": ["x", "y"]}, ["b"], ["c"]))
        a as 2 columns of 0 and 1; b as days since 1970-01-01; c as 0 and 1
        """
        said = [
            f"{name} as {len(found)} column{'s' * (len(found) != 1)} of 0 and 1"
            for name, found in self.categories.items()
        ]
        said += [f"{name} as days since 1970-01-01" for name in self.dates]
        said += [f"{name} as 0 and 1" for name in self.booleans]
        return "; ".join(said) or "nothing: all columns are numbers"


def encoded_as(encoding: Encoding, name: str) -> str:
    """Whether a column of the source holds "text", a "date" or a "number"."""
    return "text" if name in encoding.categories else "date" if name in encoding.dates else "number"


def as_numbers(column: Arrow) -> Array:
    """An Arrow array of numbers; NaN where a value is missing. (Arrow's ``to_numpy`` would import
    pandas, which takes as long as reading a gigabyte.)"""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_fixed_size_list(kind):
        whole = np.full((len(column), kind.list_size), np.nan)
        valid = as_numbers(column.is_valid()).astype(bool)
        whole[valid] = as_numbers(column.flatten()).reshape(-1, kind.list_size)
        return whole
    if types.is_dictionary(kind):
        column = column.dictionary_decode()
    plain = types.is_integer(column.type) or types.is_floating(column.type)
    if column.null_count or not plain:
        wide = column if types.is_float32(kind) else column.cast(pa.float64(), safe=False)
        column = wide.fill_null(math.nan)
    return np.from_dlpack(column)


def as_days(column: Arrow) -> Array:
    """Dates and times as days since 1970-01-01, UTC; NaN where one is missing."""
    import pyarrow as pa

    return as_numbers(column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())) / DAY


def coded(column: Arrow) -> tuple[list[Any], Array]:
    """The different values of a column as text, and the place of each row's among them; -1 is
    missing."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = [None if v is None else str(v) for v in column.dictionary.to_pylist()]
    return values, np.from_dlpack(column.indices.cast(pa.int64()).fill_null(-1))


def as_text(column: Arrow) -> Array:
    """Strings, None where one is missing."""
    values, codes = coded(column)
    return np.array([*values, None], dtype=object)[codes]


def as_dummies(out: Array, column: Arrow, categories: list[str]) -> tuple[int, list[str]] | None:
    """Fill a column of 0 and 1 for each category, NaN where the value is missing; returns the first
    row whose value is none of them and all such values; the columns of such rows are zero."""
    values, codes = coded(column)
    known = {category: place for place, category in enumerate(categories)}
    places = np.array([known.get(v, -1 if v is None else -2) for v in values] + [-1])[codes]
    out[:] = 0.0
    rows = np.flatnonzero(places >= 0)
    out[rows, places[rows]] = 1.0
    out[places == -1] = math.nan
    strange = np.flatnonzero(places == -2)
    if not strange.size:
        return None
    return int(strange[0]), sorted({values[code] for code in codes[strange].tolist()})
