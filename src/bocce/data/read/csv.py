"""CSV: pyarrow parses; where it finds a fault, `read_slowly` reads the same lines cell by cell.

The slow reader alone decides what is an error, and names its line, column and cell. Parts are cut
here and not by ``pyarrow.dataset``, whose scanner of CSV knows neither lines nor places.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

from ..._extras import arrow
from .choose import ColumnSource, column_of, refuse_repeated
from .columns import ReadOptions
from .encoding import Encoding
from .filesystem import File
from .parts import Part
from .text import Lines, chunk_for, line_blocks, read_lines, text_chunks

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "?")
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
DELIMITERS = (",", ";", "\t")
LONGEST_CELL = csv.field_size_limit()  # 131,072 characters
SAMPLE = 1 << 17  # bytes of lines from which types are inferred
BLOCK = 1 << 19  # bytes that a thread of pyarrow parses at once: the cells stay in the cache
MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class CsvDialect:
    """The delimiter, the names of the columns, and whether the first row holds them."""

    delimiter: str
    names: list[str]
    header: bool


class Csv(ColumnSource):
    """CSV files, a few megabytes of text at a time; each is opened once."""

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        arrow()
        self.name, self.files = files[0].name, files
        self.chunk = chunk_for(options.limit)
        self.quick = True  # until a cell is quoted or missing
        self.dialects: dict[int, CsvDialect] = {}
        self._first: Iterator[Lines] | None = self._blocks(0)
        block = next(self._first, None)
        if block is None:
            raise ValueError(f"{self.name}: holds no row of numbers.")
        self._first = chain([block], self._first)
        refuse_repeated(self.dialects[0].names, self.name)
        self.types = self._types(block, options)
        self.choose(arrow().schema(list(self.types.items())), self.name, options)
        self.types = {name: self.types[name] for name in self.chosen.read}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_first": None}

    def parts(self) -> Iterator[Part]:
        for number, file in enumerate(self.files):
            blocks = self._first if number == 0 and self._first else self._blocks(number)
            self._first = None
            for lines in blocks:
                yield self._part(lines.key(number, file), number, lines)

    def read_part(self, key: Any) -> Part:
        return self._part(key, key[0], read_lines(self.files, key))

    def place(self, key: Any) -> str:
        return f"{self.files[key[0]].name}, line {key[3]}"

    def _part(self, key: Any, number: int, lines: Lines) -> Part:
        name = self.files[number].name
        table = self._table(lines, number, self.types)

        def where(row: int) -> str:
            return f"{name}, line {row_lines(lines)[row]}"

        return Part(key, table.num_rows, lambda out: self.chosen.rows(table, where, out))

    def tables(self, columns: list[str]) -> Iterator[Any]:
        types = {name: self.types[name] for name in columns}
        for number in range(len(self.files)):
            for lines in self._blocks(number):
                yield self._table(lines, number, types)

    def _blocks(self, number: int) -> Iterator[Lines]:
        """The rows of a file without its header."""
        file, dialect, todo = self.files[number], None, False
        for text, line, offset in line_blocks(text_chunks(file, self.chunk), file.name):
            if offset == 0 and text.startswith(MARK):
                text, offset = text[len(MARK) :], len(MARK)
            if dialect is None and text.strip():
                dialect = self.dialects[number] = sniff(Lines(text, line, offset), file.name)
                self._check_names(number)
                todo = dialect.header
            while todo and text:
                first, _, text = text.partition(b"\n")
                line, offset = line + 1, offset + len(first) + 1
                todo = not first.strip()
            if text.strip():
                yield Lines(text, line, offset)

    def _check_names(self, number: int) -> None:
        found, wanted = self.dialects[number].names, self.dialects[0].names
        if found != wanted:
            raise ValueError(
                f"{self.files[number].name}: has the columns {_few(found)}, must have those of "
                f"{self.name}, {_few(wanted)}; give the files of one table."
            )

    def _types(self, block: Lines, options: ReadOptions) -> dict[str, Any]:
        """The type of each column, by the first lines: numbers, truth values, text or dates.

        Without an encoding text is read as numbers, so that its first cell is named.
        """
        pa = arrow()
        end = block.text.find(b"\n", SAMPLE) + 1
        sample = Lines(block.text[: end or None], block.line, block.offset)
        try:
            found = self._read(sample, 0, None, False)
        except pa.ArrowInvalid:  # every cell is judged when it is read
            return dict.fromkeys(self.dialects[0].names, pa.float64())
        text = pa.string()
        encode = options.encode
        types = {}
        for name, column in zip(found.column_names, found.columns):
            kind = column.type
            encoded = encode is not None and (kind == text or pa.types.is_temporal(kind))
            types[name] = kind if encoded or pa.types.is_boolean(kind) else pa.float64()
            if isinstance(encode, Encoding):
                types[name] = text if name in encode.categories else types[name]
        if options.beside is None:  # the first target that is not missing decides
            last = -1 if options.target is None else options.target
            goal = column_of(found.column_names, last, "target", self.name)
            first = next((v for v in found.column(goal).to_pylist() if v is not None), "0")
            types[goal] = pa.float64() if is_number(str(first)) else text
        return types

    def _table(self, lines: Lines, number: int, types: dict[str, Any]) -> Any:
        pa = arrow()
        if b'"' in lines.text or pa.string() in types.values():
            self.quick = False
        for quick in (True, False) if self.quick else (False,):
            try:
                table = self._read(lines, number, types, quick)
            except pa.ArrowInvalid:
                continue
            self.quick = quick
            return table
        return read_slowly(lines, self.dialects[number], types, self.files[number].name)

    def _read(self, lines: Lines, number: int, types: Any, quick: bool) -> Any:
        """With pyarrow; ``quick`` looks for no quotes and no missing values."""
        pa = arrow()
        from pyarrow import csv as reader

        dialect = self.dialects[number]
        return reader.read_csv(
            pa.BufferReader(lines.text),
            reader.ReadOptions(
                column_names=dialect.names,
                use_threads=pa.cpu_count() > 1,
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


def sniff(lines: Lines, source: str) -> CsvDialect:
    """Find out by looking at the first rows.

    The delimiter is the one of ``, ; tab`` that cuts the first row into most cells. The first row
    is a header if a cell of it is text where the second row has a number, or if all of it is text.
    """
    rows = [row.rstrip("\r") for row in _decoded(lines, source).split("\n") if row.strip()][:2]
    delimiter = max(DELIMITERS, key=lambda sign: _count(rows[0], sign))
    first, *others = [_cells(row, delimiter, source, i) for i, row in enumerate(rows, 1)]
    text = [not is_number(cell) and cell.strip() not in MISSING for cell in first]
    below = [is_number(cell) for cell in others[0]] if others else []
    named = all(text) or (all(text[1:]) and len(text) > 1 and not first[0].strip())
    header = named or any(a and b for a, b in zip(text, below))
    names = [name.strip() for name in first] if header else [f"x{j}" for j in range(len(first))]
    return CsvDialect(delimiter, names, header)


def _decoded(lines: Lines, source: str) -> str:
    try:
        return lines.text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source}: not UTF-8 text at byte {lines.offset + error.start}; save it so."
        ) from None


def _count(row: str, delimiter: str) -> int:
    """Of cells; none if a cell is too long, as a whole row is by a delimiter that it lacks."""
    try:
        return len(next(csv.reader([row], delimiter=delimiter)))
    except csv.Error:
        return 0


def _cells(row: str, delimiter: str, source: str, line: int) -> list[str]:
    try:
        return next(csv.reader([row], delimiter=delimiter))
    except csv.Error:
        raise ValueError(
            f"{source}, line {line}: a cell is longer than {LONGEST_CELL} characters or breaks "
            "off, must be a number; check its quotes."
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


def read_slowly(lines: Lines, dialect: CsvDialect, types: dict[str, Any], source: str) -> Any:
    """Cell by cell; raise a `ValueError` that names file, line, column and cell."""
    pa = arrow()
    found: dict[str, list[Any]] = {name: [] for name in types}
    for line, row in enumerate(_decoded(lines, source).split("\n"), lines.line):
        if not row.strip("\r"):
            continue
        cells = _cells(row.rstrip("\r"), dialect.delimiter, source, line)
        if len(cells) != len(dialect.names):
            raise ValueError(
                f"{source}, line {line}: has {len(cells)} cells where the first row has "
                f"{len(dialect.names)}."
            )
        for name, cell in zip(dialect.names, cells):
            if name in found:
                found[name].append(_value(cell, types[name], name, f"{source}, line {line}"))
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
        return bool(TRUTH[cell.strip().lower()])
    if pa.types.is_temporal(kind):
        try:
            return pa.scalar(cell.strip()).cast(kind).as_py()
        except pa.ArrowInvalid:
            pass
    return _refuse_cell(place, name, cell, kind)


def row_lines(lines: Lines) -> list[int]:
    """The number of each row's line: blank lines are no rows."""
    texts = lines.text.split(b"\n")
    return [number for number, text in enumerate(texts, lines.line) if text.strip(b"\r")]


def _refuse_cell(place: str, name: str, cell: str, kind: Any) -> NoReturn:
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
