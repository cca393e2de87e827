"""CSV: pyarrow parses; where it finds a fault, the cells of the same lines are read one by one.

Cells are numbers. The target may be text: labels. Parts are cut here and not by
``pyarrow.dataset``, whose scanner of CSV knows neither lines nor places.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple, NoReturn

from ..._extras import arrow
from ..._types import Array
from ...rows.files import Block
from .columns import ReadOptions, target_of
from .paths import File
from .tables import TableSource
from .text import Lines, chunk_for, line_blocks, suffix_of, text_chunks

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?")
LONGEST_CELL = csv.field_size_limit()  # 131,072 characters
SAMPLE_BYTES = 1 << 17  # bytes of lines that say whether the target is text
PARSED_BYTES = 1 << 19  # bytes that pyarrow parses at once: the cells stay in the cache
MARK = b"\xef\xbb\xbf"


class Header(NamedTuple):
    """The names of the columns, and whether the first row holds them."""

    names: list[str]
    given: bool


def delimiter_of(file: File) -> str:
    """A comma; a tab where the suffix is .tsv."""
    name = file.name.lower().removesuffix(suffix_of(file.name))
    return "\t" if name.endswith(".tsv") else ","


class Csv(TableSource):
    """CSV files, a few megabytes of text at a time; each is opened once."""

    in_threads = True
    files: list[File]

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        self.files = files
        self.chunk = chunk_for(options.limit)
        self.headers: dict[File, Header] = {}
        opened = self._lines()
        first = next(opened, None)
        if first is None:
            raise ValueError(f"{files[0].name}: holds no row of numbers.")
        self._begun: Iterator[Lines] | None = chain([first], opened)
        schema = arrow().schema(self._types(first, options))
        self.types = dict(zip(schema.names, schema.types))
        self.choose(schema, files[0].name, options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_begun": None}

    def keys(self) -> Iterator[Lines]:
        lines = self._begun or self._lines()
        self._begun = None
        return lines

    def file_of(self, key: Lines) -> File | None:
        return key.file

    def batches(self, key: Lines) -> list[Any]:
        lines = key.skip(0)
        types = {name: self.types[name] for name in self.chosen.read}
        try:
            return list(self._read(lines, types).to_batches())
        except arrow().ArrowInvalid as error:
            blame(lines, self.headers[lines.file].names, types, error)

    def checked(self, key: Lines) -> Block:
        X, y = super().checked(key)
        if self.text:
            self._check_labels(key, y)
        return X, y

    def _check_labels(self, key: Lines, y: Array) -> None:
        """Labels are no numbers: a column of both has bad cells."""
        numbers = [label for label in set(y.tolist()) if is_number(label)]
        if numbers:
            row = y.tolist().index(numbers[0])
            raise ValueError(
                f"{key.where(row)}: {numbers[0]!r} in column {self.target!r} must be a label as in "
                "the rows before; write numbers only, or labels that are no numbers."
            )

    def _lines(self) -> Iterator[Lines]:
        """The rows of all files without their headers."""
        for file in self.files:
            header = None
            for lines in line_blocks(text_chunks(file, self.chunk), file):
                if lines.offset == 0 and lines.read().startswith(MARK):
                    lines = lines.skip(len(MARK))
                if header is None and not _blank(lines):
                    header = self._header(lines).given
                while header and lines.length:
                    first = lines.read().partition(b"\n")[0]
                    lines = lines.skip(len(first) + 1, 1)
                    header = not first.strip()
                if not _blank(lines):
                    yield lines

    def _header(self, lines: Lines) -> Header:
        pa = arrow()
        file = lines.file
        self.headers[file] = header_of(lines)
        if file != self.files[0]:
            names = self.headers[file].names
            kinds = [(name, self.types.get(name, pa.float64())) for name in names]
            self.check_agrees(pa.schema(kinds), file.name)
        return self.headers[file]

    def _types(self, lines: Lines, options: ReadOptions) -> list[tuple[str, Any]]:
        """Numbers; the target is text if no cell of it in the first lines is a number, so that one
        bad cell does not make labels of numbers."""
        pa = arrow()
        names = self.headers[lines.file].names
        kinds = dict.fromkeys(names, pa.float64())
        if len(set(names)) == len(names):  # else refused later
            goal = target_of(names, options, lines.file.name)[0]
            place = names.index(goal)
            text = lines.read()
            sample = lines._replace(text=text[: text.find(b"\n", SAMPLE_BYTES) + 1 or None])
            cells = (row[place : place + 1] for row in _rows_of_cells(sample))
            words = [cell for found in cells for cell in found if cell.strip() not in MISSING]
            if words and not any(map(is_number, words)):
                kinds[goal] = pa.string()
        return [(name, kinds[name]) for name in names]

    def _read(self, lines: Lines, types: dict[str, Any]) -> Any:
        pa = arrow()
        from pyarrow import csv as reader

        text = lines.read()
        quote = '"' if b'"' in text else False  # text without quotes is read faster
        return reader.read_csv(
            pa.BufferReader(text),
            reader.ReadOptions(
                column_names=self.headers[lines.file].names,
                use_threads=False,  # several blocks are read at once
                block_size=max(PARSED_BYTES, 2 * text.find(b"\n")),
            ),
            reader.ParseOptions(delimiter=delimiter_of(lines.file), quote_char=quote),
            reader.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=list(MISSING),
                strings_can_be_null=True,
            ),
        )


def _blank(lines: Lines) -> bool:
    text = lines.read()
    return not text or text.isspace()


def header_of(lines: Lines) -> Header:
    """The first row is a header if a cell of it is text where the second row has a number, or if
    all of it is text."""
    delimiter = delimiter_of(lines.file)
    rows = [(line, row) for line, row in lines.rows() if row.strip()][:2]
    first, *others = [_cells(row, delimiter, f"{lines.file.name}, line {n}") for n, row in rows]
    if len(first) == 1:
        _refuse_one_column(lines.file.name, rows[0][1], delimiter)
    text = [not is_number(cell) and cell.strip() not in MISSING for cell in first]
    if others:
        below = [is_number(cell) for cell in others[0]]
    else:
        below = []
    named = all(text) or (all(text[1:]) and len(text) > 1 and not first[0].strip())
    if named or any(a and b for a, b in zip(text, below)):
        return Header([name.strip() for name in first], True)
    return Header([f"x{j}" for j in range(len(first))], False)


def _refuse_one_column(name: str, row: str, delimiter: str) -> None:
    """A file with another delimiter looks like one column."""
    words = {",": "commas", "\t": "tabs"}
    for other in (";", "\t", ","):
        if other in row:
            raise ValueError(
                f"{name}: has no {words[delimiter]} in its first row, but {other!r}; cells must be "
                f"separated by {words[delimiter]}. Write it again, for example with pandas: "
                f"read_csv(..., sep={other!r}).to_csv(..., index=False)."
            )


def _rows_of_cells(lines: Lines) -> Iterator[list[str]]:
    """The cells of each row; nothing of a row that breaks off, which is refused later."""
    delimiter = delimiter_of(lines.file)
    for _, row in lines.rows():
        try:
            yield next(csv.reader([row], delimiter=delimiter))
        except csv.Error:
            continue


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


def blame(lines: Lines, names: list[str], types: dict[str, Any], error: Exception) -> NoReturn:
    """Raise a `ValueError` that names file, line, column and cell of the first fault."""
    pa = arrow()
    delimiter = delimiter_of(lines.file)
    for line, row in lines.rows():
        place = f"{lines.file.name}, line {line}"
        cells = _cells(row, delimiter, place)
        if len(cells) != len(names):
            raise ValueError(
                f"{place}: has {len(cells)} cells where the first row has {len(names)}."
            )
        for name, cell in zip(names, cells):
            known = cell.strip() in MISSING or is_number(cell)
            if types.get(name) == pa.float64() and not known:
                raise _bad_cell(place, name, cell)
    raise ValueError(f"{lines.place} and on: cannot be read ({error}); check the cells.") from None


def _bad_cell(place: str, name: str, cell: str) -> ValueError:
    shown = cell if len(cell) <= 40 else cell[:40] + "..."
    remedy = "drop such rows, or leave the column out with exclude=; encode text before"
    if "," in cell and is_number(cell.replace(",", ".", 1)):
        remedy = "write decimals with a point"
    return ValueError(f"{place}: {shown!r} in column {name!r} must be a number; {remedy}.")
