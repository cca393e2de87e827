"""CSV: pyarrow parses; where it finds a fault, `read_slowly` reads the same lines cell by cell.

The slow reader alone decides what is an error, and names its line, column and cell. Parts are cut
here and not by ``pyarrow.dataset``, whose scanner of CSV knows neither lines nor places.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from ..._extras import arrow
from ...blockfile import Block
from .choose import TableSource, column_of, refuse_repeated
from .columns import ReadOptions
from .encoding import Encoding
from .filesystem import File
from .text import Lines, TextSource, chunk_for, line_blocks, text_chunks

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "?")
TRUTH = {"true": True, "false": False, "1": True, "0": False}
DELIMITERS = (",", ";", "\t")
LONGEST_CELL = csv.field_size_limit()  # 131,072 characters
SAMPLE = 1 << 17  # bytes of lines from which types are inferred
BLOCK = 1 << 19  # bytes that pyarrow parses at once: the cells stay in the cache
MARK = b"\xef\xbb\xbf"


class CsvDialect(NamedTuple):
    """The delimiter, the names of the columns, and whether the first row holds them."""

    delimiter: str
    names: list[str]
    header: bool


class Csv(TextSource, TableSource):
    """CSV files, a few megabytes of text at a time; each is opened once."""

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        pa = arrow()
        self.name, self.files = files[0].name, files
        self.chunk = chunk_for(options.limit)
        self.quick = True  # until a cell is quoted or missing
        self.dialects: dict[File, CsvDialect] = {}
        self._opened: Iterator[Lines] | None = self._all_lines()
        first = next(self._opened, None)
        if first is None:
            raise ValueError(f"{self.name}: holds no row of numbers.")
        self._opened = chain([first], self._opened)
        refuse_repeated(self.dialects[files[0]].names, self.name)
        self.types = self._types(first, options)
        self.choose(pa.schema(list(self.types.items())), self.name, options)
        self.types = {name: self.types[name] for name in self.chosen.read}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def lines(self) -> Iterator[Lines]:
        lines, self._opened = self._opened or self._all_lines(), None
        return lines

    def rows(self, lines: Lines) -> Block:
        def where(row: int) -> str:
            return f"{lines.file.name}, line {row_lines(lines)[row]}"

        return self.chosen.rows(self._table(lines, self.types), where)

    def tables(self, columns: list[str]) -> Iterator[Any]:
        types = {name: self.types[name] for name in columns}
        return (self._table(lines, types) for lines in self._all_lines())

    def _all_lines(self) -> Iterator[Lines]:
        """The rows of all files without their headers."""
        for file in self.files:
            header = None
            for text, line, offset, _ in line_blocks(text_chunks(file, self.chunk), file):
                if offset == 0 and text.startswith(MARK):
                    text, offset = text[len(MARK) :], len(MARK)
                if header is None and text and not text.isspace():
                    self.dialects[file] = self._sniffed(Lines(text, line, offset, file))
                    header = self.dialects[file].header
                while header and text:
                    first, _, text = text.partition(b"\n")
                    line, offset = line + 1, offset + len(first) + 1
                    header = not first.strip()
                if text and not text.isspace():
                    yield Lines(text, line, offset, file)

    def _sniffed(self, lines: Lines) -> CsvDialect:
        found = sniff(lines)
        wanted = self.dialects.get(self.files[0], found).names
        if found.names != wanted:
            raise ValueError(
                f"{lines.file.name}: has the columns {_few(found.names)}, must have those of "
                f"{self.name}, {_few(wanted)}; give the files of one table."
            )
        return found

    def _types(self, block: Lines, options: ReadOptions) -> dict[str, Any]:
        """The type of each column, by the first lines: numbers, truth values, text or dates.

        Without an encoding text is read as numbers, so that its first cell is named.
        """
        pa, encode = arrow(), options.encode
        end = block.text.find(b"\n", SAMPLE) + 1
        try:
            found = self._read(block._replace(text=block.text[: end or None]), None, False)
        except pa.ArrowInvalid:  # every cell is judged when it is read
            return dict.fromkeys(self.dialects[block.file].names, pa.float64())
        types = {}
        for name, kind in zip(found.column_names, found.schema.types):
            encoded = encode is not None and (kind == pa.string() or pa.types.is_temporal(kind))
            types[name] = kind if encoded or pa.types.is_boolean(kind) else pa.float64()
            if isinstance(encode, Encoding) and name in encode.categories:
                types[name] = pa.string()
        if options.beside is None:  # the first target that is not missing decides
            last = -1 if options.target is None else options.target
            goal = column_of(found.column_names, last, "target", self.name)
            first = next((v for v in found.column(goal).to_pylist() if v is not None), "0")
            types[goal] = pa.float64() if is_number(str(first)) else pa.string()
        return types

    def _table(self, lines: Lines, types: dict[str, Any]) -> Any:
        pa = arrow()
        if b'"' in lines.text or pa.string() in types.values():
            self.quick = False
        for quick in (True, False) if self.quick else (False,):
            try:
                table = self._read(lines, types, quick)
            except pa.ArrowInvalid:
                continue
            self.quick = quick
            return table
        return read_slowly(lines, self.dialects[lines.file], types)

    def _read(self, lines: Lines, types: Any, quick: bool) -> Any:
        """With pyarrow; ``quick`` looks for no quotes and no missing values."""
        pa = arrow()
        from pyarrow import csv as reader

        dialect = self.dialects[lines.file]
        return reader.read_csv(
            pa.BufferReader(lines.text),
            reader.ReadOptions(
                column_names=dialect.names,
                use_threads=False,  # several blocks are read at once
                block_size=max(BLOCK, 2 * lines.text.find(b"\n")),
            ),
            reader.ParseOptions(delimiter=dialect.delimiter, quote_char=False if quick else '"'),
            reader.ConvertOptions(
                column_types=types,
                include_columns=list(types or ()),
                null_values=[] if quick else list(MISSING),
                strings_can_be_null=not quick,
            ),
        )


def sniff(lines: Lines) -> CsvDialect:
    """Find out by looking at the first rows.

    The delimiter is the one of ``, ; tab`` that cuts the first row into most cells. The first row
    is a header if a cell of it is text where the second row has a number, or if all of it is text.
    """
    rows = [(line, row) for line, row in _numbered(lines) if row.strip()][:2]
    delimiter = max(DELIMITERS, key=lambda sign: _count(rows[0][1], sign))
    first, *others = [_cells(row, delimiter, f"{lines.file.name}, line {n}") for n, row in rows]
    text = [not is_number(cell) and cell.strip() not in MISSING for cell in first]
    below = [is_number(cell) for cell in others[0]] if others else []
    named = all(text) or (all(text[1:]) and len(text) > 1 and not first[0].strip())
    header = named or any(a and b for a, b in zip(text, below))
    names = [name.strip() for name in first] if header else [f"x{j}" for j in range(len(first))]
    return CsvDialect(delimiter, names, header)


def _numbered(lines: Lines) -> Iterator[tuple[int, str]]:
    """The rows as text with the numbers of their lines; blank lines are no rows."""
    try:
        text = lines.text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{lines.file.name}: not UTF-8 text at byte {lines.offset + error.start}; save it so."
        ) from None
    rows = enumerate(text.split("\n"), lines.line)
    return ((line, row.rstrip("\r")) for line, row in rows if row.strip("\r"))


def row_lines(lines: Lines) -> list[int]:
    return [line for line, _ in _numbered(lines)]


def _count(row: str, delimiter: str) -> int:
    """Of cells; none if a cell is too long, as a whole row is by a delimiter that it lacks."""
    try:
        return len(next(csv.reader([row], delimiter=delimiter)))
    except csv.Error:
        return 0


def _cells(row: str, delimiter: str, place: str) -> list[str]:
    try:
        return next(csv.reader([row], delimiter=delimiter))
    except csv.Error:
        raise ValueError(
            f"{place}: a cell is longer than {LONGEST_CELL} characters or breaks off, must be a "
            "number; check its quotes."
        ) from None


def is_number(cell: str) -> bool:
    """
    >>> is_number(" 1e-3"), is_number("1,5"), is_number("nan")
    (True, False, False)
    """
    try:
        return float(cell) - float(cell) == 0.0 and "_" not in cell
    except ValueError:
        return False


def read_slowly(lines: Lines, dialect: CsvDialect, types: dict[str, Any]) -> Any:
    """Cell by cell; raise a `ValueError` that names file, line, column and cell."""
    pa = arrow()
    found: dict[str, list[Any]] = {name: [] for name in types}
    for line, row in _numbered(lines):
        place = f"{lines.file.name}, line {line}"
        cells = _cells(row, dialect.delimiter, place)
        if len(cells) != len(dialect.names):
            raise ValueError(
                f"{place}: has {len(cells)} cells where the first row has {len(dialect.names)}."
            )
        for name, cell in zip(dialect.names, cells):
            if name in found:
                found[name].append(_value(cell, types[name], name, place))
    return pa.table({name: pa.array(found[name], kind) for name, kind in types.items()})


def _value(cell: str, kind: Any, name: str, place: str) -> Any:
    pa = arrow()
    if cell.strip() in MISSING:
        return None
    if kind == pa.string():
        return cell
    if kind == pa.float64() and is_number(cell):
        return float(cell)
    if kind == pa.bool_() and cell.strip().lower() in TRUTH:
        return TRUTH[cell.strip().lower()]
    if pa.types.is_temporal(kind):
        try:
            return pa.scalar(cell.strip()).cast(kind).as_py()
        except pa.ArrowInvalid:
            pass
    shown = cell if len(cell) <= 40 else cell[:40] + "..."
    wanted = {"bool": "True or False", "double": "a number"}.get(str(kind), f"a {kind}")
    remedy = (
        'fill in or drop such rows, encode a column of text with encode="onehot", or leave the '
        "column out with columns="
    )
    if "," in cell and is_number(cell.replace(",", ".", 1)):
        remedy = "write decimals with a point"
    raise ValueError(f"{place}: {shown!r} in column {name!r} must be {wanted}; {remedy}.")


def _few(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)})" if len(names) > 8 else "")
