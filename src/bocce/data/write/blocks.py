"""Writing a block file: rows shuffled once, on disk, in bounded memory."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ... import _checks, sampling
from ..._atomic import atomic_write
from ..._direct import PAGE
from ..._extras import arrow
from ..._types import Array, Arrow, Json
from ...blockfile import ENTRY, Block, BlockFile, Layout, schema, table_metadata
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
    wins whole. Temporary files have no names, so a crash leaves none of them behind; a call that
    was killed is not resumed: the same call starts again from the first row, and writes the same
    file.

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
    target, columns : str or int, list of str or int, optional
        The columns of the target and of the features of files and tables, as in `open`.
    dtype : {"float32", "float64"}, optional
        The type of X (y is float64); by default the type of the first chunk.
    missing : {"refuse", "drop"}, default "refuse"
        What to do with rows that have a missing value, as in `open`.
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
    reader = ChunkReader(chunks, None if kind is None else np.dtype(kind), target, columns, missing)
    tell = progress or (lambda stage, done, total: None)
    try:
        with Buckets(path.parent) as buckets:
            rows = _Dealt(reader, buckets, seed, tell)
            layout = Layout(rows.n, *rows.shape, _block_count(rows.n, *rows.shape, block_rows))
            with atomic_write(path) as file:
                facts = {**rows.facts(), "seed": seed}
                _write(file, layout, facts, rows.in_blocks(buckets, layout), tell)
        _settle_folder(path.parent)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise OSError(
            error.errno,
            f"{WHERE}: there is no room left for {str(path)!r} ({os.strerror(error.errno)}); free "
            "some and call again, which starts from the first row",
        ) from error
    return BlockFile(path)


class _Dealt:
    """All rows, dealt out to buckets, and what is known of them."""

    def __init__(self, reader: ChunkReader, buckets: Buckets, seed: int, tell: Progress) -> None:
        self.n, self.labels, self.reader = 0, Labels(), reader
        self.names: list[str] = []  # of text labels, in the order in which they came
        for X, y in reader:
            if len(y):
                buckets.add(keyed(X, self._encoded(y), seed, self.n))
                self.n, self.shape = self.n + len(y), (X.shape[1], X.dtype.name)
                tell("read", self.n, None)
        if not self.n:
            raise ValueError(f"{WHERE}: chunks hold no row, must hold at least one.")

    def _encoded(self, y: Array) -> Array:
        """Targets as numbers: text is counted in the order in which it comes."""
        text = y.dtype == object
        if self.n and text != bool(self.names):
            raise ValueError(f"{WHERE}: y is text in some chunks and numbers in others.")
        self.labels.add(y)
        if not text:
            return y
        self.labels.classes(self.reader.target)  # or too many
        self.names += [name for name in dict.fromkeys(y) if name not in self.names]
        return codes_of(y, self.names)

    def facts(self) -> dict[str, Any]:
        classes = sorted(self.names) or None
        codes = [float(code) for code in range(len(self.names))]
        return {
            "labels": codes if classes else self.labels.all,
            "columns": self.reader.columns,
            "target": self.reader.target,
            "classes": classes,
        }

    def in_blocks(self, buckets: Buckets, layout: Layout) -> Iterator[Block]:
        """All rows in their new order; text is now counted in the order of the alphabet."""
        places = np.argsort(np.argsort(self.names)).astype(np.float64)
        rest = np.empty(0, record(layout.d, layout.dtype))
        sorted_rows = buckets.in_order(rest.dtype)
        for i in range(layout.blocks):
            while len(rest) < layout.rows(i):
                rest = np.concatenate([rest, next(sorted_rows)])
            here, rest = rest[: layout.rows(i)], rest[layout.rows(i) :]
            y = places[here["y"].astype(np.int64)] if self.names else here["y"]
            yield np.ascontiguousarray(here["x"]), np.ascontiguousarray(y)


def _block_count(n: int, d: int, kind: str, block_rows: int | None) -> int:
    if block_rows is None:
        size = d * np.dtype(kind).itemsize + 8
        least, most = max(1, PAGE // size), max(1, BLOCK_BYTES // size)
        block_rows = min(most, max(least, -(-n // 64)))
    return -(-n // block_rows)


def _write(
    file: BinaryIO, layout: Layout, facts: Json, blocks: Iterable[Block], tell: Progress
) -> None:
    """Each block as a record batch, and their checksums in a last one without rows."""
    pa, form, table = arrow(), schema(layout, facts), np.zeros(layout.blocks, ENTRY)

    def batch(X: Array, y: Array) -> Arrow:
        x = pa.FixedSizeListArray.from_arrays(pa.array(X.reshape(-1)), type=form.field("x").type)
        return pa.record_batch([x, pa.array(y)], schema=form)

    done = 0
    with pa.ipc.new_file(file, form) as writer:
        for i, (X, y) in enumerate(blocks):
            made = batch(X, y)
            writer.write_batch(made)
            length = pa.ipc.get_record_batch_size(made)
            begin = file.tell() - length  # before the first one there is the schema
            table[i] = begin, length, zlib.crc32(X.data), zlib.crc32(y.data)
            done += len(y)
            tell("write", done, layout.n)
        empty = batch(np.empty(0, layout.dtype), np.empty(0))
        writer.write_batch(empty, custom_metadata=table_metadata(form, table))


def _settle_folder(folder: Path) -> None:
    """Have the new name on disk; Windows does so by itself."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
