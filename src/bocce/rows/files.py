"""Rows in files larger than memory, read a part at a time."""

from __future__ import annotations

import errno
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from copy import copy
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._memory import no_memory, read_ahead
from .._types import Array, Index
from .base import Rows, digest
from .dense import Dense

Block = tuple[Array, Array]
PARTS_AHEAD = 6  # parts in memory while streaming: one in use, the others read ahead
DEPTH_BYTES = 1 << 26  # of all parts in memory while streaming, where two of them fit
READERS = 3  # threads that read: two wait for the disk while one converts


class PartReader(Protocol):
    """Who reads the parts: one or several files of one format. It can be pickled."""

    name: str  # for messages
    columns: list[str] | None  # names of the columns of X
    target: str | None
    d: int
    dtype: np.dtype[Any]

    def rows(self, key: Any) -> Block:
        """X and y of a part, in memory of their own; several threads may read at once."""

    def changed(self, key: Any) -> bool | None:
        """Was the file of a part written again? None where nobody can say."""


class Part(NamedTuple):
    """Some consecutive rows: what the reader calls them, how many, and their checksum."""

    key: Any
    rows: int
    checksum: int


class Parts:
    """Rows in files that are read a part at a time; problems take them in place of X and y.

    ``bocce.data.open`` returns this for data larger than memory. A part is a row group of Parquet,
    a record batch of Arrow, or a few megabytes of text or of an array. Batches are whole parts.

    Parameters
    ----------
    reader : PartReader
        What reads a part.
    parts : list of Part
        Where each part is.
    limit : int
        The memory for parts that are read ahead, in bytes.
    labels : list of float
        The different values of y, or None.
    classes : list of str
        The labels of a target that is text, or None.

    Attributes
    ----------
    n, d : int
        The numbers of rows and of columns.
    n_parts : int
        The number of parts.
    dtype : dtype
        The type of X, float32 or float64.
    columns, target : list of str, str
        The names of the features and of the target; None where the format has no names.
    classes : list of str
        The labels of a target that is text, in the order of the alphabet; y then holds 0, 1, ...
        None where the target is numbers.
    labels : list of float
        The different values of y, sorted; None if there are more than 100.

    Examples
    --------
    >>> import tempfile, bocce, numpy as np, pyarrow as pa
    >>> path = tempfile.mkdtemp() + "/rows.arrow"
    >>> table = pa.table({"a": np.arange(6.0), "b": np.ones(6), "y": np.arange(6.0) + 1.0})
    >>> with pa.ipc.new_file(path, table.schema) as file:
    ...     file.write_table(table, max_chunksize=2)
    >>> parts = bocce.data.open(path, memory=100)
    >>> parts.n, parts.d, parts.n_parts, parts.read(2)[1].tolist()
    (6, 2, 3, [5.0, 6.0])
    >>> bocce.LeastSquares(parts).minimiser().round(9)
    array([1., 1.])
    """

    def __init__(
        self,
        reader: PartReader,
        parts: list[Part],
        limit: int,
        labels: list[float] | None,
        classes: list[str] | None,
    ) -> None:
        self.reader = reader
        self.parts = parts
        self.limit = limit
        self.path = reader.name
        self.d = reader.d
        self.dtype = reader.dtype
        self.columns = reader.columns
        self.target = reader.target
        self.starts: Index = np.concatenate([[0], np.cumsum([part.rows for part in parts])])
        self.n = int(self.starts[-1])
        self.n_parts = len(parts)
        self.most_rows = max(part.rows for part in parts)
        self.depth = self._depth()
        self.labels = labels
        self.classes = classes

    def __repr__(self) -> str:
        return f"Parts({self.path!r}, {self.n} x {self.d} {self.dtype}, {self.n_parts} parts)"

    def __iter__(self) -> Iterator[Any]:
        """X and y as problems take them, so that ``X, y = bocce.data.open(...)`` always works."""
        return iter((self, None))

    @property
    def part_bytes(self) -> int:
        """Bytes of the largest part."""
        return self.most_rows * (self.d * self.dtype.itemsize + 8)

    def _depth(self) -> int:
        """How many parts are in memory while streaming; refused if there is no room for one."""
        most = self.part_bytes
        if 2 * most > self.limit:
            raise ValueError(
                f"{self.path}: its largest part needs {most} bytes, more than half of "
                f"memory={self.limit}; raise memory, or write the rows in smaller row groups or "
                "record batches."
            )
        return min(PARTS_AHEAD, self.limit // (2 * most), max(2, DEPTH_BYTES // most))

    @property
    def identity(self) -> str:
        """A hash of all rows."""
        sums = [(part.rows, part.checksum) for part in self.parts]
        facts = (self.columns, self.target, self.dtype.name, self.classes, sums)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def with_classes(self, classes: list[str]) -> Parts:
        """The same rows with codes for more labels: those of other files, too.

        Parameters
        ----------
        classes : list of str
            All labels, in the order of their codes.

        Returns
        -------
        Parts
        """
        other = copy(self)
        other.classes = classes
        other.labels = [float(code) for code in range(len(classes))]
        return other

    def rows(self, i: int) -> int:
        """How many rows a part has.

        Parameters
        ----------
        i : int
            The part.

        Returns
        -------
        int
        """
        return self.parts[i].rows

    def read(self, i: int) -> Block:
        """Read a part.

        Parameters
        ----------
        i : int
            The part.

        Returns
        -------
        tuple of (ndarray, ndarray)
            X and y, read-only.

        Raises
        ------
        ValueError, MemoryError
            If the file has changed since it was opened, or there is no memory for the part.
        """
        if not 0 <= i < self.n_parts:
            raise IndexError(f"Parts: part {i} must be from 0 to {self.n_parts - 1}.")
        try:
            X, y = self._unchanged(self.parts[i])
        except (MemoryError, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.ENOMEM:
                raise
            said = f" ({error})" if str(error) else ""
            place = f"Parts: a part of {self.path!r}{said}"
            raise MemoryError(no_memory(place, self.part_bytes)) from None
        if self.classes is not None:
            y = codes_of(y, self.classes)
        X.flags.writeable = False
        y.flags.writeable = False
        return X, y

    def _unchanged(self, part: Part) -> Block:
        """The rows of a part; its checksum is compared where the file itself cannot be asked."""
        key = part.key
        changed = self.reader.changed(key)
        if not changed:
            X, y = self.reader.rows(key)
            if changed is None:
                changed = checksum(X, y) != part.checksum
            changed = changed or len(y) != part.rows
        if changed:
            raise ValueError(
                f"{key.place}: is not what it was when the data were opened; open them again."
            )
        return X, y

    def stream(self, parts: Iterable[int]) -> Iterator[Block]:
        """Parts, read ahead by threads.

        Close it (``contextlib.closing``) when leaving early, so that the threads end at once.

        Parameters
        ----------
        parts : iterable of int
            Which parts, in which order.

        Returns
        -------
        iterator of tuple of (ndarray, ndarray)
            X and y of each part.
        """
        return read_ahead(self.read, parts, READERS, self.depth)


def codes_of(y: Array, classes: list[str]) -> Array:
    codes = {label: float(code) for code, label in enumerate(classes)}
    return np.fromiter(map(codes.__getitem__, y), np.float64, len(y))


def checksum(X: Array, y: Array) -> int:
    if y.dtype == object:
        targets = "\n".join(y.tolist()).encode()
    else:
        targets = y.tobytes()
    return zlib.crc32(targets, zlib.crc32(X.ravel(order="K").data))


class OffsetParts(Parts):
    """Parts of which one column is no feature but an offset: y holds two columns, the targets and
    the offset."""

    def __init__(self, parts: Parts, column: int) -> None:
        self.__dict__.update(parts.__dict__)
        self.column = column
        self.d = parts.d - 1

    @property
    def identity(self) -> str:
        return f"{super().identity} offset {self.column}"

    def read(self, i: int) -> Block:
        X, y = super().read(i)
        return np.delete(X, self.column, axis=1), np.column_stack([y, X[:, self.column]])


class FileRows(Rows):
    """The rows of files in parts, with a 1 behind each if there is a ``column``.

    Products with all rows read the files once; what they give, n numbers, is kept in memory.
    """

    storage = "file"
    in_parts = True

    def __init__(self, file: Parts, column: bool = False) -> None:
        self.X = file
        self.column = column
        self.n = file.n
        self.d = file.d + column
        self.dtype = file.dtype
        self.starts: Index = file.starts  # the first row of each part, and n

    def like(self, X: Array) -> Rows:
        """Rows of the file that were taken into memory."""
        if self.column:
            return Dense(X).with_column()
        return Dense(X)

    def read(self, parts: Iterable[int] | None = None) -> Iterator[tuple[Array, Array]]:
        """X and y of each part (all, or those named), valid until the next is taken."""
        named = range(self.X.n_parts) if parts is None else parts
        with closing(self.X.stream(named)) as stream:
            yield from stream

    def pieces(self, rows: Index | None = None) -> Iterator[Rows]:
        """All rows, or those named in their order, a part at a time in memory."""
        parts = self.read() if rows is None else self._named(rows)
        for X, _ in parts:
            yield self.like(X)

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        for piece in self.pieces(rows):
            yield from piece.blocks()

    def in_cache(self) -> Iterator[Array]:
        for piece in self.pieces():
            yield from piece.in_cache()

    def times(self, w: Array, rows: Index | None = None) -> Array:
        return np.concatenate([piece.times(w) for piece in self.pieces(rows)])

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        total = np.zeros((self.d, *c.shape[1:]))
        start = 0
        for piece in self.pieces(rows):
            total += piece.combine(c[start : start + piece.n])
            start += piece.n
        return total

    def _named(self, rows: Index) -> Iterator[tuple[Array, Array]]:
        """X and y of the rows named, in their order, a part at a time."""
        home = np.searchsorted(self.starts[:-1], rows, side="right") - 1
        ends = np.flatnonzero(np.diff(home, append=-1)) + 1
        first = 0
        for end, (X, y) in zip(ends.tolist(), self.read(home[ends - 1])):
            local = rows[first:end] - self.starts[home[first]]
            yield X[local], y[local]
            first = end

    def targets(self, rows: Index | None = None) -> Array:
        """y of all rows, or those named, as stored."""
        if rows is None:
            parts = self.read()
        else:
            parts = self._named(rows)
        return np.concatenate([y.copy() for _, y in parts])

    def take(self, rows: Index) -> Rows:
        return self.like(np.concatenate([X for X, _ in self._named(rows)]))

    def with_column(self) -> FileRows:
        return FileRows(self.X, column=True)

    def standardized(self, centre: Array, scale: Array) -> FileRows:
        return ScaledFile(self.X, centre, scale)

    def fingerprint(self) -> str:
        return str(self.X.identity)


class ScaledFile(FileRows):
    """The rows (x - centre) * scale of a file, computed whenever a part is read."""

    def __init__(self, file: Parts, centre: Array, scale: Array, column: bool = False) -> None:
        super().__init__(file, column)
        self.centre = centre
        self.scale = scale

    def read(self, parts: Iterable[int] | None = None) -> Iterator[tuple[Array, Array]]:
        for X, y in super().read(parts):
            scaled = (X - self.centre) * self.scale
            yield scaled.astype(self.dtype, copy=False), y

    def with_column(self) -> ScaledFile:
        return ScaledFile(self.X, self.centre, self.scale, column=True)

    def fingerprint(self) -> str:
        return f"{super().fingerprint()} {digest(self.centre, self.scale)}"
