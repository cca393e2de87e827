"""Which columns are features, which one is the target, and what their types allow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._checks import refused
from ..._types import Arrow
from .columns import ReadOptions, Selection
from .encoding import MOST_CATEGORIES, Encoding, Feature, categories_in
from .parts import Part

INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # of pandas, written beside the columns


class TableSource:
    """A `parts.Source` of Arrow tables; a key is the number of a file and of a part in it."""

    unit: str  # what a part is called
    names: list[str]  # of files
    columns: list[str] | None

    def choose(self, schema: Arrow, name: str, options: ReadOptions) -> None:
        self.name, self.schema, self.limit = name, schema, options.limit
        self.chosen = select(schema, name, options)
        self.chosen = with_categories(self.chosen, name, self.tables)
        self.columns, self.target = self.chosen.columns, self.chosen.target
        self.text, self.d, self.dtype = self.chosen.text, self.chosen.d, self.chosen.dtype
        self.encoding = self.chosen.encoding

    def keys(self) -> Iterator[Any]:
        raise NotImplementedError

    def table(self, key: Any, columns: list[str]) -> Arrow:
        raise NotImplementedError

    def tables(self, columns: list[str]) -> Iterator[Arrow]:
        """All rows of some columns."""
        return (self.table(key, columns) for key in self.keys())

    def parts(self) -> Iterator[Part]:
        return map(self.read_part, self.keys())

    def read_part(self, key: Any) -> Part:
        table = self.table(key, self.chosen.read)
        return Part(key, *self.chosen.rows(table, lambda row: f"{self.place(key)}, row {row}"))

    def place(self, key: Any) -> str:
        return f"{self.names[key[0]]}, {self.unit} {key[1]}"


def select(schema: Arrow, source: str, options: ReadOptions) -> Selection:
    """The target is the last column unless named; the features are all others unless named."""
    names = schema.names
    refuse_repeated(names, source)
    goal, features = (_chosen if options.beside is None else _for_predictions)(
        names, options, source
    )
    text = goal is not None and is_text_target(schema, goal, source)
    made = [_feature(schema.field(name).type, name, source, options.encode) for name in features]
    single = all(feature.single for feature in made)
    dtype = options.dtype or np.dtype(np.float32 if single else np.float64)
    return Selection(made, goal, text, dtype, options)


def refuse_repeated(names: list[str], source: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{source}: has two columns named {repeated[0]!r}; rename one.")


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
    target, columns, exclude = options.target, options.columns, options.exclude
    if exclude is not None and columns is not None:
        raise ValueError("open: exclude must be left out where columns names the features.")
    out = [column_of(names, column, "exclude", source) for column in exclude or ()]
    if target is None and out:  # the last of the others
        target = next((name for name in reversed(names) if name not in out), None)
    goal = column_of(names, -1 if target is None else target, "target", source)
    if goal in out:
        raise ValueError(f"open: exclude={list(exclude)!r} must not name the target {goal!r}.")
    if columns is None:
        features = [name for name in names if name != goal and name not in out]
        _refuse_index([*features, goal] if target is None else features, names, source)
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


def _is_real(kind: Arrow) -> bool:
    from pyarrow import types

    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(is_one(kind) for is_one in numbers)


def is_text(kind: Arrow) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_text_target(schema: Arrow, target: str, source: str) -> bool:
    from pyarrow import types

    kind = schema.field(target).type
    if is_text(kind) or _is_real(kind.value_type if types.is_dictionary(kind) else kind):
        return is_text(kind)
    raise ValueError(
        f"{source}: the target {target!r} has type {kind}, must be numbers or text; name another "
        "with target=."
    )


def _feature(kind: Arrow, name: str, source: str, encode: Any) -> Feature:
    """What a column of this type becomes in X; its categories are found later."""
    from pyarrow import types

    inner = kind.value_type if types.is_fixed_size_list(kind) else kind
    width = kind.list_size if types.is_fixed_size_list(kind) else 1
    dated = types.is_date(kind) or types.is_timestamp(kind)
    found = "text" if is_text(kind) else "date" if dated else "number"
    if isinstance(encode, Encoding) and encode.kind(name) != found:
        raise ValueError(
            f"{source}: column {name!r} is {found}, must be {encode.kind(name)} as in the fit; "
            "write it as it was there."
        )
    if encode is not None and found == "text":
        known = tuple(encode.categories[name]) if isinstance(encode, Encoding) else ()
        return Feature(name, found, len(known), known)
    if encode is not None and found == "date":
        return Feature(name, found)
    if not (_is_real(inner) or types.is_null(inner)):
        raise ValueError(
            f"{source}: column {name!r} has type {kind}, must be real numbers; encode text and "
            'dates with encode="onehot", or leave it out: name the other columns with columns=.'
        )
    single = types.is_float32(inner) or types.is_float16(inner)
    return Feature(name, "boolean" if types.is_boolean(inner) else "number", width, single=single)


def check_agrees(chosen: Selection, first: Arrow, schema: Arrow, names: tuple[str, str]) -> None:
    """Refuse a file without the columns of the first, or without numbers where it has them."""
    name, of = names
    options = chosen.options
    named = options.columns is not None  # then others may come and go
    wanted = chosen.read if named else first.names
    lacking = [column for column in wanted if schema.names.count(column) != 1]
    extra = [] if named else [column for column in schema.names if column not in wanted]
    if lacking or extra:
        what = f"has no column {lacking[0]!r}" if lacking else f"has a column {extra[0]!r} more"
        raise ValueError(
            f"{name}: {what}, must have the columns of {of}; give the files of one table, or name "
            "the columns= that all have."
        )
    made = [
        _feature(schema.field(f.name).type, f.name, name, options.encode) for f in chosen.features
    ]
    for one, other in zip(chosen.features, made):
        if {one.kind, other.kind} & {"text", "date"} and one.kind != other.kind:
            raise ValueError(
                f"{name}: column {one.name!r} is {other.kind} and {one.kind} in {of}; write the "
                "files alike."
            )
    if chosen.target and is_text_target(schema, chosen.target, name) != chosen.text:
        raise ValueError(
            f"{name}: the target {chosen.target!r} is numbers in one file and text in another "
            f"({of}); write them alike."
        )
    if options.dtype is None and chosen.dtype == np.float32 and not all(f.single for f in made):
        raise ValueError(
            f"{name}: has features beyond float32, must be float32 as {of}; give "
            'dtype="float64" to keep all digits, or dtype="float32" to drop some.'
        )


def with_categories(
    chosen: Selection, source: str, tables: Callable[[list[str]], Iterable[Arrow]]
) -> Selection:
    """With the categories of text features, found in a pass over their columns."""
    wanted = [f.name for f in chosen.features if f.kind == "text" and not f.categories]
    if not wanted or isinstance(chosen.options.encode, Encoding):
        return chosen
    seen: dict[str, set[str]] = {name: set() for name in wanted}
    for table in tables(wanted):
        for name, known in seen.items():
            for chunk in table.column(name).chunks:
                known |= categories_in(chunk)
            if len(known) > MOST_CATEGORIES:
                raise ValueError(
                    f"{source}: column {name!r} has more than {MOST_CATEGORIES} different values, "
                    "too many for a column of X each; leave it out: name the others with columns=."
                )
    for name, known in seen.items():
        if not known:
            raise ValueError(
                f"{source}: column {name!r} has no value in any row; leave it out: name the others "
                "with columns=."
            )
    made = [
        replace(f, categories=(found := tuple(sorted(seen[f.name]))), width=len(found))
        if f.name in seen
        else f
        for f in chosen.features
    ]
    return replace(chosen, features=made)
