"""CSV: pyarrow parses; where it finds a fault, `read_slowly` reads the same lines cell by cell.

The slow reader alone decides what is an error, and names its line, column and cell. Parts are cut
here and not by ``pyarrow.dataset``, whose scanner of CSV knows neither lines nor places.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from ..._extras import arrow
from .columns import ReadOptions, target_of
from .encoding import Encoding
from .filesystem import File
from .tables import TableSource
from .text import Lines, chunk_for, line_blocks, text_chunks

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "?")
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


class Csv(TableSource):
    """CSV files, a few megabytes of text at a time; each is opened once."""

    in_threads = True

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        self.files, self.chunk = files, chunk_for(options.limit)
        self.dialects: dict[File, CsvDialect] = {}
        opened = self._lines()
        first = next(opened, None)
        if first is None:
            raise ValueError(f"{files[0].name}: holds no row of numbers.")
        self._opened: Iterator[Lines] | None = chain([first], opened)
        schema = arrow().schema(self._types(first, options))
        self.types = dict(zip(schema.names, schema.types))
        self.choose(schema, files[0].name, options)

    def keys(self) -> Iterator[Lines]:
        lines, self._opened = self._opened or self._lines(), None
        return lines

    def table(self, lines: Lines, columns: list[str]) -> Any:
        lines, types = lines.skip(0), {name: self.types[name] for name in columns}
        try:
            return self._read(lines, types)
        except arrow().ArrowInvalid:
            return read_slowly(lines, self.dialects[lines.file], types)

    def _lines(self) -> Iterator[Lines]:
        """The rows of all files without their headers."""
        for file in self.files:
            header = None
            for lines in line_blocks(text_chunks(file, self.chunk), file):
                if lines.offset == 0 and lines.read().startswith(MARK):
                    lines = lines.skip(len(MARK))
                if header is None and not _blank(lines):
                    header = self._sniffed(lines).header
                while header and lines.length:
                    first = lines.read().partition(b"\n")[0]
                    lines, header = lines.skip(len(first) + 1, 1), not first.strip()
                if not _blank(lines):
                    yield lines

    def _sniffed(self, lines: Lines) -> CsvDialect:
        pa, file = arrow(), lines.file
        self.dialects[file] = sniff(lines)
        if file != self.files[0]:
            names = self.dialects[file].names
            kinds = [(name, self.types.get(name, pa.float64())) for name in names]
            self.check_agrees(pa.schema(kinds), file.name)
        return self.dialects[file]

    def _types(self, lines: Lines, options: ReadOptions) -> list[tuple[str, Any]]:
        """The type of each column, by the first lines: numbers, truth values, text or dates.

        Without an encoding text is read as numbers, so that its first cell is named.
        """
        pa, encode, text = arrow(), options.encode, lines.read()
        end = text.find(b"\n", SAMPLE) + 1
        names = self.dialects[lines.file].names
        kinds = [pa.float64()] * len(names)
        try:
            found = self._read(lines._replace(text=text[: end or None]))
        except pa.ArrowInvalid:  # every cell is judged when it is read
            return list(zip(names, kinds))
        for place, (name, kind) in enumerate(zip(names, found.schema.types)):
            encoded = encode is not None and (kind == pa.string() or pa.types.is_temporal(kind))
            if encoded or pa.types.is_boolean(kind):
                kinds[place] = kind
            if isinstance(encode, Encoding) and name in encode.categories:
                kinds[place] = pa.string()
        if options.beside is None:  # the first target that is not missing decides
            goal = names.index(target_of(names, options, lines.file.name)[0])
            first = next((v for v in found.column(goal).to_pylist() if v is not None), "0")
            kinds[goal] = pa.float64() if is_number(str(first)) else pa.string()
        return list(zip(names, kinds))

    def _read(self, lines: Lines, types: Any = None) -> Any:
        """With pyarrow; all columns, of types that it infers, unless some are given."""
        pa = arrow()
        from pyarrow import csv as reader

        dialect, text = self.dialects[lines.file], lines.read()
        quote = '"' if b'"' in text else False  # text without quotes is read faster
        return reader.read_csv(
            pa.BufferReader(text),
            reader.ReadOptions(
                column_names=dialect.names,
                use_threads=False,  # several blocks are read at once
                block_size=max(BLOCK, 2 * text.find(b"\n")),
            ),
            reader.ParseOptions(delimiter=dialect.delimiter, quote_char=quote),
            reader.ConvertOptions(
                column_types=types,
                include_columns=list(types or ()),
                null_values=list(MISSING),
                strings_can_be_null=True,
            ),
        )


def _blank(lines: Lines) -> bool:
    text = lines.read()
    return not text or text.isspace()


def sniff(lines: Lines) -> CsvDialect:
    """Find out by looking at the first rows.

    The delimiter is the one of ``, ; tab`` that cuts the first row into most cells. The first row
    is a header if a cell of it is text where the second row has a number, or if all of it is text.
    """
    rows = [(line, row) for line, row in lines.rows() if row.strip()][:2]
    delimiter = max(DELIMITERS, key=lambda sign: len(_cells(rows[0][1], sign)))
    first, *others = [_cells(row, delimiter, f"{lines.file.name}, line {n}") for n, row in rows]
    text = [not is_number(cell) and cell.strip() not in MISSING for cell in first]
    below = [is_number(cell) for cell in others[0]] if others else []
    named = all(text) or (all(text[1:]) and len(text) > 1 and not first[0].strip())
    header = named or any(a and b for a, b in zip(text, below))
    names = [name.strip() for name in first] if header else [f"x{j}" for j in range(len(first))]
    return CsvDialect(delimiter, names, header)


def _cells(row: str, delimiter: str, place: str = "") -> list[str]:
    """The cells of a row; where no place is named, none if a cell is too long, as a whole row is by
    a delimiter that it lacks."""
    try:
        return next(csv.reader([row], delimiter=delimiter))
    except csv.Error:
        if not place:
            return []
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
    for line, row in lines.rows():
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
    pa, word = arrow(), cell.strip()
    if word in MISSING:
        return None
    if kind == pa.string():
        return cell
    if kind == pa.float64() and is_number(word):
        return float(word)
    if kind != pa.float64():  # a truth value or a date
        with suppress(pa.ArrowInvalid):
            return pa.scalar(word).cast(kind).as_py()
    shown = cell if len(cell) <= 40 else cell[:40] + "..."
    wanted = {"bool": "True or False", "double": "a number"}.get(str(kind), f"a {kind}")
    remedy = (
        'fill in or drop such rows, encode a column of text with encode="onehot", or leave the '
        "column out with exclude="
    )
    if "," in cell and is_number(cell.replace(",", ".", 1)):
        remedy = "write decimals with a point"
    raise ValueError(f"{place}: {shown!r} in column {name!r} must be {wanted}; {remedy}.")
