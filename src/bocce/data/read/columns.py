"""From a table of Arrow to X and y: which columns, what their types allow, every number checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._checks import refused
from ..._types import Array, Arrow
from ...rows.files import Block
from .parts import NO_LIMIT

INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # of pandas, written beside the columns


class ReadOptions(NamedTuple):
    """The options of `open`."""

    target: Any = None
    columns: Any = None
    exclude: Any = None  # columns that are no features
    dtype: Any = None
    limit: int = NO_LIMIT  # bytes of X and y

    def named_only(self) -> str:
        """The options that need columns with names, in words."""
        if self.target is not None or self.columns is not None:
            return "target and columns"
        if self.exclude is None:
            return ""
        return "exclude"


# -- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """The features in order, the target, and the types of X and y."""

    widths: dict[str, int]  # of each feature in columns of X
    target: str
    text: bool  # Is the target text?
    dtype: np.dtype[Any]
    options: ReadOptions

    @property
    def read(self) -> list[str]:
        """The columns to read."""
        return [*self.widths, self.target]

    @property
    def columns(self) -> list[str]:
        """The names of the columns of X."""
        found = list[str]()
        for name, width in self.widths.items():
            found += [name] if width == 1 else [f"{name}[{j}]" for j in range(width)]
        return found

    @property
    def kinds(self) -> dict[str, str]:
        """What the columns hold, in words."""
        found = {}
        for name, width in self.widths.items():
            found[name] = "number" if width == 1 else f"{width} numbers"
        found[self.target] = "text" if self.text else "number"
        return found

    @cached_property
    def d(self) -> int:
        return sum(self.widths.values())

    def room(self, rows: int) -> int:
        """Bytes of X and y."""
        return rows * (self.d * self.dtype.itemsize + 8)

    def rows(self, batches: list[Arrow]) -> Block:
        """X and y of record batches with the columns of ``read``; NaN, or None, where a value is
        missing."""
        if len(batches) == 1:
            return self._features(batches[0]), self._targets(batches[0])
        X = np.empty((sum(batch.num_rows for batch in batches), self.d), self.dtype, order="F")
        y = [np.empty(0, object if self.text else np.float64)]
        start = 0
        for batch in batches:
            X[start : start + batch.num_rows] = self._features(batch)
            y.append(self._targets(batch))
            start += batch.num_rows
        return X, np.concatenate(y)

    def _features(self, batch: Arrow) -> Array:
        """By columns, as Arrow has them: to turn them around would cost more than to read them.
        Lists of numbers are rows already."""
        features = batch.remove_column(len(self.widths))
        X = _stacked(features)
        if X is not None and X.dtype == self.dtype:
            return X
        with np.errstate(over="ignore"):  # what float32 cannot hold is refused later
            if len(self.widths) == 1:
                rows = as_numbers(features.column(0)).reshape(-1, self.d)
                return rows.astype(self.dtype, copy=False)
            X = np.empty((batch.num_rows, self.d), self.dtype, order="F")
            place = 0
            for column, width in zip(features.columns, self.widths.values()):
                out = X[:, place : place + width]
                out[:] = as_numbers(column).reshape(out.shape)
                place += width
        return X

    def _targets(self, batch: Arrow) -> Array:
        column = batch.column(len(self.widths))
        if self.text:
            return as_text(column)
        return as_numbers(column).astype(np.float64, copy=False)

    def check(self, X: Array, y: Array, where: Callable[[int], str]) -> None:
        """Every number finite, every label there; ``where`` says the place of a row."""
        if self.text:
            missing = np.array([label is None for label in y], bool)
        else:
            missing = ~np.isfinite(y)
        if not missing.any() and np.isfinite(X).all():
            return
        row = int(np.argmax(missing | ~np.isfinite(X).all(axis=1)))
        bad = ~np.isfinite(X[row])
        name = self.target
        value = math.nan if self.text else float(y[row])
        if bad.any():
            column = int(np.argmax(bad))
            name = [n for n, width in self.widths.items() for _ in range(width)][column]
            value = float(X[row, column])
        raise bad_value(where(row), name, value)


def bad_value(place: str, name: str, value: float) -> ValueError:
    what = "is missing or NaN, must be a finite number"
    remedy = "drop such rows, or fill in the value, before"
    if np.isinf(value):
        what = "is infinite, or too large for the type, must be a finite number"
        remedy = 'drop such rows, or give dtype="float64"'
    return ValueError(f"{place}: column {name!r} {what}; {remedy}.")


# -- values ----------------------------------------------------------------------------------------


def _stacked(batch: Arrow) -> Array | None:
    """The columns as one array of the type that holds them all, in one call; None where a value is
    missing, or a column is more than a number."""
    import pyarrow as pa

    try:
        tensor = batch.to_tensor(row_major=False)
    except (pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None
    return np.asarray(tensor.to_numpy())


def as_numbers(column: Arrow) -> Array:
    """An Arrow array of numbers; NaN where a value is missing. (Arrow's ``to_numpy`` would import
    pandas, which takes as long as reading a gigabyte.)"""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_fixed_size_list(kind):
        if column.null_count == 0:
            return as_numbers(column.flatten()).reshape(-1, kind.list_size)
        found = np.full((len(column), kind.list_size), np.nan)
        valid = as_numbers(column.is_valid()).astype(bool)
        found[valid] = as_numbers(column.flatten()).reshape(-1, kind.list_size)
        return found
    if types.is_dictionary(kind):
        column = column.dictionary_decode()
    plain = types.is_integer(column.type) or types.is_floating(column.type)
    if column.null_count or not plain:
        if types.is_float32(kind):
            wide = column
        else:
            wide = column.cast(pa.float64(), safe=False)
        column = wide.fill_null(math.nan)
    return np.from_dlpack(column)


def as_text(column: Arrow) -> Array:
    """Strings, None where one is missing."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = np.array([*column.dictionary.to_pylist(), None], dtype=object)
    return np.asarray(values[np.from_dlpack(column.indices.cast(pa.int64()).fill_null(-1))])


# -- the choice of columns -------------------------------------------------------------------------


def select(schema: Arrow, source: str, options: ReadOptions) -> Selection:
    """The target is the last column unless named; the features are all others unless named."""
    names = schema.names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{source}: has two columns named {repeated[0]!r}; rename one.")
    target, features = chosen(names, options, source)
    text = _is_text(schema.field(target).type, target, source)
    types = {name: schema.field(name).type for name in features}
    widths = {name: _width(kind, name, source) for name, kind in types.items()}
    dtype = options.dtype
    if dtype is None:
        single = all(_fits_float32(kind) for kind in types.values())
        dtype = np.dtype(np.float32 if single else np.float64)
    return Selection(widths, target, text, dtype, options)


def chosen(names: list[str], options: ReadOptions, source: str) -> tuple[str, list[str]]:
    """The target and the features."""
    columns = options.columns
    if options.exclude is not None and columns is not None:
        raise ValueError(
            f"open: exclude={options.exclude!r} must be left out where columns={columns!r} names "
            "the features."
        )
    target, others = target_of(names, options, source)
    if columns is None:
        features = others
        _refuse_index([*others, target] if options.target is None else others, names, source)
    elif isinstance(columns, (list, tuple, np.ndarray)):
        features = [column_of(names, column, "columns", source) for column in columns]
    else:
        raise TypeError(f"open: columns={columns!r} must be a list of names or numbers, or None.")
    if target in features or len(set(features)) < len(features):
        raise ValueError(
            f"open: columns={list(columns)!r} must name each feature once, and not the target "
            f"{target!r}."
        )
    if not features:
        raise ValueError(_without_features(options, source))
    return target, features


def _without_features(options: ReadOptions, source: str) -> str:
    if options.columns is not None:
        return "open: columns=[] must name at least one feature."
    if options.exclude:
        return f"open: exclude={options.exclude!r} must leave {source} a feature and a target."
    return f"{source}: has one column; expected features and a target."


def target_of(names: list[str], options: ReadOptions, source: str) -> tuple[str, list[str]]:
    """The target, the last column unless named, and the others without those left out."""
    out = [column_of(names, column, "exclude", source) for column in options.exclude or ()]
    wanted = -1 if options.target is None else options.target
    target = column_of(names, wanted, "target", source)
    if target in out:
        raise ValueError(
            f"open: exclude={out!r} must not name the target {target!r}, the last column unless "
            "named; name the target with target=."
        )
    return target, [name for name in names if name != target and name not in out]


def _refuse_index(features: list[str], names: list[str], source: str) -> None:
    for name in features:
        if INDEX.fullmatch(name) and (name or names.index(name) == 0):
            raise ValueError(
                f"{source}: column {name!r} is the index of a pandas table, which counts rows and "
                "says nothing about them; write the file with index=False, or name the columns to "
                "use with columns=."
            )
        if not name:
            raise ValueError(
                f"{source}, line 1: column {names.index(name) + 1} has no name; give it one, or "
                "remove the delimiter if there is no such column."
            )


def column_of(names: Sequence[str], wanted: Any, parameter: str, source: str) -> str:
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
        if -len(names) <= wanted < len(names):
            return names[int(wanted)]
        rule = f"from {-len(names)} to {len(names) - 1}, because {source} has {len(names)} columns"
        raise refused(IndexError, "open", parameter, wanted, rule)
    if not isinstance(wanted, str):
        raise refused(TypeError, "open", parameter, wanted, "a column's name or number")
    if wanted in names:
        return wanted
    shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    raise refused(ValueError, "open", parameter, wanted, f"a column of {source}: {shown}")


# -- types -----------------------------------------------------------------------------------------


def _is_number(type_: Arrow) -> bool:
    from pyarrow import types

    kinds = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(is_kind(type_) for is_kind in kinds)


def _is_text(type_: Arrow, target: str, source: str) -> bool:
    from pyarrow import types

    if types.is_dictionary(type_):
        type_ = type_.value_type
    if _is_number(type_):
        return False
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return True
    raise ValueError(
        f"{source}: the target {target!r} has type {type_}, must be numbers or text; name another "
        "with target=."
    )


def _width(type_: Arrow, name: str, source: str) -> int:
    """How many numbers a feature of this type holds."""
    from pyarrow import types

    width = 1
    inner = type_
    if types.is_fixed_size_list(type_):
        width = type_.list_size
        inner = type_.value_type
    if not (_is_number(inner) or types.is_null(inner)):
        raise ValueError(
            f"{source}: column {name!r} has type {type_}, must be real numbers; encode text and "
            "dates before (pandas.get_dummies, scikit-learn's OneHotEncoder), or leave the column "
            "out with exclude=."
        )
    return width


def _fits_float32(type_: Arrow) -> bool:
    from pyarrow import types

    inner = type_.value_type if types.is_fixed_size_list(type_) else type_
    return bool(types.is_float32(inner) or types.is_float16(inner))
