"""From a table of Arrow to X and y: which columns, what their types allow, every number checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._checks import refused
from ..._types import Array, Arrow
from ...blockfile import Block
from .encoding import Encoding, as_days, as_dummies, as_numbers, as_text, encoded_as
from .parts import NO_LIMIT

INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # of pandas, written beside the columns


class ReadOptions(NamedTuple):
    """What the caller of `open` asked for."""

    target: Any = None
    columns: Any = None
    dtype: Any = None
    missing: str = "refuse"
    limit: int = NO_LIMIT  # bytes of X and y
    encode: Any = None  # "onehot", or an `Encoding` to apply
    unknown: str | None = None  # of categories; None: as the `Encoding` says, else "refuse"
    beside: tuple[str | None, ...] | None = None  # for predictions: what else may be there
    extra: str = "refuse"  # what to do with yet other columns
    exclude: Any = None  # columns that are no features

    def asked(self) -> str:
        """What was asked for that only named columns have, in words."""
        if self.target is not None or self.columns is not None:
            return "target and columns"
        if self.encode is not None:
            return "encode"
        return "" if self.exclude is None else "exclude"


# -- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """The features in order and what they become, the target, and the types of X and y."""

    encoding: Encoding
    widths: dict[str, int]  # of each feature in columns of X
    target: str | None  # None where X alone is wanted
    text: bool  # Is the target text?
    dtype: np.dtype[Any]
    options: ReadOptions

    @property
    def read(self) -> list[str]:
        """The columns to read, each once."""
        return list(dict.fromkeys([*self.widths, self.target] if self.target else self.widths))

    @property
    def columns(self) -> list[str]:
        """The names of the columns of X."""
        found, categories = list[str](), self.encoding.categories
        for name in self.widths:
            found += [f"{name}={c}" for c in categories[name]] if name in categories else [name]
        return found

    @property
    def kinds(self) -> dict[str, str]:
        """What the columns hold, in words."""
        found = {name: encoded_as(self.encoding, name) for name in self.widths}
        for name, width in self.widths.items():
            if found[name] == "number" and width > 1:
                found[name] = f"{width} numbers"
        if self.target:
            found[self.target] = "text" if self.text else "number"
        return found

    @property
    def d(self) -> int:
        return sum(self.widths.values())

    def room(self, rows: int) -> int:
        """Bytes of X and y."""
        return rows * (self.d * self.dtype.itemsize + 8)

    def rows(self, table: Arrow, where: Callable[[int], str]) -> Block:
        """X, row-major, and y of a table, finite; ``where`` says the place of a row."""
        X, start = np.empty((table.num_rows, self.d), self.dtype), 0
        for batch in table.to_batches():
            end, place = start + batch.num_rows, 0
            for name, width in self.widths.items():
                out = X[start:end, place : place + width]
                strange = self._fill(out, batch.column(name), name)
                if strange is not None and self.encoding.unknown == "refuse":
                    row, found = strange
                    shown = ", ".join(map(repr, found[:5])) + ", ..." * (len(found) > 5)
                    raise ValueError(
                        f"{where(start + row)}: {shown} in column {name!r} must be one of the "
                        f"{width} categories of the fit; drop such rows, or give "
                        'unknown="ignore" for 0 in the columns of all categories.'
                    )
                place += width
            start = end
        y = np.zeros(len(X)) if self.target is None else self._targets(table.column(self.target))
        missing_y = np.array([v is None for v in y], bool) if self.text else ~np.isfinite(y)
        if missing_y.any() or not np.isfinite(X).all():
            keep = self._kept(X, y, missing_y, where)
            X, y = X[keep], y[keep]
        return X, y

    def _fill(self, out: Array, column: Arrow, name: str) -> tuple[int, list[str]] | None:
        """Returns a row and the values that are none of the categories, if there are any."""
        if name in self.encoding.categories:
            return as_dummies(out, column, self.encoding.categories[name])
        values = as_days(column) if name in self.encoding.dates else as_numbers(column)
        with np.errstate(over="ignore"):  # what float32 cannot hold is refused later
            out[:] = values.reshape(out.shape)
        return None

    def _targets(self, column: Arrow) -> Array:
        parts = [as_text(c) if self.text else as_numbers(c) for c in column.chunks]
        kind = object if self.text else np.float64
        return np.concatenate([np.empty(0, kind), *parts], dtype=kind)

    def _kept(self, X: Array, y: Array, missing_y: Array, where: Callable[[int], str]) -> Array:
        """Which rows stay when rows with missing values are left out; or raise."""
        how = self.options.missing
        wrong, wrong_y = np.isinf(X), missing_y
        if how == "refuse":
            wrong = ~np.isfinite(X)
        elif how == "drop":
            wrong_y = np.zeros(len(y), bool) if self.text else np.isinf(y)
        refused = wrong.any(axis=1) | wrong_y
        if refused.any():
            i = int(np.argmax(refused))
            raise self._bad_value(where(i), X[i], wrong[i], math.nan if self.text else y[i])
        if how == "keep":
            return np.ones(len(y), bool)
        return ~(missing_y | np.isnan(X).any(axis=1))

    def _bad_value(self, place: str, x: Array, wrong: Array, y: float) -> ValueError:
        """Of a row: the first feature that is wrong, or else its target."""
        name, value = self.target, y
        if wrong.any():
            j = int(np.argmax(wrong))
            name, value = [n for n, width in self.widths.items() for _ in range(width)][j], x[j]
        what = "is missing or NaN, must be a finite number"
        remedy = 'leave such rows out with missing="drop", or fill it in'
        if np.isinf(value):
            what = "is infinite, or too large for the type, must be a finite number"
            remedy = 'drop it, or give dtype="float64"'
        return ValueError(f"{place}: column {name!r} {what}; {remedy}.")


# -- the choice of columns -------------------------------------------------------------------------


def select(schema: Arrow, source: str, options: ReadOptions) -> Selection:
    """The target is the last column unless named; the features are all others unless named."""
    names = schema.names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{source}: has two columns named {repeated[0]!r}; rename one.")
    choice = _chosen if options.beside is None else _for_predictions
    goal, features = choice(names, options, source)
    text = goal is not None and _is_text(schema.field(goal).type, goal, source)
    encode = options.encode
    made = {name: _kind_in_X(schema.field(name).type, name, source, encode) for name in features}
    given = encode if isinstance(encode, Encoding) else Encoding([], {}, [], [])
    unknown = options.unknown or given.unknown

    def named(kind: str) -> list[str]:
        return [name for name, found in made.items() if found[0] == kind]

    categories = {name: given.categories.get(name, []) for name in named("text")}
    encoding = Encoding(features, categories, named("date"), named("boolean"), unknown)
    widths = {name: width for name, (_, width, _) in made.items()}
    widths |= {name: len(found) for name, found in categories.items()}
    single = all(narrow for _, _, narrow in made.values())
    dtype = options.dtype or np.dtype(np.float32 if single else np.float64)
    return Selection(encoding, widths, goal, text, dtype, options)


def _for_predictions(names: list[str], options: ReadOptions, source: str) -> tuple[None, list[str]]:
    known = {*options.columns, *(options.beside or ())}
    unknown = [found for found in names if found not in known]
    if unknown and options.extra == "refuse":
        raise ValueError(
            f"{source}: the column {unknown[0]!r} is not one of the fit, must be left out; drop "
            "it, or add --extra ignore."
        )
    for column in options.columns:
        if column not in names:
            raise ValueError(
                f"{source}: has no column {column!r}, must have every column of the fit; add it."
            )
    return None, list(options.columns)


def _chosen(names: list[str], options: ReadOptions, source: str) -> tuple[str, list[str]]:
    columns = options.columns
    if options.exclude is not None and columns is not None:
        raise ValueError("open: exclude must be left out where columns names the features.")
    goal, others = target_of(names, options, source)
    if columns is None:
        features = others
        _refuse_index([*others, goal] if options.target is None else others, names, source)
    elif isinstance(columns, (list, tuple, np.ndarray)):
        features = [column_of(names, column, "columns", source) for column in columns]
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
    return goal, features


def target_of(names: list[str], options: ReadOptions, source: str) -> tuple[str, list[str]]:
    """The target, the last column unless named, and the others without those left out."""
    out = [column_of(names, column, "exclude", source) for column in options.exclude or ()]
    others = [name for name in names if name not in out]
    last = others[-1] if others else -1
    goal = column_of(names, last if options.target is None else options.target, "target", source)
    if goal in out:
        raise ValueError(f"open: exclude={out!r} must not name the target {goal!r}.")
    return goal, [name for name in others if name != goal]


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


def _kind(type_: Arrow) -> str:
    """What values of this type are: "text", "date", "boolean" or "number"; "" for all others."""
    from pyarrow import types

    if types.is_dictionary(type_):
        return _kind(type_.value_type)
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    if types.is_date(type_) or types.is_timestamp(type_):
        return "date"
    if types.is_boolean(type_):
        return "boolean"
    real = types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_)
    return "number" if real else ""


def _is_text(type_: Arrow, target: str, source: str) -> bool:
    found = _kind(type_)
    if found in ("", "date"):
        raise ValueError(
            f"{source}: the target {target!r} has type {type_}, must be numbers or text; name "
            "another with target=."
        )
    return found == "text"


def _kind_in_X(type_: Arrow, name: str, source: str, encode: Any) -> tuple[str, int, bool]:
    """What a feature of this type holds, how many numbers, and whether float32 is enough."""
    from pyarrow import types

    inner, width = type_, 1
    if types.is_fixed_size_list(type_):
        inner, width = type_.value_type, type_.list_size
    kind = "number" if types.is_null(inner) else _kind(inner)
    encoded = kind in ("text", "date") and inner is type_
    if isinstance(encode, Encoding):
        now, before = kind if encoded else "number", encoded_as(encode, name)
        if before != now:
            raise ValueError(
                f"{source}: column {name!r} is {now}, must be {before} as in the fit; write it as "
                "it was there."
            )
    numbers = kind in ("number", "boolean") and not types.is_dictionary(type_)
    if not numbers and (encode is None or not encoded):
        raise ValueError(
            f"{source}: column {name!r} has type {type_}, must be real numbers; encode text and "
            'dates with encode="onehot", or leave it out: name the other columns with columns=.'
        )
    return kind, width, types.is_float32(inner) or types.is_float16(inner)
