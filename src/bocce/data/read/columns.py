"""From an Arrow table to X and y: each column by its type, and every number checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array, Arrow
from ...blockfile import Block
from .encoding import Encoding, Feature, as_days, as_dummies, as_text
from .parts import NO_LIMIT

Where = Callable[[int], str]  # the place of a row, in words
CACHED = 1 << 19  # bytes of X that are filled column by column at a time


class ReadOptions(NamedTuple):
    """What the caller of `open` asked for."""

    target: Any = None
    columns: Any = None
    dtype: Any = None
    missing: str = "refuse"
    limit: int = NO_LIMIT  # bytes of X and y
    encode: Any = None  # "onehot", or an `Encoding` to apply
    unknown: str = "refuse"
    beside: tuple[str | None, ...] | None = None  # for predictions: what else may be there
    extra: str = "refuse"  # what to do with yet other columns
    exclude: Any = None  # columns that are no features

    def is_plain(self) -> bool:
        return self.dtype is None and not self.asked()

    def asked(self) -> str:
        """What was asked for that only named columns have, in words."""
        if self.target is not None or self.columns is not None:
            return "target and columns"
        return (
            "encode" if self.encode is not None else "exclude" if self.exclude is not None else ""
        )


@dataclass(frozen=True)
class Selection:
    """The features in order, the target, and the types of X and y."""

    features: list[Feature]
    target: str | None  # None where X alone is wanted
    text: bool  # Is the target text?
    dtype: np.dtype[Any]
    options: ReadOptions

    @property
    def read(self) -> list[str]:
        """The columns to read, each once."""
        names = [feature.name for feature in self.features]
        return list(dict.fromkeys([*names, self.target] if self.target else names))

    @property
    def columns(self) -> list[str]:
        return [name for feature in self.features for name in feature.columns]

    @property
    def encoding(self) -> Encoding | None:
        if self.options.encode is None and all(f.kind == "number" for f in self.features):
            return None
        return Encoding.of(self.features, self.options.unknown)

    @property
    def d(self) -> int:
        return sum(feature.width for feature in self.features)

    def room(self, rows: int) -> int:
        """Bytes of X and y."""
        return rows * (self.d * self.dtype.itemsize + 8)

    def rows(self, table: Arrow, where: Where) -> Block:
        """X, row-major, and y of a table, finite."""
        X, start = np.empty((table.num_rows, self.d), self.dtype), 0
        with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
            for batch in table.to_batches(max(1, CACHED // (self.dtype.itemsize * max(1, self.d)))):
                here, place = X[start : start + batch.num_rows], 0
                for feature in self.features:
                    out = here[:, place : place + feature.width]
                    self._fill(out, feature, batch.column(feature.name), where, start)
                    place += feature.width
                start += batch.num_rows
        y = np.zeros(len(X)) if self.target is None else self._targets(table.column(self.target))
        bad_y = np.array([v is None for v in y], bool) if self.text else ~np.isfinite(y)
        if bad_y.any() or not _finite(X):
            keep = self._kept(X, y, bad_y, where)
            X, y = X[keep], y[keep]
        return X, y

    def _fill(self, out: Array, feature: Feature, column: Arrow, where: Where, start: int) -> None:
        if feature.kind == "text":
            strange = as_dummies(out, column, feature)
            if strange is not None and self.options.unknown == "refuse":
                row, names = strange
                shown = ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)
                raise ValueError(
                    f"{where(start + row)}: {shown} in column {feature.name!r} must be one of the "
                    f"{feature.width} categories of the fit; drop such rows, or give "
                    'unknown="ignore" for 0 in the columns of all categories.'
                )
            return
        values = as_days(column) if feature.kind == "date" else as_numbers(column)
        out[:] = values if values.ndim == 2 else values[:, None]

    def _targets(self, column: Arrow) -> Array:
        parts = [as_text(c) if self.text else as_numbers(c) for c in column.chunks]
        kind = object if self.text else np.float64
        return np.concatenate([np.empty(0, kind), *parts], dtype=kind)

    def _kept(self, X: Array, y: Array, bad_y: Array, where: Where) -> Array:
        """Which rows stay when rows with missing values are left out; or raise."""
        bad = bad_y | ~np.isfinite(X).all(axis=1)
        refused = bad
        if self.options.missing != "refuse":
            refused = np.asarray(np.isinf(X).any(axis=1))
            refused |= False if self.text else np.isinf(y)
        if self.options.missing == "keep":
            refused, bad = refused | bad_y, np.zeros(len(bad), dtype=bool)
        if refused.any():
            i = int(np.argmax(refused))
            raise self._bad_value(where(i), X[i], math.nan if self.text else float(y[i]))
        return ~bad

    def _bad_value(self, place: str, x: Array, y: float) -> ValueError:
        """Of a row: the first feature that is not finite, or else its target."""
        name, value = self.target, y
        owners = [f.name for f in self.features for _ in range(f.width)]
        wrong = np.isinf(x) if self.options.missing == "keep" else ~np.isfinite(x)
        for j in np.flatnonzero(wrong)[:1]:
            name, value = owners[j], float(x[j])
        what = "is missing or NaN, must be a finite number"
        remedy = 'leave such rows out with missing="drop", or fill it in'
        if math.isinf(value):
            what = "is infinite, or too large for the type, must be a finite number"
            remedy = 'drop it, or give dtype="float64"'
        return ValueError(f"{place}: column {name!r} {what}; {remedy}.")


def _finite(X: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        quick = bool(np.isfinite(X.sum(dtype=np.float64)))
    return quick or bool(np.isfinite(X).all())  # a sum may overflow on its own


@cache
def _as_they_are() -> frozenset[Arrow]:
    """The types that NumPy takes from Arrow without a copy."""
    import pyarrow as pa

    return frozenset({pa.float64(), pa.float32(), pa.int64(), pa.int32(), pa.int16(), pa.uint8()})


def as_numbers(column: Arrow) -> Array:
    """An Arrow array of numbers; NaN where a value is missing. (Arrow's ``to_numpy`` would import
    pandas, which takes as long as reading a gigabyte.)"""
    if column.type in _as_they_are() and not column.null_count:
        return np.from_dlpack(column)
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
    elif types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif types.is_decimal(kind) or types.is_null(kind):
        column = column.cast(pa.float64())
    if column.null_count:
        if not types.is_float32(column.type):
            column = column.cast(pa.float64(), safe=False)
        column = column.fill_null(math.nan)
    return np.from_dlpack(column)
