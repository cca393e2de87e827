"""Data larger than memory, as they lie: one pass that checks all, then any part at any time."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from .._layout import Block
from ..blockfile import DEPTH
from ._columns import Chunk, rows
from ._formats import Source

Array = npt.NDArray[Any]
MOST_LABELS = 100  # of a target with more different values they are not kept


class Labels:
    """The different targets; text is counted 0, 1, ... in the order of the alphabet at the end."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def add(self, y: Array) -> None:
        if len(self.seen) <= MOST_LABELS:
            new = set(y.tolist() if y.dtype == object else np.unique(y)[: MOST_LABELS + 1].tolist())
            self.seen = set(sorted(self.seen | new)[: MOST_LABELS + 1])

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


class Memory:
    """X and y as they grow, until they are more than the limit; then nothing is kept."""

    def __init__(self, limit: int) -> None:
        self.limit, self.n = limit, 0
        self.X: Array | None = None
        self.y: list[Array] = []

    @property
    def full(self) -> bool:
        return self.n < 0

    def add(self, found: Chunk) -> None:
        if self.full:
            return
        count, d = found.X.shape
        if self.X is None:
            self.X = np.empty((0, d), found.X.dtype)
        if (self.n + count) * (d * self.X.itemsize + 8) > self.limit:
            self.X, self.y, self.n = None, [], -1
            return
        if self.n + count > len(self.X):  # in place: the system moves pages, not bytes
            self.X.resize((max(self.n + count, len(self.X) * 3 // 2), d), refcheck=False)
        self.X[self.n : self.n + count] = found.X
        self.y.append(found.y)
        self.n += count

    def arrays(self) -> tuple[Array, Array]:
        assert self.X is not None
        self.X.resize((self.n, self.X.shape[1]), refcheck=False)
        y = np.concatenate(self.y)
        return self.X, y.astype(str) if y.dtype == object else y


class Parts:
    """A `bocce.blockfile.Store` of somebody's files: a block is a part of a `Source`.

    A part's checksum is that of the first pass, so a file that changes afterwards is noticed.
    """

    def __init__(
        self, source: Source, keys: list[Any], counts: list[int], sums: list[int], labels: Labels
    ) -> None:
        self.source, self.keys, self.sums = source, keys, sums
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        choice = source.choice
        self.path = source.name
        self.columns: list[str] | None = choice.features
        self.target: str | None = choice.target
        self.dtype = choice.dtype or np.dtype(np.float64)
        self.classes = labels.classes(choice.target) if choice.text else None
        found = labels.all
        if self.classes is not None:
            found = [float(code) for code in range(len(self.classes))]
        self.labels = found
        facts = repr((choice.names, self.dtype.name, self.classes, counts, sums))
        self.identity = hashlib.sha256(facts.encode()).hexdigest()
        self.d, self.depth = 0, DEPTH  # known once a part was seen

    def sized(self, d: int, limit: int) -> Parts:
        """With so many columns; or refused, if two parts do not fit into memory."""
        most = int(np.diff(self.starts).max()) * (d * self.dtype.itemsize + 8)
        self.d, self.depth = d, min(DEPTH, limit // (2 * most))
        if self.depth < 1:
            raise ValueError(
                f"{self.path}: its largest part needs {most} bytes, more than half of "
                f"memory={limit}; raise memory, or cut the rows into smaller parts with "
                "bocce.data.write_blocks."
            )
        return self

    def buffer(self) -> Array:
        return np.empty((int(np.diff(self.starts).max()), self.d), self.dtype)

    def fill(self, i: int, buffer: Array) -> Block:
        part = self.source.again(self.keys[i])
        fresh = len(part.columns[self.source.choice.target]) > len(buffer)  # rows were dropped
        X, y = rows(part.columns, self.source.choice, part.where, None if fresh else buffer)
        if len(y) != self.starts[i + 1] - self.starts[i] or checksum(X, y) != self.sums[i]:
            raise ValueError(
                f"{part.where(0)}: is not what it was when the data were opened; open them again."
            )
        if self.classes is not None:
            codes = {label: float(code) for code, label in enumerate(self.classes)}
            y = np.array([codes[label] for label in y])
        X.flags.writeable = y.flags.writeable = False
        return X, y


def checksum(X: Array, y: Array) -> int:
    targets = "\n".join(y.tolist()).encode() if y.dtype == object else y.tobytes()
    return zlib.crc32(targets, zlib.crc32(np.ascontiguousarray(X).data))


def survey(source: Source, limit: int, keep: bool = True) -> tuple[Memory, Parts | None]:
    """One pass over all parts: rows in memory while they fit, checks and checksums of all."""
    kept, labels = Memory(limit if keep else 0), Labels()
    keys: list[Any] = []
    counts: list[int] = []
    sums: list[int] = []
    d = 0
    for part in source.parts():
        found = rows(part.columns, source.choice, part.where)
        if not len(found.y):
            continue
        kept.add(found)
        if kept.full and part.key is None:
            raise _one_way(source, limit)
        labels.add(found.y)
        d = found.X.shape[1]
        keys.append(part.key)
        counts.append(len(found.y))
        sums.append(checksum(*found))
    if not counts:
        raise ValueError(f"{source.name}: holds no row; check what was written there.")
    if not kept.full:
        return kept, None
    if None in keys:
        raise _one_way(source, limit)
    return kept, Parts(source, keys, counts, sums, labels).sized(d, limit)


def _one_way(source: Source, limit: int) -> ValueError:
    return ValueError(
        f"{source.name}: is larger than memory={limit} and can only be read from its beginning; "
        "unpack it, raise memory, or write it once with bocce.data.write_blocks."
    )
