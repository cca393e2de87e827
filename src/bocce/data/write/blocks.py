"""Writing a block file: rows shuffled once, on disk, in bounded memory."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import numpy as np

from ... import _checks, sampling
from ..._atomic import atomic_write
from ..._direct import PAGE
from ..._extras import arrow
from ..._types import Array, Json
from ...blockfile import ENTRY, BlockFile, block_starts, schema, table_metadata
from .chunks import WHERE, ChunkReader

BLOCK_BYTES = 1 << 20
BUCKET_BITS = 6  # Rows are dealt out to 64 files by so many leading bits of their keys.
BUCKET_BYTES = 1 << 28  # What is sorted in memory; a larger bucket is dealt out again.
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
        with closing(in_order(_keyed(reader, seed, tell), path.parent)) as shuffled:
            first = next(shuffled, None)  # All rows have been read by then.
            if first is None:
                raise ValueError(f"{WHERE}: chunks hold no row, must hold at least one.")
            x = first.dtype["x"]
            count = _block_count(reader.n, x.itemsize + 8, block_rows)
            facts = {"n": reader.n, "d": x.shape[0], "dtype": x.base.name, "blocks": count}
            facts |= {**reader.facts(), "seed": seed}
            with atomic_write(path) as file:
                _write(file, facts, chain([first], shuffled), reader.ranks(), tell)
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


def _keyed(reader: ChunkReader, seed: int, tell: Progress) -> Iterator[Array]:
    """Rows as records (key, y, x), each with the key of its row's number."""
    done = 0
    for X, y in reader:
        x = ("x", X.dtype.newbyteorder("<"), X.shape[1:])
        records = np.empty(len(y), [("key", "<u8"), ("y", "<f8"), x])
        records["key"] = sampling.shuffle_keys(seed, done, len(y))
        records["y"], records["x"] = y, X
        yield records
        done += len(y)
        tell("read", done, None)


def in_order(
    rows: Iterable[Array], folder: Path, shift: int = 64 - BUCKET_BITS
) -> Generator[Array, None, None]:
    """All records in the order of their keys, a bucket at a time.

    Records are dealt out to files by the BUCKET_BITS bits of their keys above ``shift``. The files
    have no name in ``folder``, so they end with the process, however it ends.
    """
    kind: Any = None
    mask = np.uint64((1 << BUCKET_BITS) - 1)
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(1 << BUCKET_BITS)]
        for records in rows:
            kind = records.dtype
            labels = (records["key"] >> np.uint64(shift) & mask).astype(np.int64)
            ends = np.cumsum(np.bincount(labels, minlength=len(files)))
            by_label = records[np.argsort(labels, kind="stable")]
            for file, part in zip(files, np.split(by_label, ends[:-1])):
                file.write(part.data)
        for file in files if kind is not None else []:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if size <= max(BUCKET_BYTES, kind.itemsize) or shift < BUCKET_BITS:
                records = np.fromfile(file, kind)
                yield records[np.argsort(records["key"])]
            else:
                yield from in_order(_pieces(file, kind), folder, shift - BUCKET_BITS)
            file.close()


def _pieces(file: Any, kind: np.dtype[Any]) -> Iterator[Array]:
    """The records of a file, a quarter of a bucket at a time."""
    while len(records := np.fromfile(file, kind, max(1, BUCKET_BYTES // (4 * kind.itemsize)))):
        yield records


def _block_count(n: int, size: int, block_rows: int | None) -> int:
    """How many blocks n rows of so many bytes make."""
    if block_rows is None:
        least, most = max(1, PAGE // size), max(1, BLOCK_BYTES // size)
        block_rows = min(most, max(least, -(-n // 64)))
    return -(-n // block_rows)


def _write(
    file: BinaryIO, facts: Json, shuffled: Iterator[Array], ranks: Array, tell: Progress
) -> None:
    """Each block as a record batch, and their checksums in a last one without rows.

    ``ranks``: the codes of text labels in the order of the alphabet, none where y is numbers.
    """
    pa, form, table = arrow(), schema(facts), np.zeros(facts["blocks"], ENTRY)
    starts = block_starts(facts["n"], facts["blocks"])
    rest = next(shuffled)
    with pa.ipc.new_file(file, form) as writer:
        for i, rows in enumerate(np.diff(starts).tolist()):
            while len(rest) < rows:
                rest = np.concatenate([rest, next(shuffled)])
            X, y = (np.ascontiguousarray(rest[name][:rows]) for name in "xy")
            rest, y = rest[rows:], ranks[y.astype(np.int64)] if ranks.size else y
            values = pa.array(X.reshape(-1))
            x = pa.FixedSizeListArray.from_arrays(values, type=form.field("x").type)
            batch = pa.record_batch([x, pa.array(y)], schema=form)
            writer.write_batch(batch)
            length = pa.ipc.get_record_batch_size(batch)
            begin = file.tell() - length  # before the first one there is the schema
            table[i] = begin, length, zlib.crc32(X.data), zlib.crc32(y.data)
            tell("write", int(starts[i + 1]), facts["n"])
        empty = pa.RecordBatch.from_pylist([], schema=form)
        writer.write_batch(empty, custom_metadata=table_metadata(form, table))


def _settle_folder(folder: Path) -> None:
    """Have the new name on disk; Windows does so by itself."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
