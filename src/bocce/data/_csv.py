"""CSV: what a file looks like, and its rows by column; what is wrong is named by line and cell.

pyarrow parses (`_fast`); without it, and where it finds a fault, cells are read one by one
(`_plain`), which alone decides what is an error. Tests hold the two together.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ._places import File
from ._text import Lines, line_blocks, text_chunks

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "?")
DELIMITERS = (",", ";", "\t")
LONGEST_CELL = csv.field_size_limit()  # 131,072 characters
Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class CsvDialect:
    """A CSV file's delimiter, the names of its columns, and whether the first row holds them."""

    delimiter: str
    names: list[str]
    header: bool


def look(file: File) -> CsvDialect:
    """Find out by looking at the first rows.

    The delimiter is the one of ``, ; tab`` that cuts the first row into most cells. The first row
    is a header if a cell of it is text where the second row has a number, or if all of it is text.
    """
    rows = _first_rows(file)
    if not rows:
        raise ValueError(f"{file.name}: holds no row of numbers.")
    delimiter = max(DELIMITERS, key=lambda sign: _count(rows[0], sign))
    first, *others = [_cells(row, delimiter, file.name, i) for i, row in enumerate(rows, 1)]
    text = [not is_number(cell) and cell.strip() not in MISSING for cell in first]
    below = [is_number(cell) for cell in others[0]] if others else []
    header = all(text) or any(a and b for a, b in zip(text, below))
    names = [name.strip() for name in first] if header else [f"x{j}" for j in range(len(first))]
    if "" in names:
        raise ValueError(
            f"{file.name}, line 1: column {names.index('') + 1} has no name; give it one, or "
            "remove the delimiter if there is no such column."
        )
    return CsvDialect(delimiter, names, header)


def _first_rows(file: File) -> list[str]:
    for lines in line_blocks(text_chunks(file), file.name):
        text = _decoded(lines.text, file.name, lines.offset).removeprefix("\ufeff")
        if rows := [row.rstrip("\r") for row in text.split("\n") if row.strip()]:
            return rows[:2]
    return []


def _decoded(text: bytes, source: str, offset: int) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source}: not UTF-8 text at byte {offset + error.start}; save it so."
        ) from None


def _count(row: str, delimiter: str) -> int:
    """Of cells; none where one of them would be too long, as all of a long row is by a delimiter
    that is not in it."""
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


def blocks(file: File, seen: CsvDialect) -> Iterator[Lines]:
    """The rows without the header, about a megabyte at a time."""
    todo = seen.header
    for lines in line_blocks(text_chunks(file), file.name):
        text, line, offset = lines
        if offset == 0 and text.startswith(b"\xef\xbb\xbf"):
            text, offset = text[3:], 3
        while todo and text:
            first, _, text = text.partition(b"\n")
            line, offset = line + 1, offset + len(first) + 1
            todo = not first.strip()
        if text.strip():
            yield Lines(text, line, offset)


def columns(lines: Lines, seen: CsvDialect, numbers: list[str], text: str, source: str) -> Columns:
    """Some rows by column: ``numbers`` as float64, NaN where missing, and ``text`` as strings."""
    try:
        found = _fast(lines, seen, numbers, text)
    except ImportError:
        found = None
    return _plain(lines, seen, numbers, text, source) if found is None else found


def _fast(lines: Lines, seen: CsvDialect, numbers: list[str], text: str) -> Columns | None:
    """With pyarrow, or None where it finds a fault: the plain reader says what is an error."""
    import pyarrow as pa
    from pyarrow import csv as reader

    types = dict.fromkeys(numbers, pa.float64()) | ({text: pa.string()} if text else {})
    size = len(lines.text) + 1
    try:
        table = reader.read_csv(
            io.BytesIO(lines.text),
            reader.ReadOptions(column_names=seen.names, use_threads=False, block_size=size),
            reader.ParseOptions(delimiter=seen.delimiter),
            reader.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=list(MISSING),
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        return None
    return {name: table.column(name).to_numpy() for name in types}


def _plain(lines: Lines, seen: CsvDialect, numbers: list[str], text: str, source: str) -> Columns:
    """Cell by cell; raise a `ValueError` that names file, line, column and cell."""
    found: dict[str, list[Any]] = {name: [] for name in [*numbers, *([text] if text else [])]}
    rows = _decoded(lines.text, source, lines.offset).split("\n")
    for line, row in enumerate(rows, lines.line):
        if not row.strip("\r"):
            continue
        cells = _cells(row.rstrip("\r"), seen.delimiter, source, line)
        if len(cells) != len(seen.names):
            raise ValueError(
                f"{source}, line {line}: has {len(cells)} cells where the first row has "
                f"{len(seen.names)}."
            )
        for name, cell in zip(seen.names, cells):
            missing = cell.strip() in MISSING
            if name == text:
                found[name].append(None if missing else cell)
            elif name in found:
                if not missing and not is_number(cell):
                    _refuse_cell(source, line, name, cell)
                found[name].append(math.nan if missing else float(cell))
    kinds = {name: object if name == text else np.float64 for name in found}
    return {name: np.array(cells, dtype=kinds[name]) for name, cells in found.items()}


def row_lines(lines: Lines) -> list[int]:
    """The number of each row's line: blank lines are no rows."""
    texts = lines.text.split(b"\n")
    return [number for number, text in enumerate(texts, lines.line) if text.strip(b"\r")]


def _refuse_cell(source: str, line: int, name: str, cell: str) -> NoReturn:
    shown = cell if len(cell) <= 40 else cell[:40] + "..."
    comma = "," in cell and is_number(cell.replace(",", ".", 1))
    remedy = (
        "write decimals with a point"
        if comma
        else "fill in or drop such rows, encode categories, or leave the column out with columns="
    )
    raise ValueError(
        f"{source}, line {line}: {shown!r} in column {name!r} must be a number; {remedy}."
    )
