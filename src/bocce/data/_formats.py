"""Tables in files, part by part: Parquet's row groups, Arrow's record batches, a megabyte of CSV.

A source knows its columns (`choice`), gives its parts one after the other, and reads a part again
by its key, so that data larger than memory can be read in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..blockfile import arrow
from . import _csv
from ._arrow_sizes import Damaged, inflated_size
from ._columns import Choice, Where, check_types, choose, from_arrow, looks_like_text, single, width
from ._csv import Columns
from ._places import File
from ._text import Lines, suffix_of

BATCH_ROWS = 1 << 16  # where a format has no parts of its own
Select = Callable[[Any, str], Choice]  # names of columns, name of the source


class Part(NamedTuple):
    """Some rows by column, where they came from, and how to have them again."""

    key: Any  # None if they cannot be had alone
    columns: Columns
    where: Where


class Given(NamedTuple):
    """What the caller said."""

    columns: Any = None
    dtype: Any = None
    limit: int = int(np.iinfo(np.int64).max)  # bytes of memory


class Source(Protocol):
    name: str  # for messages
    choice: Choice

    def parts(self) -> Iterator[Part]: ...

    def again(self, key: Any) -> Part: ...


def selector(target: Any, columns: Any, dtype: Any, missing: str) -> Select:
    def select(names: Any, source: str) -> Choice:
        chosen = choose(names, target, columns, source)
        return replace(chosen, dtype=dtype, missing=missing)

    return select


@contextmanager
def named(place: str) -> Iterator[None]:
    """Whatever pyarrow finds wrong is said of this place."""
    pa = arrow()
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, Damaged) as error:
        if getattr(error, "errno", None) is not None or isinstance(error, pa.ArrowMemoryError):
            raise  # the disk's fault, or the machine's
        first = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{place}: truncated, altered, or not what its name says ({first[:200]}); fetch or "
            "write it again."
        ) from None


def room(choice: Choice, rows: int) -> int:
    """Bytes of X and y."""
    dtype = choice.dtype or np.dtype(np.float64)
    return rows * ((choice.width or len(choice.features)) * dtype.itemsize + 8)


def check_size(place: str, needed: int, limit: int) -> None:
    if needed > limit:
        raise ValueError(
            f"{place}: needs {needed} bytes, more than memory={limit}; raise memory, or write the "
            "file anew in smaller parts."
        )


def place_of(name: str, part: str, number: int, row: int) -> str:
    return f"{name}, {part} {number}, row {row}"


def typed(choice: Choice, schema: Any, source: str) -> Choice:
    """With the types that the first file has."""
    text = check_types(schema, choice, source)
    kind = np.dtype(np.float32 if single(schema, choice) else np.float64)
    return replace(choice, text=text, dtype=choice.dtype or kind, width=width(schema, choice))


class _Schemas:
    """Every file must have the columns of the first, and numbers where it has them."""

    def __init__(self, name: str, schema: Any, select: Select, given: Given) -> None:
        chosen = select(schema.names, name)
        self.name, self.first, self.given = name, schema, given
        self.choice = typed(chosen, schema, name)

    def check(self, name: str, schema: Any) -> None:
        named = self.given.columns is not None  # then others may come and go
        wanted = self.choice.names if named else self.first.names
        lacking = [column for column in wanted if schema.names.count(column) != 1]
        extra = [] if named else [column for column in schema.names if column not in wanted]
        if lacking or extra:
            what = f"has no column {lacking[0]!r}" if lacking else f"has a column {extra[0]!r} more"
            raise ValueError(
                f"{name}: {what}, must have the columns of {self.name}; give the files of one "
                "table, or name the columns= that all have."
            )
        if check_types(schema, self.choice, name) != self.choice.text:
            raise ValueError(
                f"{name}: the target {self.choice.target!r} is numbers in one file and text in "
                f"another ({self.name}); write them alike."
            )
        if (
            self.given.dtype is None
            and self.choice.dtype == np.float32
            and not single(schema, self.choice)
        ):
            raise ValueError(
                f"{name}: has features beyond float32, must be float32 as {self.name}; give "
                'dtype="float64" to keep all digits, or dtype="float32" to drop some.'
            )


class Parquet:
    """Row groups of Parquet files, or of the fragments of a ``pyarrow.dataset.Dataset``.

    A data set has one schema, and fits its files to it; files alone must agree with the first.
    """

    def __init__(self, homes: list[Any], schema: Any, select: Select, given: Given) -> None:
        self.homes, self.schema, self.limit = homes, schema, given.limit
        self.names = [
            home.name if isinstance(home, File) else home.path.rsplit("/", 1)[-1] for home in homes
        ]
        self.name = self.names[0]
        self._fragments: dict[int, Any] = {}  # each with the metadata of its file, once read
        first = schema or self._fragment(0).physical_schema
        self.rule = _Schemas(self.name, first, select, given)
        self.choice = self.rule.choice

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fragments": {}}

    def _fragment(self, number: int) -> Any:
        if number not in self._fragments:
            home = self.homes[number]
            with named(self.names[number]):
                fragment = _fragment_of(home) if isinstance(home, File) else home
                fragment.ensure_complete_metadata()
            self._fragments[number] = fragment
        return self._fragments[number]

    def parts(self) -> Iterator[Part]:
        for number, name in enumerate(self.names):
            fragment = self._fragment(number)
            if self.schema is None:
                self.rule.check(name, fragment.physical_schema)
            for group in fragment.row_groups:
                if group.num_rows:
                    yield self.again((number, group.id))

    def again(self, key: Any) -> Part:
        number, group = key
        name, fragment = self.names[number], self._fragment(number)
        with named(f"{name}, row group {group}"):
            piece = fragment.subset(row_group_ids=[group])
            # a few bytes can stand for any number of equal values
            needed = room(self.choice, piece.row_groups[0].num_rows)
            check_size(f"{name}, row group {group}", needed, self.limit)
            table = piece.to_table(
                schema=self.schema or fragment.physical_schema,
                columns=self.choice.names,
                use_threads=False,
            )
            columns = from_arrow(table, self.choice)
        return Part(key, columns, partial(place_of, name, "row group", group))


def _fragment_of(file: File) -> Any:
    from pyarrow import dataset

    # a page that has a checksum is compared with it
    options = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
    kind = dataset.ParquetFileFormat(default_fragment_scan_options=options)
    system, path = file.for_arrow()
    return kind.make_fragment(path, system)


class Scan:
    """Any other ``pyarrow.dataset.Dataset``, and tables in memory: from first to last row."""

    def __init__(self, name: str, data: Any, select: Select, given: Given) -> None:
        self.name, self.data = name, data
        self.in_memory = not hasattr(data, "scanner")
        self.choice = _Schemas(name, data.schema, select, given).choice

    def parts(self) -> Iterator[Part]:
        start = 0
        options: dict[str, Any] = {}
        if not self.in_memory:
            options = {"columns": self.choice.names, "batch_size": BATCH_ROWS}
        with named(self.name):
            for batch in self.data.to_batches(**options):
                for first in range(0, batch.num_rows, BATCH_ROWS):
                    piece = batch.slice(first, BATCH_ROWS)
                    where = partial(_row_of_all, self.name, start + first)
                    yield Part(None, from_arrow(piece, self.choice), where)
                start += batch.num_rows

    def again(self, key: Any) -> Part:
        raise NotImplementedError


def _row_of_all(name: str, start: int, row: int) -> str:
    return f"{name}, row {start + row}"


class Arrow:
    """Record batches of Arrow IPC (Feather) files."""

    def __init__(self, files: list[File], select: Select, given: Given) -> None:
        self.name, self.files, self.limit = files[0].name, files, given.limit
        with self._opened(0) as (_, reader):
            first = reader.schema
        self.rule = _Schemas(self.name, first, select, given)
        self.choice = self.rule.choice

    @contextmanager
    def _opened(self, number: int) -> Iterator[Any]:
        pa, file = arrow(), self.files[number]
        system, path = file.for_arrow()
        with named(file.name), system.open_input_file(path) as stream:
            if stream.read(6) != b"ARROW1":
                raise pa.ArrowInvalid("no Arrow file begins so; a stream must be saved as a file")
            yield stream, pa.ipc.open_file(stream)

    def parts(self) -> Iterator[Part]:
        for number, file in enumerate(self.files):
            with self._opened(number) as (_, reader):
                count = reader.num_record_batches
                self.rule.check(file.name, reader.schema)
            for batch in range(count):
                part = self.again((number, batch))
                if len(part.columns[self.choice.target]):
                    yield part

    def again(self, key: Any) -> Part:
        number, i = key
        name = self.files[number].name
        place = f"{name}, record batch {i}"
        with self._opened(number) as (stream, reader), named(place):
            check_size(place, inflated_size(stream, i), self.limit)
            batch = reader.get_batch(i)
            batch.validate(full=True)  # offsets and lengths may be forged
            check_size(place, room(self.choice, batch.num_rows), self.limit)
            columns = from_arrow(batch, self.choice)
        return Part(key, columns, partial(place_of, name, "record batch", i))


class Csv:
    """CSV files, about a megabyte of text at a time."""

    def __init__(self, files: list[File], select: Select) -> None:
        self.name, self.files = files[0].name, files
        self.looks = {0: _csv.look(files[0])}
        self.choice = select(self.looks[0].names, self.name)
        first = next(_csv.blocks(files[0], self.looks[0]), None)
        if first is None:
            raise ValueError(f"{self.name}: holds no row of numbers.")
        target = self.choice.target
        seen = _csv.columns(first, self.looks[0], [], target, self.name)[target]
        dtype = self.choice.dtype or np.dtype(np.float64)
        self.choice = replace(self.choice, text=looks_like_text(seen), dtype=dtype)

    def parts(self) -> Iterator[Part]:
        for number, file in enumerate(self.files):
            look = self.looks.setdefault(number, _csv.look(file))
            if look.names != self.looks[0].names:
                raise ValueError(
                    f"{file.name}: has the columns {_few(look.names)}, must have those of "
                    f"{self.name}, {_few(self.looks[0].names)}; give the files of one table."
                )
            alone = not suffix_of(file.name)  # what is compressed is read from its beginning
            for lines in _csv.blocks(file, look):
                key = (number, lines.offset, len(lines.text), lines.line) if alone else None
                yield self._part(key, number, lines)

    def again(self, key: Any) -> Part:
        number, offset, length, line = key
        with self.files[number].open() as stream:
            stream.seek(offset)
            text = stream.read(length)
        return self._part(key, number, Lines(text, line, offset))

    def _part(self, key: Any, number: int, lines: Lines) -> Part:
        choice, name = self.choice, self.files[number].name
        numbers = choice.features if choice.text else choice.names
        text = choice.target if choice.text else ""
        columns = _csv.columns(lines, self.looks[number], numbers, text, name)
        return Part(key, columns, partial(_line_of, name, lines))


def _line_of(name: str, lines: Lines, row: int) -> str:
    return f"{name}, line {_csv.row_lines(lines)[row]}"


def _few(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)})" if len(names) > 8 else "")
