"""LIBSVM text, ``label index:value ...`` a row: a CSR matrix, or dense parts beyond memory.

`parse_fast` reads a whole chunk with array operations; `parse_plain` reads it line by line, and
says what is wrong where. The fast one hands over whenever anything looks unusual, so the plain one
alone decides what is an error; tests hold the two together. scikit-learn's loader is not used: it
is slower, names no line, and lets NaN and infinity pass (``benchmarks/studies/libsvm_text.py``).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from ..._memory import read_ahead
from ..._types import Array
from ...rows.files import Block, Parts
from .columns import ReadOptions
from .parts import NO_LIMIT, Growing, Source, check_size, in_parts, threads
from .paths import File
from .text import Lines, chunk_for, line_blocks, text_chunks

Matrix = tuple[sparse.csr_array, Array]

LARGEST_INDEX = 2**31 - 2  # what a 32-bit column number of a CSR matrix can hold
DENSE_ROW = 1 << 26  # bytes: rows with more are not stored dense
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMENT = re.compile(rb"#[^\n]*")
_QUERY = re.compile(rb"(?m)^([ \t]*[^\s:]+[ \t]+)qid:\d+(?=\s|\Z)")  # of ranking files: not used
_SPACES = b" \t\n\r\v\f"
_IS_SPACE = np.zeros(256, dtype=bool)
_IS_SPACE[list(_SPACES)] = True
_APART = bytes.maketrans(b":" + _SPACES, b"\n" * 7)  # every number on a line of its own


class ParsedRows(NamedTuple):
    """Consecutive rows: a label each, how many features each, and these features in order."""

    labels: Array
    counts: Array
    indices: Array  # as written: only all rows together say whether they count from 0 or 1
    values: Array

    def matrix(self, base: int, d: int) -> sparse.csr_array:
        ends = np.concatenate([[0], np.cumsum(self.counts)])
        width = np.int32 if ends[-1] < 2**31 else np.int64  # one type for both, as SciPy wants
        indices = self.indices.astype(width, copy=False)
        np.subtract(indices, base, out=indices)
        triple = self.values, indices, ends.astype(width)
        return sparse.csr_array(triple, shape=(len(self.labels), d))


def parse(lines: Lines) -> ParsedRows:
    text = lines.read()
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if b"qid:" in text:
        text = _QUERY.sub(rb"\1", text)
    rows = parse_fast(text)
    if rows is None:
        return parse_plain(text, lines.file.name, lines.line)
    return rows


# -- line by line ----------------------------------------------------------------------------------


def parse_plain(text: bytes, source: str, first_line: int) -> ParsedRows:
    """Parse line by line; raise a `ValueError` that names file, line and token."""
    labels = list[float]()
    counts = list[int]()
    indices = list[int]()
    values = list[float]()
    for number, line in enumerate(text.split(b"\n"), first_line):
        tokens = line.split()
        if not tokens:
            continue
        place = f"{source}, line {number}"
        labels.append(_number(tokens[0], place, "the label"))
        counts.append(len(tokens) - 1)
        before = -1
        for token in tokens[1:]:
            index, colon, value = token.partition(b":")
            if not (colon and index.isdigit()):
                _refuse(place, token, "must be index:value with a whole index >= 0")
            if int(index) > LARGEST_INDEX:
                _refuse(place, token, f"has an index above {LARGEST_INDEX}")
            if int(index) <= before:
                if int(index) == before:
                    fault = "repeats index"
                else:
                    fault = "comes after index"
                _refuse(place, token, f"{fault} {before}: indices must increase within a line")
            before = int(index)
            indices.append(before)
            values.append(_number(value, place, "the value", token))
    kinds = (labels, float), (counts, np.int64), (indices, np.int32), (values, float)
    return ParsedRows(*(np.array(found, kind) for found, kind in kinds))


def _number(text: bytes, place: str, what: str, token: bytes | None = None) -> float:
    shown = text if token is None else token
    if not _NUMBER.fullmatch(text):
        if b"," in text:
            hint = "; name the file .csv if it holds a table with commas"
        else:
            hint = ""
        _refuse(place, shown, f"{what} must be a finite decimal number{hint}")
    number = float(text)
    if not np.isfinite(number):
        _refuse(place, shown, f"{what} is too large for a float64")
    return number


def _refuse(place: str, token: bytes, rule: str) -> NoReturn:
    shown = token[:40].decode("utf-8", "backslashreplace") + ("..." if len(token) > 40 else "")
    raise ValueError(f"{place}: {shown!r}: {rule}.")


# -- a chunk at once -------------------------------------------------------------------------------


def parse_fast(text: bytes) -> ParsedRows | None:
    """The same rows as `parse_plain`, or None where something is unusual."""
    text = b"\n" + text + b"\n\n"
    characters = np.frombuffer(text, np.uint8)
    marks = np.flatnonzero(characters - np.uint8(ord("0")) > 9)  # the bytes that are no digits
    mark = characters[marks]
    space = _IS_SPACE[characters[marks]]
    begins = np.flatnonzero(space[:-1] & ~_IS_SPACE[characters[marks[:-1] + 1]])  # of words
    if begins.size == 0:
        return parse_plain(b"", "", 1)
    line = np.cumsum(mark == ord("\n"))[begins]
    is_label = np.append(True, line[1:] > line[:-1])
    # An index is digits alone, and its value follows the colon; no other colon is there.
    colon = (mark[begins + 1] == ord(":")) & (marks[begins + 1] > marks[begins] + 1)
    colon &= ~_IS_SPACE[characters[marks[begins + 1] + 1]]
    if (colon == is_label).any() or np.count_nonzero(mark == ord(":")) != colon.sum():
        return None
    numbers = _numbers(text.translate(_APART))
    ends = np.cumsum(np.where(is_label, 1, 2))
    if numbers is None or len(numbers) != ends[-1] or not np.isfinite(numbers).all():
        return None
    indices = numbers[ends[~is_label] - 2]
    rises = np.append(True, indices[1:] > indices[:-1]) | is_label[:-1][~is_label[1:]]
    if not rises.all() or (indices > LARGEST_INDEX).any():
        return None
    counts = np.diff(np.append(np.flatnonzero(is_label), begins.size)) - 1
    values = numbers[ends[~is_label] - 1]
    return ParsedRows(numbers[ends[is_label] - 1], counts, indices.astype(np.int32), values)


def _numbers(text: bytes) -> Array | None:
    """The numbers of a text, one a line, or None: by pyarrow, else by NumPy, which takes longer."""
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return np.fromstring(text, sep="\n")
            except (DeprecationWarning, ValueError):
                return None
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=["x"], use_threads=False, block_size=len(text)),
            csv.ParseOptions(quote_char=False),
            csv.ConvertOptions(column_types={"x": pa.float64()}, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    return np.from_dlpack(table.column("x").combine_chunks())


# -- files -----------------------------------------------------------------------------------------


def libsvm_lines(files: list[File], limit: int = NO_LIMIT) -> Iterator[Lines]:
    """Smaller pieces than of CSV, for the arrays of `parse_fast` take 20 times the text."""
    for file in files:
        yield from line_blocks(text_chunks(file, max(1, chunk_for(limit) // 4)), file)


def gather(
    lines: Iterable[Lines], name: str, limit: int = NO_LIMIT, dtype: Any = None
) -> tuple[Matrix | None, int, int]:
    """All rows as one matrix, or None beyond ``limit`` bytes; the smallest index, and the width."""
    arrays = [Growing(kind) for kind in (np.float64, np.int64, np.int32, np.float64)]
    lowest = 1
    highest = -1
    fits = True
    for rows in read_ahead(parse, lines, threads(), 1 + threads()):
        if rows.indices.size:
            lowest = min(lowest, int(rows.indices.min()))
            highest = max(highest, int(rows.indices.max()))
        taken = sum(array.array.nbytes for array in arrays)
        fits = fits and taken + sum(array.nbytes for array in rows) <= limit
        for array, new in zip(arrays, rows if fits else ()):
            array.add(new)
    d = highest + 1 - lowest
    if not fits:
        return None, lowest, d
    rows = ParsedRows(*(array.trimmed() for array in arrays))
    for what, found in (("row", rows.labels), ("feature", rows.indices)):
        if not found.size:
            raise ValueError(f"{name}: holds no {what}; expected lines of label index:value ...")
    X = rows.matrix(lowest, d)
    return (X if dtype is None else X.astype(dtype, copy=False), rows.labels), lowest, d


def read_libsvm(files: list[File], options: ReadOptions) -> Matrix | Parts:
    """The files as one matrix if it fits into memory, else in dense parts."""
    limit = options.limit
    matrix, base, d = gather(libsvm_lines(files), files[0].name, limit, options.dtype)
    return matrix or in_parts(Libsvm(files, base, d, limit, options.dtype))


def libsvm_source(files: list[File], options: ReadOptions) -> Libsvm:
    """The files as dense parts, however small they are."""
    nothing = gather(libsvm_lines(files), files[0].name, 0)
    return Libsvm(files, nothing[1], nothing[2], options.limit, options.dtype)


class Libsvm(Source):
    """LIBSVM text whose width is known, as dense rows: a part is a few megabytes of text."""

    in_threads = True
    files: list[File]

    def __init__(self, files: list[File], base: int, d: int, limit: int, dtype: Any) -> None:
        self.name = files[0].name
        self.files = files
        self.base = base
        self.d = d
        self.limit = limit
        self.dtype = np.dtype(dtype or np.float64)
        if not 0 < 8 * d <= DENSE_ROW:
            raise ValueError(
                f"{self.name}: has {d} columns, must have from 1 to {DENSE_ROW // 8} to be read in "
                "dense parts; raise memory, or drop the columns that are hardly used."
            )

    def keys(self) -> Iterator[Lines]:
        return libsvm_lines(self.files, self.limit)

    def file_of(self, key: Lines) -> File | None:
        return key.file

    def rows(self, key: Lines) -> Block:
        found = parse(key)
        needed = 8 * found.labels.size * (self.d + 1)
        check_size(f"{key.place} and on", needed, self.limit)
        X = found.matrix(self.base, self.d).toarray()
        return X.astype(self.dtype, copy=False), found.labels
