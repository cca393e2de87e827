"""Writing a block file: rows shuffled once, on disk, in bounded memory."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ... import _checks, sampling
from ..._atomic import atomic_write
from ..._direct import PAGE
from ..._extras import arrow
from ..._types import Array
from ...blockfile import ENTRY, BlockFile, Layout, schema, table_metadata
from ..read.parts import Labels, codes_of
from .chunks import WHERE, ChunkReader
from .shuffle import Buckets, keyed, record

BLOCK_BYTES = 1 << 20
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Progress = Callable[[str, int, int | None], Any]


def write_blocks(
    path: str | os.PathLike[str],
    chunks: Any,
    block_rows: int | None = None,
    seed: int = 0,
    *,
    target: str | int | None = None,
    columns: Any = None,
    dtype: str | None = None,
    missing: str = "refuse",
    progress: Progress | None = None,
) -> BlockFile:
    """Shuffle rows once and write them as a block file, an Arrow IPC file of record batches.

    Row i gets the 64-bit key number i of a stream keyed by ``seed``, and the file holds the rows in
    the order of their keys. The keys are all different, so this is a uniformly random order, a
    function of (seed, the rows) alone: not of how they were cut into chunks, nor of memory. Rows
    go to 64 temporary files by the leading bits of the key, and each of these is sorted in memory
    (one that is too large is divided again). So memory stays below about 1 GiB and disk below twice
    the file, whatever n.

    The file appears under its name only when it is whole and on disk; a link of that name is
    replaced, not followed. Of two that write the same file at the same time, the last one to finish
    wins whole. Temporary files have no names, so a crash leaves none of them behind.

    Parameters
    ----------
    path : str or path
        The file to write, in an existing folder.
    chunks : iterable, path or table
        An iterable of (X, y), with X dense or sparse (stored dense); or paths or tables as
        ``bocce.data.open`` takes them; or one of these.
    block_rows : int, optional
        The most rows of a block. By default a block is about a megabyte, and there are at least 64
        blocks where n allows. The sizes of blocks differ by at most one row.
    seed : int, default 0
        The seed of the shuffle.
    target : str or int, optional
        The column of the target in files and tables, as in ``bocce.data.open``.
    columns : list of str or int, optional
        The columns of the features in files and tables, as in ``bocce.data.open``.
    dtype : {"float32", "float64"}, optional
        The type of X (y is float64); by default the type of the first chunk.
    missing : {"refuse", "drop"}, default "refuse"
        What to do with rows that have a missing value, as in ``bocce.data.open``.
    progress : callable, optional
        Called with (stage, rows done, rows in all or None); stage is "read" or "write".

    Returns
    -------
    BlockFile
        The file, opened.

    Raises
    ------
    ValueError
        If the folder does not exist, or the data cannot be used, see ``open``.
    OSError
        If the disk is full; nothing is left behind.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> path = tempfile.mkdtemp() + "/rows.arrow"
    >>> halves = ((np.full((50, 2), half), np.full(50, half)) for half in (0.0, 1.0))
    >>> file = write_blocks(path, halves, block_rows=10)
    >>> file.n, file.n_blocks, bool(0.1 < file.read(0)[1].mean() < 0.9)
    (100, 10, True)
    """
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(
            f"{WHERE}: path={str(path)!r} must be a file in an existing folder; create the folder "
            "first."
        )
    if block_rows is not None:
        block_rows = _checks.integer(WHERE, "block_rows", block_rows, remedy="or None")
    seed = sampling.check_seed(WHERE, seed)
    _checks.choice(WHERE, "missing", missing, ["refuse", "drop"])
    kind = None if dtype is None else _checks.choice(WHERE, "dtype", dtype, ["float32", "float64"])
    arrow()  # or the remedy, before any work
    chunks = ChunkReader(chunks, None if kind is None else np.dtype(kind), target, columns, missing)
    tell = progress or (lambda stage, done, total: None)
    try:
        with Buckets(path.parent) as buckets:
            rows = _dealt_out(chunks, buckets, seed, tell)
            _written(path, chunks, rows, buckets, block_rows, seed, tell)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise OSError(
            error.errno,
            f"{WHERE}: there is no room left for {str(path)!r} ({os.strerror(error.errno)}); free "
            "some and call again",
        ) from error
    return BlockFile(path)


class _Dealt:
    """What is known of the rows when all have been read: their number, record type and labels."""

    def __init__(self) -> None:
        self.n, self.kind, self.labels = 0, np.dtype("V1"), Labels()
        self.names: list[str] = []  # of text labels, in the order in which they came

    def encoded(self, y: Array, target: str | None) -> Array:
        """Targets as numbers: text is counted in the order in which it comes."""
        text = y.dtype == object
        if self.n and text != bool(self.names):
            raise ValueError(f"{WHERE}: y is text in some chunks and numbers in others.")
        self.labels.add(y)
        if not text:
            return y
        self.labels.classes(target)  # or too many
        self.names += [name for name in dict.fromkeys(y) if name not in self.names]
        return codes_of(y, self.names)

    def sorted_codes(self, y: Array) -> Array:
        """The same in the order of the alphabet."""
        if not self.names:
            return y
        places = [sorted(self.names).index(name) for name in self.names]
        return np.array(places, np.float64)[y.astype(np.int64)]


def _dealt_out(chunks: ChunkReader, buckets: Buckets, seed: int, tell: Progress) -> _Dealt:
    found = _Dealt()
    for X, y in chunks:
        if len(y):
            records = keyed(X, found.encoded(y, chunks.target), seed, found.n)
            found.n, found.kind = found.n + len(y), records.dtype
            buckets.add(records)
            tell("read", found.n, None)
    if not found.n:
        raise ValueError(f"{WHERE}: chunks hold no row, must hold at least one.")
    return found


def _written(
    path: Path,
    chunks: ChunkReader,
    rows: _Dealt,
    buckets: Buckets,
    block_rows: int | None,
    seed: int,
    tell: Progress,
) -> None:
    x = rows.kind["x"]
    n, d, kind = rows.n, x.shape[0], x.base.name
    classes = sorted(rows.names) or None
    facts = {
        "labels": [float(code) for code in range(len(classes))] if classes else rows.labels.all,
        "seed": seed,
        "columns": chunks.columns,
        "target": chunks.target,
        "classes": classes,
    }
    with atomic_write(path) as file:
        writer = _Writer(file, Layout(n, d, kind, _block_count(n, d, kind, block_rows)), facts)
        for records in buckets.in_order(record(d, kind)):
            writer.append(records["x"], rows.sorted_codes(records["y"]))
            tell("write", writer.placed, n)
        writer.finish()
    _settle_folder(path.parent)


def _block_count(n: int, d: int, kind: str, block_rows: int | None) -> int:
    if block_rows is None:
        size = d * np.dtype(kind).itemsize + 8
        least, most = max(1, PAGE // size), max(1, BLOCK_BYTES // size)
        block_rows = min(most, max(least, -(-n // 64)))
    return -(-n // block_rows)


class _Writer:
    """Gathers rows into blocks, writes each as a record batch, and keeps its checksums."""

    def __init__(self, file: Any, layout: Layout, facts: dict[str, Any]) -> None:
        self.file, self.layout, self.schema = file, layout, schema(layout, facts)
        self.writer = arrow().ipc.new_file(self.file, self.schema)
        self.table = np.zeros(layout.blocks, ENTRY)
        self.placed = self.block = 0
        self._start()

    def _start(self) -> None:
        rows = self.layout.rows(self.block) if self.block < self.layout.blocks else 0
        self.X = np.empty((rows, self.layout.d), self.layout.dtype)
        self.y = np.empty(rows)
        self.filled = 0

    def append(self, X: Array, y: Array) -> None:
        done = 0
        while done < len(y):
            count = min(len(self.y) - self.filled, len(y) - done)
            here, there = slice(self.filled, self.filled + count), slice(done, done + count)
            self.X[here], self.y[here] = X[there], y[there]
            self.filled, done, self.placed = self.filled + count, done + count, self.placed + count
            if self.filled == len(self.y):
                self._flush()

    def _flush(self) -> None:
        pa = arrow()
        batch = _batch(pa, self.X, self.y, self.schema)
        self.writer.write_batch(batch)
        length = pa.ipc.get_record_batch_size(batch)
        begin = self.file.tell() - length  # before the first one there is the schema
        self.table[self.block] = begin, length, zlib.crc32(self.X.data), zlib.crc32(self.y.data)
        self.block += 1
        self._start()

    def finish(self) -> None:
        pa = arrow()
        last = _batch(pa, self.X[:0], self.y[:0], self.schema)
        self.writer.write_batch(last, custom_metadata=table_metadata(self.schema, self.table))
        self.writer.close()


def _batch(pa: Any, X: Array, y: Array, schema: Any) -> Any:
    x = pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), type=schema.field("x").type)
    return pa.record_batch([x, pa.array(y)], schema=schema)


def _settle_folder(folder: Path) -> None:
    """Have the new name on disk; Windows does so by itself."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
