"""LIBSVM text: whole as a CSR matrix, or as dense parts where it is larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ._columns import Choice
from ._formats import Part, check_size
from ._places import File
from ._svmlight import ParsedRows, parse
from ._text import Lines, line_blocks, suffix_of, text_chunks
from .synthetic import FloatArray

DENSE_ROW = 1 << 26  # bytes: more columns than that are not stored dense
Matrix = tuple[sparse.csr_array, FloatArray]


def parsed_rows(chunks: Iterable[bytes], source: str) -> Iterator[ParsedRows]:
    """The rows of LIBSVM text, piece by piece; pieces may end anywhere in a line."""
    for lines in line_blocks(chunks, source):
        yield parse(lines.text, source, lines.line)


def libsvm_table(parts: Iterable[ParsedRows], source: str) -> Matrix:
    """CSR features and labels."""
    labels, counts, indices, values = (np.concatenate(column) for column in zip(*parts))
    if labels.size == 0:
        raise ValueError(f"{source}: holds no row; expected lines of label index:value ...")
    if indices.size == 0:
        raise ValueError(f"{source}: holds no feature; expected lines of label index:value ...")
    base = 0 if indices.min() == 0 else 1
    width = np.int32 if indices.size < 2**31 else np.int64  # one type for both, as SciPy wants
    indices = (indices - base).astype(width)
    return _csr(ParsedRows(labels, counts, indices, values), int(indices.max()) + 1), labels


def _csr(rows: ParsedRows, d: int) -> sparse.csr_array:
    indptr = np.concatenate([[0], np.cumsum(rows.counts)]).astype(rows.indices.dtype)
    return sparse.csr_array((rows.values, rows.indices, indptr), shape=(rows.labels.size, d))


def sparse_rows(files: list[File], limit: int) -> Matrix | LibsvmRows:
    """The files as one matrix if it fits into ``limit`` bytes, else a source of dense parts."""
    kept: list[ParsedRows] | None = []
    lowest, highest, size = 1, -1, 0
    for file in files:
        for rows in parsed_rows(text_chunks(file), file.name):
            # while the pieces are joined there are two of each
            size += 2 * (16 * rows.indices.size + 16 * rows.labels.size)
            if kept is not None:
                kept.append(rows)
            if size > limit:
                kept = None
            if rows.indices.size:
                lowest = min(lowest, int(rows.indices.min()))
                highest = max(highest, int(rows.indices.max()))
    if kept is not None:
        return libsvm_table(kept, files[0].name)
    base = 0 if lowest == 0 else 1
    return LibsvmRows(files, base, highest + 1 - base, limit)


class LibsvmRows:
    """LIBSVM text whose width is known, as dense rows: a part is about a megabyte of text."""

    def __init__(self, files: list[File], base: int, d: int, limit: int) -> None:
        self.name, self.files, self.base, self.d = files[0].name, files, base, d
        self.limit = limit
        self.choice = Choice(["x"], "y", dtype=np.dtype(np.float64))
        if not 0 < 8 * d <= DENSE_ROW:
            raise ValueError(
                f"{self.name}: has {d} columns, must have from 1 to {DENSE_ROW // 8} to be read in "
                "dense parts; raise memory, or drop the columns that are hardly used."
            )

    def matrices(self) -> Iterator[Matrix]:
        """The same rows as they are written: sparse."""
        for file in self.files:
            for rows in parsed_rows(text_chunks(file), file.name):
                if rows.labels.size:
                    yield self._matrix(rows), rows.labels

    def _matrix(self, rows: ParsedRows) -> sparse.csr_array:
        return _csr(rows._replace(indices=rows.indices - self.base), self.d)

    def parts(self) -> Iterator[Part]:
        for number, file in enumerate(self.files):
            alone = not suffix_of(file.name)  # what is compressed is read from its beginning
            for lines in line_blocks(text_chunks(file), file.name):
                rows = parse(lines.text, file.name, lines.line)
                if rows.labels.size:
                    key = (number, lines.offset, len(lines.text), lines.line) if alone else None
                    yield self._part(key, number, rows, lines.line)

    def again(self, key: Any) -> Part:
        number, offset, length, line = key
        with self.files[number].open() as stream:
            stream.seek(offset)
            lines = Lines(stream.read(length), line, offset)
        return self._part(key, number, parse(lines.text, self.files[number].name, line), line)

    def _part(self, key: Any, number: int, rows: ParsedRows, line: int) -> Part:
        name = self.files[number].name
        check_size(f"{name}, line {line} and on", 8 * rows.labels.size * (self.d + 1), self.limit)
        columns = {"x": self._matrix(rows).toarray(), "y": rows.labels}
        return Part(key, columns, partial(_after, name, line))


def _after(name: str, line: int, row: int) -> str:
    return f"{name}, row {row} after line {line}"
