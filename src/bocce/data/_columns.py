"""From named columns to X and y: which are features, which is the target, and are all finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._checks import refused
from ._csv import Columns, is_number

Array = npt.NDArray[Any]
Where = Callable[[int], str]  # the place of a row, in words


@dataclass(frozen=True)
class Choice:
    """Which columns are the features, in order, and which one is the target."""

    features: list[str]
    target: str
    missing: str = "refuse"  # or "drop": leave such rows out
    dtype: np.dtype[Any] | None = None  # of X; None is that of the first rows
    text: bool = False  # is the target text?
    width: int = 0  # columns of X, where a feature may be a list of numbers; 0 is one a feature

    @property
    def names(self) -> list[str]:
        return [*self.features, self.target]


class Chunk(NamedTuple):
    X: Array
    y: Array  # float64, or strings


def choose(
    names: Sequence[str], target: Any, columns: Any, source: str, no_target: bool = False
) -> Choice:
    """The target is the last column unless named; the features are all the others unless named.

    >>> choose(["a", "b", "y"], None, None, "t.csv").features
    ['a', 'b']
    >>> choose(["a", "b", "y"], 0, ["y"], "t.csv").names
    ['y', 'a']
    """
    repeated = sorted({name for name in names if list(names).count(name) > 1})[:1]
    if repeated:
        raise ValueError(f"{source}: has two columns named {repeated[0]!r}; rename one.")
    if no_target:  # the first feature takes its place, and is read once
        found = [_column(names, column, "columns", source) for column in columns]
        return Choice(found, found[0])
    goal = _column(names, -1 if target is None else target, "target", source)
    if columns is None:
        features = [name for name in names if name != goal]
    elif isinstance(columns, (list, tuple, np.ndarray)):
        features = [_column(names, column, "columns", source) for column in columns]
    else:
        raise TypeError(f"open: columns={columns!r} must be a list of names or numbers, or None.")
    if goal in features or len(set(features)) < len(features):
        raise ValueError(
            f"open: columns={list(columns)!r} must name each feature once, and not the target "
            f"{goal!r}."
        )
    if not features:
        raise ValueError(
            f"{source}: has one column; expected features and a target."
            if columns is None
            else "open: columns=[] must name at least one feature."
        )
    return Choice(features, goal)


def _column(names: Sequence[str], wanted: Any, parameter: str, source: str) -> str:
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
        if -len(names) <= wanted < len(names):
            return names[int(wanted)]
        rule = f"from {-len(names)} to {len(names) - 1}, for {source} has {len(names)} columns"
        raise refused(IndexError, "open", parameter, wanted, rule)
    if not isinstance(wanted, str):
        raise refused(TypeError, "open", parameter, wanted, "a column's name or number")
    if wanted in names:
        return wanted
    shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    raise refused(ValueError, "open", parameter, wanted, f"a column of {source}: {shown}")


def rows(found: Columns, choice: Choice, where: Where, out: Array | None = None) -> Chunk:
    """X, row-major, and y of some rows, finite; ``out`` is memory for X."""
    y = found[choice.target]
    y = _text(y) if choice.text else np.asarray(y, np.float64)
    features = [found[name] for name in choice.features]
    widths = [1 if column.ndim == 1 else column.shape[1] for column in features]
    X = np.empty((len(y), sum(widths)), choice.dtype) if out is None else out[: len(y)]
    place = 0
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
        for column, width in zip(features, widths):
            X[:, place : place + width] = column if column.ndim == 2 else column[:, None]
            place += width
    bad_y = ~np.isfinite(y) if not choice.text else np.array([v is None for v in y], dtype=bool)
    if bad_y.any() or not _finite(X):
        keep = _kept(X, y, bad_y, choice, where)
        X, y = X[keep], y[keep]
    return Chunk(X, y)


def _finite(X: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        quick = bool(np.isfinite(X.sum(dtype=np.float64)))
    return quick or bool(np.isfinite(X).all())  # a sum may overflow on its own


def _kept(X: Array, y: Array, bad_y: Array, choice: Choice, where: Where) -> Array:
    """Which rows stay when those with missing values are left out; or raise."""
    bad = bad_y | ~np.isfinite(X).all(axis=1)
    refused = bad
    if choice.missing == "drop":
        refused = np.asarray(np.isinf(X).any(axis=1))
        if not choice.text:
            refused = refused | np.isinf(y)
    if refused.any():
        i = int(np.argmax(refused))
        raise _bad_value(where(i), X[i], math.nan if choice.text else float(y[i]), choice)
    return ~bad


def _bad_value(place: str, x: Array, y: float, choice: Choice) -> ValueError:
    """Of a row: the first feature that is not finite, or else its target."""
    wrong = np.flatnonzero(~np.isfinite(x))
    name, value = choice.target, y
    if wrong.size:
        j = int(wrong[0])
        name = choice.features[j] if len(choice.features) == x.size else f"feature {j}"
        value = float(x[j])
    if math.isinf(value):
        what, remedy = "is infinite, or too large for the type", 'drop it, or give dtype="float64"'
    else:
        what, remedy = "is missing or NaN", 'leave such rows out with missing="drop", or fill it in'
    return ValueError(f"{place}: column {name!r} {what}, must be a finite number; {remedy}.")


def _text(y: Array) -> Array:
    """Labels as strings; None where one is missing."""
    if y.dtype != object:
        y = y.astype(object)
    return np.array([None if label is None else str(label) for label in y], dtype=object)


def looks_like_text(y: Array) -> bool:
    """Are these targets, as they are written, text? The first that is not missing decides.

    >>> looks_like_text(np.array([None, "2.5", "?"])), looks_like_text(np.array(["a", "2.5"]))
    (False, True)
    """
    first = next((label for label in y if label is not None), "0")
    return not is_number(str(first))


# -- Arrow ---------------------------------------------------------------------------------------


def check_types(schema: Any, choice: Choice, source: str) -> bool:
    """Refuse a feature that is no number; is the target text?"""
    from pyarrow import types

    for name in choice.features:
        kind = schema.field(name).type
        inner = kind.value_type if types.is_fixed_size_list(kind) else kind
        if not (_is_real(inner) or types.is_null(inner)):
            raise ValueError(
                f"{source}: column {name!r} has type {kind}, must be real numbers; encode it, or "
                "leave it out: name the other columns with columns=."
            )
    kind = schema.field(choice.target).type
    inner = kind.value_type if types.is_dictionary(kind) else kind
    if _is_real(inner):
        return False
    if types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner):
        return True
    raise ValueError(
        f"{source}: the target {choice.target!r} has type {kind}, must be numbers or text; name "
        "another with target=."
    )


def _is_real(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def width(schema: Any, choice: Choice) -> int:
    """The columns that X will have."""
    from pyarrow import types

    kinds = [schema.field(name).type for name in choice.features]
    return sum(kind.list_size if types.is_fixed_size_list(kind) else 1 for kind in kinds)


def single(schema: Any, choice: Choice) -> bool:
    """Are all features float32, or narrower?"""
    from pyarrow import types

    kinds = [schema.field(name).type for name in choice.features]
    kinds = [kind.value_type if types.is_fixed_size_list(kind) else kind for kind in kinds]
    return all(types.is_float32(kind) or types.is_float16(kind) for kind in kinds)


def from_arrow(table: Any, choice: Choice) -> Columns:
    """The columns of an Arrow table or record batch as arrays; NaN where a value is missing."""
    return {name: _column_array(table.column(name)) for name in choice.names}


def _column_array(column: Any) -> Array:
    import pyarrow as pa
    from pyarrow import types

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of no chunk, or of too many bytes for one
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    kind = column.type
    if types.is_fixed_size_list(kind):
        values = _column_array(column.flatten()).reshape(-1, kind.list_size)
        if column.null_count:
            whole = np.full((len(column), kind.list_size), np.nan)
            whole[column.is_valid().to_numpy(zero_copy_only=False)] = values
            return whole
        return values
    if types.is_dictionary(kind):
        column = column.dictionary_decode()
    elif types.is_decimal(kind) or types.is_boolean(kind) or types.is_null(kind):
        column = column.cast(pa.float64() if not types.is_boolean(kind) else pa.uint8())
    return np.asarray(column.to_numpy(zero_copy_only=False))
