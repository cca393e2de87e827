"""Tables of Arrow: Parquet by row groups, Arrow IPC by record batches, others from first to last.

pyarrow's data sets read the files; a source here knows which part is where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._direct import machine_memory
from ..._extras import arrow
from ...blockfile import Block
from .columns import ReadOptions, Selection, select
from .encoding import coded
from .filesystem import File
from .parts import Source, check_size
from .text import check_inflation

BATCH_ROWS = 1 << 16  # where a data set has no parts of its own
MOST_CATEGORIES = 1000  # of one column: more are rather names of rows


class TableSource(Source):
    """A source of Arrow tables."""

    def choose(self, schema: Any, name: str, options: ReadOptions) -> None:
        self.name, self.schema, self.limit = name, schema, options.limit
        self.chosen = select(schema, name, options)
        if options.encode == "onehot":
            self.chosen = self._with_categories(self.chosen)
        chosen = self.chosen
        self.columns, self.target, self.text = chosen.columns, chosen.target, chosen.text
        self.d, self.dtype = chosen.d, chosen.dtype
        if options.encode is not None or chosen.encoding.booleans:
            self.encoding = chosen.encoding

    def table(self, key: Any, columns: list[str]) -> Any:
        raise NotImplementedError

    def rows(self, key: Any) -> Block:
        return self.chosen.rows(self.table(key, self.chosen.read), key.where)

    def check_agrees(self, schema: Any, name: str) -> None:
        """Refuse a file without the columns of the first, or without numbers where it has them."""
        chosen, options, of = self.chosen, self.chosen.options, self.name
        named = options.columns is not None  # then others may come and go
        wanted = chosen.read if named else self.schema.names
        lacking = [column for column in wanted if schema.names.count(column) != 1]
        extra = [] if named else [column for column in schema.names if column not in wanted]
        if lacking or extra:
            what = f"has no column {lacking[0]!r}" if lacking else f"has a column {extra[0]!r} more"
            raise ValueError(
                f"{name}: {what}, must have the columns of {of}; give the files of one table, or "
                "name the columns= that all have."
            )
        asked = options._replace(target=chosen.target, columns=list(chosen.widths), exclude=None)
        other = select(schema, name, asked)
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

    def _with_categories(self, chosen: Selection) -> Selection:
        """With the categories of text features, found in a pass over their columns."""
        seen: dict[str, set[str]] = {name: set() for name in chosen.encoding.categories}
        for key in self.keys() if seen else ():
            table = self.table(key, list(seen))
            for name, known in seen.items():
                known.update(*(coded(chunk)[0] for chunk in table.column(name).chunks))
                known.discard(None)  # type: ignore[arg-type]
                if len(known) > MOST_CATEGORIES:
                    raise ValueError(
                        f"{self.name}: column {name!r} has more than {MOST_CATEGORIES} different "
                        "values, too many for a column of X each; leave it out: name the others "
                        "with columns=."
                    )
        for name, known in seen.items():
            if not known:
                raise ValueError(
                    f"{self.name}: column {name!r} has no value in any row; leave it out: name the "
                    "others with columns=."
                )
        categories = {name: sorted(known) for name, known in seen.items()}
        widths = {name: len(known) for name, known in seen.items()}
        encoding = replace(chosen.encoding, categories=categories)
        return replace(chosen, encoding=encoding, widths={**chosen.widths, **widths})


class Group(NamedTuple):
    """The key of a row group, a record batch, or the next rows of a table."""

    place: str
    file: int
    number: int
    start: int = 0  # the number of the first row
    table: Any = None  # of rows that cannot be read alone

    def where(self, row: int) -> str:
        return f"{self.place}, row {self.start + row}"

    def stored(self) -> Group | None:
        return self if self.table is None else None


@contextmanager
def named(place: str) -> Iterator[None]:
    """Say of this place what pyarrow finds wrong."""
    pa = arrow()
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        asked = re.search(r"\d+", str(error)) if isinstance(error, MemoryError) else None
        honest = asked is not None and int(asked[0]) <= machine_memory()
        if (isinstance(error, OSError) and error.errno is not None) or honest:
            raise  # the disk failed, or memory is short; a forged length asks for terabytes
        first = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{place}: truncated, altered, or not what its name says ({first[:200]}); fetch or "
            "write it again."
        ) from None


class Parquet(TableSource):
    """Row groups of Parquet files, or of the fragments of a ``pyarrow.dataset.Dataset``.

    A data set has one schema, and fits its files to it; files alone must agree with the first.
    """

    def __init__(self, homes: list[Any], schema: Any, options: ReadOptions) -> None:
        self.homes, self.given = homes, schema
        self._fragments: dict[int, Any] = {}  # each with the metadata of its file, once read
        self.names = [
            home.name if isinstance(home, File) else home.path.rsplit("/", 1)[-1] for home in homes
        ]
        self.choose(schema or self._fragment(0).physical_schema, self.names[0], options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fragments": {}}

    def _fragment(self, number: int) -> Any:
        if number not in self._fragments:
            home = self.homes[number]
            with named(self.names[number]):
                fragment = _parquet_fragment(home) if isinstance(home, File) else home
                fragment.ensure_complete_metadata()
            self._fragments[number] = fragment
        return self._fragments[number]

    def keys(self) -> Iterator[Group]:
        for number, name in enumerate(self.names):
            fragment = self._fragment(number)
            if self.given is None:
                self.check_agrees(fragment.physical_schema, name)
            for group in fragment.row_groups:
                yield Group(f"{name}, row group {group.id}", number, group.id)

    def table(self, key: Group, columns: list[str]) -> Any:
        fragment = self._fragment(key.file)
        with named(key.place):
            piece = fragment.subset(row_group_ids=[key.number])
            # a few bytes can stand for any number of equal values
            check_size(key.place, self.chosen.room(piece.row_groups[0].num_rows), self.limit)
            schema = self.given or fragment.physical_schema
            return piece.to_table(schema=schema, columns=columns, use_threads=False)


def _parquet_fragment(file: File) -> Any:
    from pyarrow import dataset

    # a page that has a checksum is compared with it
    options = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
    kind = dataset.ParquetFileFormat(default_fragment_scan_options=options)
    return kind.make_fragment(*file.for_arrow())


class Arrow(TableSource):
    """Record batches of Arrow IPC (Feather) files."""

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        self.files = files
        with self._opened(0) as reader:
            schema = reader.schema
        self.choose(schema, files[0].name, options)

    @contextmanager
    def _opened(self, number: int) -> Iterator[Any]:
        pa, file = arrow(), self.files[number]
        path, system = file.for_arrow()
        with named(file.name), system.open_input_file(path) as stream:
            if stream.read(6) != b"ARROW1":
                raise pa.ArrowInvalid("no Arrow file begins so; a stream must be saved as a file")
            yield pa.ipc.open_file(stream)

    def keys(self) -> Iterator[Group]:
        from pyarrow import dataset

        for number, file in enumerate(self.files):
            with self._opened(number) as reader:
                count, schema = reader.num_record_batches, reader.schema
                rows = dataset.IpcFileFormat().make_fragment(*file.for_arrow()).count_rows()
            self.check_agrees(schema, file.name)
            # refused before any memory is taken: compressed batches that no memory holds
            check_inflation(file.name, self.chosen.room(rows), file.size())
            least = self.chosen.room(-(-rows // max(1, count)))  # of the largest batch
            check_size(f"{file.name}, record batch 0", least, self.limit)
            for batch in range(count):
                yield Group(f"{file.name}, record batch {batch}", number, batch)

    def table(self, key: Group, columns: list[str]) -> Any:
        pa = arrow()
        with self._opened(key.file) as reader, named(key.place):
            batch = reader.get_batch(key.number)
            batch.validate(full=True)  # offsets and lengths may be forged
            check_size(key.place, self.chosen.room(batch.num_rows), self.limit)
            return pa.Table.from_batches([batch]).select(columns)


class Scan(TableSource):
    """Any other ``pyarrow.dataset.Dataset``, and tables in memory: from the first row to the last.

    A part cannot be read alone.
    """

    def __init__(self, name: str, data: Any, options: ReadOptions) -> None:
        self.data = data
        self.choose(data.schema, name, options)

    def keys(self) -> Iterator[Group]:
        pa, read, start = arrow(), self.chosen.read, 0
        with named(self.name):
            if isinstance(self.data, pa.Table):
                batches = self.data.select(read).to_batches(max_chunksize=BATCH_ROWS)
            else:
                batches = self.data.to_batches(columns=read, batch_size=BATCH_ROWS)
            for number, batch in enumerate(batches):
                yield Group(self.name, 0, number, start, pa.Table.from_batches([batch]))
                start += batch.num_rows

    def table(self, key: Group, columns: list[str]) -> Any:
        return key.table.select(columns)
