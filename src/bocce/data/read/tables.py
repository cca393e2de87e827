"""Tables of Arrow: Parquet by row groups, Arrow IPC by record batches, others from first to last.

pyarrow's data sets read the files; a source here knows which part is where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._direct import machine_memory
from ..._extras import arrow
from .choose import TableSource, check_agrees
from .columns import ReadOptions
from .filesystem import File
from .parts import Part, check_size
from .text import check_inflation

BATCH_ROWS = 1 << 16  # where a data set has no parts of its own


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

    unit = "row group"

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

    def keys(self) -> Iterator[Any]:
        for number, name in enumerate(self.names):
            fragment = self._fragment(number)
            if self.given is None:
                check_agrees(self.chosen, self.schema, fragment.physical_schema, (name, self.name))
            yield from ((number, group.id) for group in fragment.row_groups)

    def table(self, key: Any, columns: list[str]) -> Any:
        fragment = self._fragment(key[0])
        with named(self.place(key)):
            piece = fragment.subset(row_group_ids=[key[1]])
            # a few bytes can stand for any number of equal values
            check_size(self.place(key), self.chosen.room(piece.row_groups[0].num_rows), self.limit)
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

    unit = "record batch"

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        self.files, self.names = files, [file.name for file in files]
        with self._opened(0) as reader:
            schema = reader.schema
        self.choose(schema, self.names[0], options)

    @contextmanager
    def _opened(self, number: int) -> Iterator[Any]:
        pa, file = arrow(), self.files[number]
        path, system = file.for_arrow()
        with named(file.name), system.open_input_file(path) as stream:
            if stream.read(6) != b"ARROW1":
                raise pa.ArrowInvalid("no Arrow file begins so; a stream must be saved as a file")
            yield pa.ipc.open_file(stream)

    def keys(self) -> Iterator[Any]:
        from pyarrow import dataset

        for number, file in enumerate(self.files):
            with self._opened(number) as reader:
                count, schema = reader.num_record_batches, reader.schema
                rows = dataset.IpcFileFormat().make_fragment(*file.for_arrow()).count_rows()
            check_agrees(self.chosen, self.schema, schema, (file.name, self.name))
            # refused before any memory is taken: compressed batches that no memory holds
            check_inflation(file.name, self.chosen.room(rows), file.size())
            least = self.chosen.room(-(-rows // max(1, count)))  # of the largest batch
            check_size(self.place((number, 0)), least, self.limit)
            yield from ((number, batch) for batch in range(count))

    def table(self, key: Any, columns: list[str]) -> Any:
        pa, place = arrow(), self.place(key)
        with self._opened(key[0]) as reader, named(place):
            batch = reader.get_batch(key[1])
            batch.validate(full=True)  # offsets and lengths may be forged
            check_size(place, self.chosen.room(batch.num_rows), self.limit)
            return pa.Table.from_batches([batch]).select(columns)


class Scan(TableSource):
    """Any other ``pyarrow.dataset.Dataset``, and tables in memory: from the first row to the last.

    A part cannot be read alone.
    """

    def __init__(self, name: str, data: Any, options: ReadOptions) -> None:
        self.data, self.in_memory = data, isinstance(data, arrow().Table)
        self.choose(data.schema, name, options)

    def tables(self, columns: list[str]) -> Iterator[Any]:
        pa = arrow()
        with named(self.name):
            if self.in_memory:
                batches = self.data.select(columns).to_batches(max_chunksize=BATCH_ROWS)
            else:
                batches = self.data.to_batches(columns=columns, batch_size=BATCH_ROWS)
            yield from (pa.Table.from_batches([batch]) for batch in batches)

    def parts(self) -> Iterator[Part]:
        start = 0
        for table in self.tables(self.chosen.read):

            def where(row: int, start: int = start) -> str:
                return f"{self.name}, row {start + row}"

            yield Part(None, *self.chosen.rows(table, where))
            start += table.num_rows
