"""Rows of any source: in memory if they fit, else as blocks that are read again when asked for."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._direct import read_ahead
from ..._types import Array
from ...blockfile import DEPTH, Block

MOST_LABELS = 100  # more different targets than this are not listed
NO_LIMIT = int(np.iinfo(np.int64).max)  # bytes


class Part(NamedTuple):
    """Some rows of a source."""

    key: Any  # what `Source.rows` takes; None if the part cannot be read alone
    X: Array
    y: Array  # float64, or strings


class Source:
    """One or several files of one format, or a table.

    A key says which rows a part holds. It has ``place`` (words for messages), ``where(row)`` (the
    place of a row), and ``stored()``, the key that reads the rows again later, or None.
    """

    name: str  # for messages
    columns: list[str] | None = None  # names of the columns of X
    target: str | None = None
    text = False  # Is the target text?
    d: int
    dtype: np.dtype[Any]
    limit: int  # bytes of X and y in memory
    encoding: Any = None  # an `Encoding`, or None
    in_threads = False  # Is a part read by one thread alone?

    def keys(self) -> Iterator[Any]:
        raise NotImplementedError

    def rows(self, key: Any) -> Block:
        raise NotImplementedError

    def parts(self) -> Iterator[Part]:
        count = threads() if self.in_threads else 1
        return read_ahead(self._part, self.keys(), count, 1 + count)

    def _part(self, key: Any) -> Part:
        return Part(key.stored(), *self.rows(key))


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
            "file anew in smaller parts."
        )


class Labels:
    """The different targets. Text is counted 0, 1, ... in the order of the alphabet."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def add(self, y: Array) -> None:
        if len(self.seen) <= MOST_LABELS:
            self.seen = set(sorted(self.seen.union(y.tolist()))[: MOST_LABELS + 1])

    @property
    def all(self) -> list[Any] | None:
        return sorted(self.seen) if len(self.seen) <= MOST_LABELS else None

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
        self.n, self.array = 0, np.empty((0, *shape), dtype)

    def add(self, rows: Array) -> None:
        end = self.n + len(rows)
        if end > len(self.array):
            self._resize(max(end, self.n + self.n // 16))
        self.array[self.n : end] = rows
        self.n = end

    def _resize(self, n: int) -> None:
        self.array.resize((n, *self.array.shape[1:]), refcheck=False)

    def whole(self) -> Array:
        self._resize(self.n)
        return self.array


def survey(source: Source, keep: bool = True) -> Block | Parts:
    """Read and check all rows once: keep them while they fit, else only how to read them again."""
    X, kept, fits = Growing(source.dtype, source.d), list[tuple[Any, Array]](), keep
    parts = Parts(source)
    for key, rows, y in source.parts():
        if fits and not _added(X, rows, source.limit):
            fits, end = False, 0
            for old, old_y in kept:
                end += len(old_y)
                parts.add(old, X.array[end - len(old_y) : end], old_y)
            X, kept = Growing(source.dtype, source.d), []
        if fits:
            kept.append((key, y))
        elif len(y):
            parts.add(key, rows, y)
    if not (X.n or parts.counts):
        raise ValueError(f"{source.name}: holds no row; check what was written there.")
    if not fits:
        return parts.sized()
    y = np.concatenate([y for _, y in kept])
    return X.whole(), y.astype(str) if source.text else y


def _added(X: Growing, rows: Array, limit: int) -> bool:
    if (X.n + len(rows)) * (rows.shape[1] * X.array.itemsize + 8) > limit:
        return False
    try:
        X.add(rows)
    except MemoryError:  # under an address limit
        return False
    return True


class Parts:
    """A `bocce.blockfile.Store` of files as they are: a block is a part of a `Source`.

    The checksum of each part is kept, so a file that changes later is noticed.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.path = source, source.name
        self.d, self.dtype, self.depth = source.d, source.dtype, DEPTH
        self.columns, self.target = source.columns, source.target
        self.encoding = source.encoding
        self.keys, self.counts, self.sums = list[Any](), list[int](), list[int]()
        self._labels = Labels()

    def add(self, key: Any, X: Array, y: Array) -> None:
        if key is None:
            raise ValueError(
                f"{self.path}: is larger than memory={self.source.limit} and can only be read from "
                "its beginning; unpack it, raise memory, or write it once with "
                "bocce.data.write_blocks."
            )
        self._labels.add(y)
        self.keys.append(key)
        self.counts.append(len(y))
        self.sums.append(checksum(X, y))

    def sized(self) -> Parts:
        """Finished; refused if two parts do not fit into memory."""
        limit = self.source.limit
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])
        self.classes = self._labels.classes(self.target) if self.source.text else None
        self.labels = self._labels.all
        if self.classes is not None:
            self.labels = [float(code) for code in range(len(self.classes))]
        facts = (self.columns, self.target, self.dtype.name, self.classes, self.counts, self.sums)
        self.identity = hashlib.sha256(repr(facts).encode()).hexdigest()
        most = max(self.counts) * (self.d * self.dtype.itemsize + 8)
        self.depth = min(DEPTH, limit // (2 * most))
        if self.depth < 1:
            raise ValueError(
                f"{self.path}: its largest part needs {most} bytes, more than half of "
                f"memory={limit}; raise memory, or cut the rows into smaller parts with "
                "bocce.data.write_blocks."
            )
        return self

    def read(self, i: int) -> Block:
        key = self.keys[i]
        X, y = self.source.rows(key)
        if len(y) != self.counts[i] or checksum(X, y) != self.sums[i]:
            raise ValueError(
                f"{key.place}: is not what it was when the data were opened; open them again."
            )
        y = y if self.classes is None else codes_of(y, self.classes)
        X.flags.writeable = y.flags.writeable = False
        return X, y


def codes_of(y: Array, classes: list[str]) -> Array:
    codes = {label: float(code) for code, label in enumerate(classes)}
    return np.array([codes[label] for label in y])


def checksum(X: Array, y: Array) -> int:
    targets = "\n".join(y.tolist()).encode() if y.dtype == object else y.tobytes()
    return zlib.crc32(targets, zlib.crc32(np.ascontiguousarray(X).data))
