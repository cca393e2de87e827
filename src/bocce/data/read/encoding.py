"""Text, categories and dates as numbers: a column of 0 and 1 a category, dates as days."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._types import Array, Arrow

MOST_CATEGORIES = 1000  # of one column: more are rather names of rows
DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Feature:
    """A column of the source, and what it becomes in X."""

    name: str
    kind: str = "number"  # "boolean", "text" (a column of 0 and 1 a category), "date" (days)
    width: int = 1  # columns of X
    categories: tuple[str, ...] = ()
    single: bool = False  # float32 or narrower

    @property
    def columns(self) -> list[str]:
        """
        >>> Feature("size", "text", 2, ("L", "M")).columns
        ['size=L', 'size=M']
        """
        if self.kind == "text":
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name]


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

    @classmethod
    def of(cls, features: list[Feature], unknown: str = "refuse") -> Encoding:
        """The encoding of these features.

        Parameters
        ----------
        features, unknown : list of Feature, {"refuse", "ignore"}
            The columns of the source, in the order of X; what to do with other categories.

        Returns
        -------
        Encoding
        """
        return cls(
            [f.name for f in features],
            {f.name: list(f.categories) for f in features if f.kind == "text"},
            [f.name for f in features if f.kind == "date"],
            [f.name for f in features if f.kind == "boolean"],
            unknown,
        )

    def kind(self, name: str) -> str:
        """What a column of the source holds.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        str
            "text", "date" or "number".
        """
        return "text" if name in self.categories else "date" if name in self.dates else "number"

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


def _coded(column: Arrow) -> tuple[list[Any], Array]:
    """The different values of a column, and the place of each row's among them; -1 is missing."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = [None if v is None else str(v) for v in column.dictionary.to_pylist()]
    codes = np.from_dlpack(column.indices.cast(pa.int64()).fill_null(-1))
    return values, codes


def as_text(column: Arrow) -> Array:
    """Strings, None where one is missing."""
    values, codes = _coded(column)
    return np.array([*values, None], dtype=object)[codes]


def categories_in(column: Arrow) -> set[str]:
    """All categories of an Arrow dictionary, or the different values of a text column."""
    return {value for value in _coded(column)[0] if value is not None}


def as_dummies(out: Array, column: Arrow, feature: Feature) -> tuple[int, list[str]] | None:
    """Fill a column of 0 and 1 for each category, NaN where the value is missing; returns the first
    row whose value is none of them and all such values; the columns of such rows are zero."""
    values, codes = _coded(column)
    known = {category: place for place, category in enumerate(feature.categories)}
    places = np.array([known.get(v, -1 if v is None else -2) for v in values] + [-1])[codes]
    out[:] = 0.0
    rows = np.flatnonzero(places >= 0)
    out[rows, places[rows]] = 1.0
    out[places == -1] = math.nan
    strange = np.flatnonzero(places == -2)
    if not strange.size:
        return None
    return int(strange[0]), sorted({values[code] for code in codes[strange].tolist()})


def as_days(column: Arrow) -> Array:
    """Dates and times as days since 1970-01-01, UTC; NaN where one is missing."""
    import pyarrow as pa

    whole = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).cast(pa.float64())
    days: Array = np.divide(np.from_dlpack(whole.fill_null(math.nan)), DAY)
    return days
