"""Tables of Arrow: Parquet by row groups, Arrow IPC by record batches, others from first to last.

pyarrow's data sets read the files; a source here knows which part is where.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..._extras import arrow
from ..._memory import machine_memory
from ...rows.files import Block
from .columns import ReadOptions, select
from .parts import Source, check_size
from .paths import File
from .text import check_inflation

BATCH_ROWS = 1 << 16  # where a data set has no parts of its own


class TableSource(Source):
    """A source of Arrow tables."""

    def choose(self, schema: Any, name: str, options: ReadOptions) -> None:
        self.name = name
        self.schema = schema
        self.limit = options.limit
        self.chosen = select(schema, name, options)
        chosen = self.chosen
        self.columns = chosen.columns
        self.target = chosen.target
        self.text = chosen.text
        self.d = chosen.d
        self.dtype = chosen.dtype

    def batches(self, key: Any) -> list[Any]:
        """Record batches with the columns of ``chosen.read``, in that order."""
        raise NotImplementedError

    def rows(self, key: Any) -> Block:
        return self.chosen.rows(self.batches(key))

    def checked(self, key: Any) -> Block:
        X, y = self.rows(key)
        self.chosen.check(X, y, key.where)
        return X, y

    def check_agrees(self, schema: Any, name: str) -> None:
        """Refuse a file without the columns of the first, or without numbers where it has them."""
        chosen = self.chosen
        options = self.chosen.options
        of = self.name
        named = options.columns is not None  # then others may come and go
        wanted = chosen.read if named else self.schema.names
        lacking = [column for column in wanted if schema.names.count(column) != 1]
        if named:
            extra = []
        else:
            extra = [column for column in schema.names if column not in wanted]
        if lacking or extra:
            if lacking:
                what = f"has no column {lacking[0]!r}"
            else:
                what = f"has a column {extra[0]!r} more"
            raise ValueError(
                f"{name}: {what}, must have the columns of {of}; give the files of one table, or "
                "name the columns= that all have."
            )
        without = options._replace(target=chosen.target, columns=list(chosen.widths), exclude=None)
        other = select(schema, name, without)
        for column, kind in chosen.kinds.items():
            if other.kinds[column] != kind:
                raise ValueError(
                    f"{name}: column {column!r} is {other.kinds[column]} and {kind} in {of}; write "
                    "the files alike."
                )
        if options.dtype is None and chosen.dtype == np.float32 != other.dtype:
            raise ValueError(
                f"{name}: has features beyond float32, must be float32 as {of}; give "
                'dtype="float64" to keep all digits, or dtype="float32" to drop some.'
            )


class Group(NamedTuple):
    """The key of a row group, a record batch, or the next rows of a table."""

    place: str
    file: int
    number: int
    start: int = 0  # the number of the first row
    batch: Any = None  # rows that cannot be read alone

    def where(self, row: int) -> str:
        return f"{self.place}, row {self.start + row}"

    def stored(self) -> Group | None:
        if self.batch is None:
            return self
        return None


@contextmanager
def named(place: str) -> Iterator[None]:
    """Say of this place what pyarrow finds wrong."""
    pa = arrow()
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, MemoryError):
            bytes_wanted = re.search(r"\d+", str(error))
        else:
            bytes_wanted = None
        honest = bytes_wanted is not None and int(bytes_wanted[0]) <= machine_memory()
        if (isinstance(error, OSError) and error.errno is not None) or honest:
            raise  # the disk failed, or memory is short; a forged length asks for terabytes
        first = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{place}: truncated, altered, or not what its name says ({first[:200]}); fetch or "
            "write it again."
        ) from None


class Groups(NamedTuple):
    """Where row groups are: a Parquet file, or a fragment of a ``pyarrow.dataset.Dataset``."""

    name: str
    file: File | None
    fragment: Any = None

    @classmethod
    def of_file(cls, file: File) -> Groups:
        return cls(file.name, file)

    @classmethod
    def of_fragment(cls, fragment: Any) -> Groups:
        return cls(fragment.path.rsplit("/", 1)[-1], None, fragment)

    def opened(self) -> Any:
        """The fragment, with the metadata of its file."""
        fragment = self.fragment if self.file is None else _parquet_fragment(self.file)
        fragment.ensure_complete_metadata()
        return fragment


class Parquet(TableSource):
    """Row groups of Parquet files, or of the fragments of a ``pyarrow.dataset.Dataset``.

    A data set has one schema, and fits its files to it; files alone must agree with the first.
    """

    def __init__(self, places: list[Groups], schema: Any, options: ReadOptions) -> None:
        self.places = places
        files = [place.file for place in places if place.file is not None]
        if len(files) == len(places):
            self.files = files
        self.given = schema
        self._fragments: dict[int, Any] = {}  # each with the metadata of its file, once read
        self.choose(schema or self._fragment(0).physical_schema, places[0].name, options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fragments": {}}

    def _fragment(self, number: int) -> Any:
        if number not in self._fragments:
            place = self.places[number]
            with named(place.name):
                self._fragments[number] = place.opened()
        return self._fragments[number]

    def keys(self) -> Iterator[Group]:
        for number, place in enumerate(self.places):
            fragment = self._fragment(number)
            if self.given is None:
                self.check_agrees(fragment.physical_schema, place.name)
            for group in fragment.row_groups:
                yield Group(f"{place.name}, row group {group.id}", number, group.id)

    def known_bytes(self) -> int:
        rows = 0
        for number in range(len(self.places)):
            rows += sum(group.num_rows for group in self._fragment(number).row_groups)
        return self.chosen.room(rows)

    def file_of(self, key: Group) -> File | None:
        return self.places[key.file].file

    def batches(self, key: Group) -> list[Any]:
        fragment = self._fragment(key.file)
        with named(key.place):
            piece = fragment.subset(row_group_ids=[key.number])
            # a few bytes can stand for any number of equal values
            check_size(key.place, self.chosen.room(piece.row_groups[0].num_rows), self.limit)
            schema = self.given or fragment.physical_schema
            read = piece.to_table(schema=schema, columns=self.chosen.read, use_threads=False)
            return list(read.to_batches())


def _parquet_fragment(file: File) -> Any:
    from pyarrow import dataset, fs

    # a page that has a checksum is compared with it
    options = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
    kind = dataset.ParquetFileFormat(default_fragment_scan_options=options)
    return kind.make_fragment(os.path.abspath(file.path), fs.LocalFileSystem())


class OpenFile(threading.local):
    """The file that a thread has open, and the places of its columns."""

    number: int = -1
    opened: Any = None
    places: Sequence[int] = ()
    in_order: bool = False  # Are these all columns, as they lie?


class Arrow(TableSource):
    """Record batches of Arrow IPC (Feather) files.

    Batches are read and not mapped: memory stays within the parts in use, and a file that is cut
    off is an error, where a mapped one would end the process.
    """

    files: list[File]

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        self.files = files
        self._readers = OpenFile()  # the file that a thread has open
        self.choose(self._opened(0).schema, files[0].name, options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_readers"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _readers=OpenFile())

    def _reader(self, number: int) -> Any:
        """The reader of a file; ``places`` of this thread are the columns to take from it."""
        mine = self._readers
        if mine.number != number:
            mine.opened = self._opened(number)
            names = mine.opened.schema.names
            mine.places = [names.index(name) for name in self.chosen.read]
            mine.in_order = mine.places == list(range(len(names)))
            mine.number = number
        return mine.opened

    def _opened(self, number: int) -> Any:
        pa = arrow()
        file = self.files[number]
        with named(file.name):
            stream = pa.OSFile(file.path)
            if stream.read(6) != b"ARROW1":
                raise pa.ArrowInvalid("no Arrow file begins so; a stream must be saved as a file")
            return pa.ipc.open_file(stream)

    def known_bytes(self) -> int:
        return self.chosen.room(sum(map(_rows_of, self.files)))

    def keys(self) -> Iterator[Group]:
        for number, file in enumerate(self.files):
            reader = self._opened(number)
            count = reader.num_record_batches
            rows = _rows_of(file)
            self.check_agrees(reader.schema, file.name)
            # refused before any memory is taken: compressed batches that no memory holds
            check_inflation(file.name, self.chosen.room(rows), file.size())
            least = self.chosen.room(-(-rows // max(1, count)))  # of the largest batch
            check_size(f"{file.name}, record batch 0", least, self.limit)
            for batch in range(count):
                yield Group(f"{file.name}, record batch {batch}", number, batch)

    def file_of(self, key: Group) -> File | None:
        return self.files[key.file]

    def batches(self, key: Group) -> list[Any]:
        with named(key.place):
            batch = self._reader(key.file).get_batch(key.number)
            batch.validate(full=True)  # offsets and lengths may be forged
            check_size(key.place, self.chosen.room(batch.num_rows), self.limit)
            if self._readers.in_order:
                return [batch]
            return [batch.select(self._readers.places)]


def _rows_of(file: File) -> int:
    """The rows of an Arrow file, by what its record batches say."""
    from pyarrow import dataset, fs

    with named(file.name):
        path = os.path.abspath(file.path)
        fragment = dataset.IpcFileFormat().make_fragment(path, fs.LocalFileSystem())
        return int(fragment.count_rows())


class Scan(TableSource):
    """Any other ``pyarrow.dataset.Dataset``: from the first row to the last.

    A part cannot be read alone.
    """

    def __init__(self, name: str, data: Any, options: ReadOptions) -> None:
        self.data = data
        self.choose(data.schema, name, options)

    def keys(self) -> Iterator[Group]:
        start = 0
        with named(self.name):
            for number, batch in enumerate(self.all_batches()):
                yield Group(self.name, 0, number, start, batch)
                start += batch.num_rows

    def all_batches(self) -> Iterable[Any]:
        """The record batches from the first to the last."""
        batches: Iterable[Any]
        batches = self.data.to_batches(columns=self.chosen.read, batch_size=BATCH_ROWS)
        return batches

    def batches(self, key: Group) -> list[Any]:
        return [key.batch]


class TableScan(Scan):
    """A table in memory."""

    def all_batches(self) -> Iterable[Any]:
        batches: Iterable[Any]
        batches = self.data.select(self.chosen.read).to_batches(max_chunksize=BATCH_ROWS)
        return batches
