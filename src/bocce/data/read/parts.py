"""Rows of any source: in memory if they fit, else in parts that are read again for each pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._memory import read_ahead
from ..._types import Array
from ...rows import Parts
from ...rows.files import Block, Part, checksum
from .paths import File, Stamp

MOST_LABELS = 100  # more different targets than this are not listed
NO_LIMIT = int(np.iinfo(np.int64).max)  # bytes


class Source:
    """One or several files of one format, or a table.

    A key says which rows a part holds. It has ``place`` (words for messages), ``where(row)`` (the
    place of a row), and ``stored()``, the key that reads the rows again later, or None.
    """

    name: str  # for messages
    files: list[File] | None = None  # None where parts are not of local files
    columns: list[str] | None = None  # names of the columns of X
    target: str | None = None
    text = False  # Is the target text?
    d: int
    dtype: np.dtype[Any]
    limit: int  # bytes of X and y in memory
    in_threads = False  # Is a part read by one thread alone?
    stamps: dict[str, Stamp] | None = None  # of the files, when their rows were checked

    def keys(self) -> Iterator[Any]:
        raise NotImplementedError

    def known_bytes(self) -> int | None:
        """Bytes of X and y, where the files say so before any row is read."""
        return None

    def rows(self, key: Any) -> Block:
        """X and y of a part; y is float64, or strings."""
        raise NotImplementedError

    def checked(self, key: Any) -> Block:
        """The same, every number finite; or an error that names the place of the first that is
        not."""
        return self.rows(key)

    def parts(self) -> Iterator[tuple[Any, Block]]:
        """Each key, as it is stored, with its rows; checked."""
        if self.files is not None:
            self.stamps = {file.path: file.stamp() for file in self.files}
        count = threads() if self.in_threads else 1
        return read_ahead(self._part, self.keys(), count, 1 + count)

    def _part(self, key: Any) -> tuple[Any, Block]:
        return key.stored(), self.checked(key)

    def file_of(self, key: Any) -> File | None:
        """The local file of a part."""
        return None

    def changed(self, key: Any) -> bool | None:
        file = self.file_of(key)
        if file is None or self.stamps is None:
            return None
        return file.stamp() != self.stamps[file.path]


def threads() -> int:
    """Threads that parse, as many as pyarrow takes: OMP_NUM_THREADS, or the processors."""
    try:
        import pyarrow
    except ImportError:
        return 1
    return int(pyarrow.cpu_count())


def check_size(place: str, needed: int, limit: int) -> None:
    if needed > limit:
        raise ValueError(
            f"{place}: needs {needed} bytes, more than memory={limit}; raise memory, or write the "
            "file again in smaller parts."
        )


class Labels:
    """The different targets."""

    def __init__(self) -> None:
        self.found: set[Any] = set()

    def add(self, y: Array) -> None:
        if len(self.found) <= MOST_LABELS:
            self.found = set(sorted(self.found.union(y.tolist()))[: MOST_LABELS + 1])

    @property
    def all(self) -> list[Any] | None:
        if len(self.found) <= MOST_LABELS:
            return sorted(self.found)
        return None

    def classes(self, target: str | None) -> list[str]:
        if self.all is None:
            raise ValueError(
                f"open: the target {target!r} is text with more than {MOST_LABELS} different "
                "values, must be numbers or a few labels; name another with target=."
            )
        return self.all


class Growing:
    """An array that grows at its end, in place: the system moves pages, not bytes."""

    def __init__(self, dtype: Any, *shape: int) -> None:
        self.n = 0
        self.array = np.empty((0, *shape), dtype)

    def add(self, rows: Array) -> None:
        end = self.n + len(rows)
        if end > len(self.array):
            self._resize(max(end, self.n + self.n // 16))
        self.array[self.n : end] = rows
        self.n = end

    def _resize(self, n: int) -> None:
        self.array.resize((n, *self.array.shape[1:]), refcheck=False)

    def trimmed(self) -> Array:
        self._resize(self.n)
        return self.array


class PartsSurvey:
    """Parts as they are read for the first time."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.parts = list[Part]()
        self.labels = Labels()

    def add(self, key: Any, X: Array, y: Array) -> None:
        if key is None:
            raise ValueError(
                f"{self.source.name}: is larger than memory={self.source.limit} and can only be "
                "read from its beginning; unpack it, raise memory, or write it once as Parquet."
            )
        self.labels.add(y)
        self.parts.append(Part(key, len(y), checksum(X, y)))

    def finished(self) -> Parts:
        labels = self.labels.all
        classes = None
        if self.source.text:
            classes = self.labels.classes(self.source.target)
            labels = [float(code) for code in range(len(classes))]
        return Parts(self.source, self.parts, self.source.limit, labels, classes)


def survey(source: Source) -> Block | Parts:
    """Read and check all rows: in memory if they fit, else in parts."""
    expected = source.known_bytes()
    if expected is not None and expected > source.limit:
        return in_parts(source)
    X = Growing(source.dtype, source.d)
    y = list[Array]()
    for _, (rows, targets) in source.parts():
        if not _added(X, rows, source.limit):
            del X
            return in_parts(source)
        y.append(targets)
    _some_rows(source, X.n)
    labels = np.concatenate(y)
    return X.trimmed(), labels.astype(str) if source.text else labels


def in_parts(source: Source) -> Parts:
    """Read and check all rows, and keep only how to read them again."""
    found = PartsSurvey(source)
    for key, (X, y) in source.parts():
        if len(y):
            found.add(key, X, y)
    _some_rows(source, len(found.parts))
    return found.finished()


def _some_rows(source: Source, count: int) -> None:
    if count == 0:
        raise ValueError(f"{source.name}: holds no row; check what was written there.")


def _added(X: Growing, rows: Array, limit: int) -> bool:
    if (X.n + len(rows)) * (rows.shape[1] * X.array.itemsize + 8) > limit:
        return False
    try:
        X.add(rows)
    except MemoryError:  # under an address limit
        return False
    return True
