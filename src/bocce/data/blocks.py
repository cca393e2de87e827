"""Writing a block file: rows shuffled once, on disk, in bounded memory."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _checks, sampling
from .._atomic import atomic_write
from .._direct import PAGE
from ..blockfile import ENTRY, BlockFile, Layout, arrow, schema, table_metadata
from . import _shuffle
from ._parts import Labels
from ._shuffle import Buckets, in_order, keyed, record
from ._sources import WHERE, Pieces
from ._workfolder import JOURNAL, WorkFolder

SAVE_BYTES = 1 << 30  # dealt out between two entries in the journal
BLOCK_BYTES = 1 << 20
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Array = npt.NDArray[Any]
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
    go to 64 bucket files by the leading bits of the key, and each bucket is sorted in memory (one
    that is too large is divided again). So memory stays below about 1 GiB and disk below twice the
    file, whatever n.

    The file appears under its name only when it is whole and on disk; a link of that name is
    replaced, not followed. Until then the work lies in a folder beside it, ``path`` + ".writing-"
    and eight letters, which no other writer touches: of two that write the same file at the same
    time, the last one to finish wins whole. After a crash, or a full disk, the same call goes on:
    the chunks are read again, compared with what was read before, and not dealt out twice.

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
        If the disk is full; the same call resumes.

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
    pieces = Pieces(chunks, None if kind is None else np.dtype(kind), target, columns, missing)
    settings = {"block_rows": block_rows, "seed": seed, "dtype": kind}
    work = _Work(path, settings, pieces, progress or (lambda stage, done, total: None))
    try:
        work.deal_out()
        work.put_together()
    except BaseException as error:
        begun = work.folder.begun
        work.folder.leave()
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise _no_room(path, work.folder.folder if begun else None, error.errno) from error
        raise
    work.folder.remove()
    return BlockFile(path)


def _no_room(path: Path, left: Path | None, number: int) -> OSError:
    text = (
        f"{WHERE}: there is no room left for {str(path)!r} ({os.strerror(number)}); free some and "
        "call again"
    )
    if left is not None:
        text += f", which goes on from there, or delete {str(left)!r}"
    return OSError(number, text)


class _Work:
    """A file being written, and the journal that says how far it is."""

    def __init__(
        self, path: Path, settings: dict[str, Any], pieces: Pieces, tell: Progress
    ) -> None:
        self.path, self.seed, self.settings = path, settings["seed"], settings
        self.pieces, self.tell = pieces, tell
        self.labels, self.names = Labels(), list[str]()
        self.folder = WorkFolder(path)
        self.journal: dict[str, Any] = {"settings": settings, "rows": 0, "crc": 0, "sizes": []}
        if self.folder.begun:
            self.journal = json.loads((self.folder / JOURNAL).read_text())
        if self.journal["settings"] != settings:
            self.folder.leave()
            raise ValueError(
                f"{WHERE}: {str(self.folder.folder)!r} is of a write with other settings "
                f"({self.journal['settings']}, not {settings}); give the same to go on, or delete "
                "it to start anew."
            )

    def save(self, **changes: Any) -> None:
        self.journal |= changes
        with atomic_write(self.folder / JOURNAL) as file:
            file.write(json.dumps(self.journal).encode())

    def bucket(self, number: int) -> Path:
        return self.folder / f"bucket{number:02d}"

    # -- first pass: deal the rows out ---------------------------------------------------------

    def deal_out(self) -> None:
        known, complete = self.journal["rows"], "kind" in self.journal
        buckets = None if complete else Buckets(self.bucket, self.journal["sizes"])
        records: Array = np.empty(0)
        done = crc = saved = 0
        try:
            for records in _cut(keyed(self._encoded(), self.seed), known):
                done, crc = done + len(records), zlib.crc32(records.data, crc)
                new = done > known
                if (new and not buckets) or (done == known and crc != self.journal["crc"]):
                    raise self._other(done)
                if new and buckets:
                    buckets.add(records)
                self.tell("read", done, None)
                if buckets and buckets.added - saved > SAVE_BYTES:
                    buckets.settle()
                    self.save(rows=done, crc=crc, sizes=buckets.sizes)
                    saved = buckets.added
            if done < known:
                raise self._other(done)
            if done == 0:
                raise ValueError(f"{WHERE}: chunks hold no row, must hold at least one.")
            if buckets:
                x = records.dtype["x"]
                self.journal |= {"d": x.shape[0], "kind": x.base.name, "rows": done, "crc": crc}
                if self.folder.begun:
                    buckets.settle()
                    self.save()
        finally:
            if buckets:
                buckets.close()

    def _encoded(self) -> Iterator[tuple[Array, Array]]:
        """Rows with y as numbers: text is counted in the order in which it comes."""
        text = None
        for X, y in self.pieces:
            if text not in (None, y.dtype == object):
                raise ValueError(f"{WHERE}: y is text in some chunks and numbers in others.")
            text = y.dtype == object
            self.labels.add(y)
            if text:
                self.labels.classes(self.pieces.target)  # or too many
                self.names += [name for name in dict.fromkeys(y) if name not in self.names]
                codes = {name: float(code) for code, name in enumerate(self.names)}
                y = np.array([codes[name] for name in y])
            yield X, y

    def _other(self, row: int) -> ValueError:
        return ValueError(
            f"{WHERE}: the chunks are not those of the write begun in "
            f"{str(self.folder.folder)!r} (they differ before or at row {row}); give the same to "
            "go on, or delete it to start anew."
        )

    # -- second pass: put the rows in order -----------------------------------------------------

    def put_together(self) -> None:
        n, d, kind = self.journal["rows"], self.journal["d"], self.journal["kind"]
        layout = Layout(n, d, kind, _block_count(n, d, kind, self.settings["block_rows"]))
        output = self.folder / "blocks"
        output.unlink(missing_ok=True)  # of a write that died here
        with _Writer(output, layout, self._facts()) as writer:
            for number in range(1 << _shuffle.BUCKET_BITS):
                for records in in_order(self.bucket(number), record(d, kind)):
                    writer.append(records["x"], self._sorted_codes(records["y"]))
                    self.tell("write", writer.placed, n)
            writer.finish()
        os.replace(output, self.path)
        _settle_folder(self.path.parent)

    def _facts(self) -> dict[str, Any]:
        classes = sorted(self.names) or None
        labels = [float(code) for code in range(len(self.names))] if classes else self.labels.all
        return {
            "labels": labels,
            "seed": self.seed,
            "columns": self.pieces.columns,
            "target": self.pieces.target,
            "classes": classes,
        }

    def _sorted_codes(self, y: Array) -> Array:
        if not self.names:
            return y
        places = [sorted(self.names).index(name) for name in self.names]
        return np.array(places, np.float64)[y.astype(np.int64)]


def _cut(pieces: Iterator[Array], row: int) -> Iterator[Array]:
    """The same records, with a cut at ``row``."""
    done = 0
    for records in pieces:
        place = row - done
        done += len(records)
        if 0 < place < len(records):
            yield records[:place]
            records = records[place:]
        yield records


def _block_count(n: int, d: int, kind: str, block_rows: int | None) -> int:
    if block_rows is None:
        size = d * np.dtype(kind).itemsize + 8
        least, most = max(1, PAGE // size), max(1, BLOCK_BYTES // size)
        block_rows = min(most, max(least, -(-n // 64)))
    return -(-n // block_rows)


class _Writer:
    """Gathers rows into blocks, writes each as a record batch, and keeps its checksums."""

    def __init__(self, path: Path, layout: Layout, facts: dict[str, Any]) -> None:
        self.layout, self.schema = layout, schema(layout, facts)
        self.file = path.open("xb")
        self.writer = arrow().ipc.new_file(self.file, self.schema)
        self.table = np.zeros(layout.blocks, ENTRY)
        self.placed = self.block = 0
        self._start()

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *error: Any) -> None:
        with contextlib.suppress(OSError):
            self.file.close()

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
        self.file.flush()
        os.fsync(self.file.fileno())


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
