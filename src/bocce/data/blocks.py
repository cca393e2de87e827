"""Writing a block file: rows shuffled once, on disk, in bounded memory."""

from __future__ import annotations

import errno
import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import _checks, sampling
from .._atomic import atomic_write
from ..blockfile import PAGE, BlockFile, Layout, first_page
from ._sources import WHERE, pieces

BUCKET_BITS = 6  # rows are dealt out to 64 files by the leading bits of their keys
TOP = 64 - BUCKET_BITS
BUCKET_BYTES = 1 << 28  # what is sorted in memory; a larger bucket is dealt out again
SAVE_BYTES = 1 << 30  # dealt out between two entries in the journal
BLOCK_BYTES = 1 << 20
MOST_LABELS = 2
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Progress = Callable[[str, int, int | None], Any]


def write_blocks(
    path: str | os.PathLike[str],
    chunks: Any,
    block_rows: int | None = None,
    seed: int = 0,
    *,
    dtype: str | None = None,
    progress: Progress | None = None,
) -> BlockFile:
    """Shuffle rows once and write them as a block file.

    Row i gets the 64-bit key number i of a stream keyed by ``seed``, and the file holds the rows in
    the order of their keys. The keys are all different, so this is a uniformly random order, a
    function of (seed, the rows) alone: not of how they were cut into chunks, nor of memory. Rows
    are dealt out to 64 bucket files by the leading bits of the key, then each bucket is sorted
    in memory (one that is too large is dealt out again), so memory stays below about 1 GiB and
    disk below twice the file, whatever n.

    The file appears under its name only when it is whole and on disk. Until then the work lies in
    a folder beside it, ``path`` + ".writing". After a crash, or a full disk, the same call goes
    on: the chunks are read again, compared with what was read before, and not written twice.

    Parameters
    ----------
    chunks : an iterable of (X, y), X dense or sparse (stored dense); of paths (parquet, LIBSVM, and
        what ``read_table`` reads) or Arrow tables, whose last column is y; or one of these.
    block_rows : the most rows a block may have; None is about a megabyte, and at least 64 blocks
        where n allows. Sizes of blocks differ by at most one row.
    seed : of the shuffle.
    dtype : "float32" or "float64" for X (y is float64); None is that of the first chunk.
    progress : called with (stage, rows done, rows in all or None), stage "read" or "write".

    Returns
    -------
    The file, opened.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> path = tempfile.mkdtemp() + "/rows.blocks"
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
    kind = None if dtype is None else _checks.choice(WHERE, "dtype", dtype, ["float32", "float64"])
    rows = pieces(chunks, None if kind is None else np.dtype(kind))
    work = _Work(path, {"block_rows": block_rows, "seed": seed, "dtype": kind}, progress)
    try:
        work.deal_out(rows)
        work.put_together()
    except BaseException as error:
        if not work.begun:
            shutil.rmtree(work.folder)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise _no_room(path, work, error.errno) from error
        raise
    return BlockFile(path)


def _no_room(path: Path, work: _Work, number: int) -> OSError:
    text = (
        f"{WHERE}: there is no room left for {str(path)!r} ({os.strerror(number)}); free some and "
    )
    text += "call again"
    if work.begun:
        text += f", which goes on from there, or delete {str(work.folder)!r}"
    return OSError(number, text)


class _Work:
    """The folder of a file being written, and the journal that says how far it is."""

    def __init__(self, path: Path, settings: dict[str, Any], progress: Progress | None) -> None:
        self.path, self.seed, self.settings = path, settings["seed"], settings
        self.tell = progress or (lambda stage, done, total: None)
        self.folder = path.with_name(path.name + ".writing")
        self.output = self.folder / "blocks"
        self.folder.mkdir(exist_ok=True)
        self.journal: dict[str, Any] = {"settings": settings, "rows": 0, "crc": 0, "sizes": []}
        self.journal["labels"] = []
        if self.begun:
            self.journal = json.loads((self.folder / "journal").read_text())
        if self.journal["settings"] != settings:
            raise ValueError(
                f"{WHERE}: {str(self.folder)!r} is of a write with other settings "
                f"({self.journal['settings']}, not {settings}); give the same to go on, or delete "
                "it to start anew."
            )

    @property
    def begun(self) -> bool:
        """Is there anything to go on from?"""
        return (self.folder / "journal").exists()

    def save(self, **changes: Any) -> None:
        self.journal |= changes
        with atomic_write(self.folder / "journal") as file:
            file.write(json.dumps(self.journal).encode())

    def bucket(self, number: int) -> Path:
        return self.folder / f"bucket{number:02d}"

    # -- first pass: deal the rows out ---------------------------------------------------------

    def deal_out(self, rows: Iterator[tuple[np.ndarray, np.ndarray]]) -> None:
        known, complete = self.journal["rows"], "kind" in self.journal
        buckets = None if complete else _Buckets(self.bucket, self.journal["sizes"])
        records, done, crc, saved = np.empty(0), 0, 0, 0
        labels: set[float] = set(self.journal["labels"])
        try:
            for records in _cut(_keyed(rows, self.seed), known):
                done, crc = done + len(records), zlib.crc32(records, crc)
                new = done > known
                if (new and not buckets) or (done == known and crc != self.journal["crc"]):
                    raise self._other(done)
                if new and buckets:
                    buckets.add(records)
                    labels = set(sorted(labels | _few(records["y"]))[: MOST_LABELS + 1])
                self.tell("read", done, None)
                if buckets and buckets.added - saved > SAVE_BYTES:
                    buckets.settle()
                    self.save(rows=done, crc=crc, sizes=buckets.sizes, labels=sorted(labels))
                    saved = buckets.added
            if done < known:
                raise self._other(done)
            if done == 0:
                raise ValueError(f"{WHERE}: chunks hold no row, must hold at least one.")
            if buckets:
                x = records.dtype["x"]
                self.journal |= {"d": x.shape[0], "kind": x.base.name, "labels": sorted(labels)}
                self.journal |= {"rows": done, "crc": crc, "next": 0, "placed": 0}
                if self.begun:
                    buckets.settle()
                    self.save()
        finally:
            if buckets:
                buckets.close()

    def _other(self, row: int) -> ValueError:
        return ValueError(
            f"{WHERE}: the chunks are not those of the write begun in {str(self.folder)!r} (they "
            f"differ before or at row {row}); give the same to go on, or delete it to start anew."
        )

    # -- second pass: put the rows in order -----------------------------------------------------

    def put_together(self) -> None:
        n, d, kind = self.journal["rows"], self.journal["d"], self.journal["kind"]
        layout = Layout(n, d, kind, _block_count(n, d, kind, self.settings["block_rows"]))
        writer = _Writer(self.output, layout, self.journal["placed"])
        spent, saved = [], writer.placed
        try:
            for number in range(self.journal["next"], 1 << BUCKET_BITS):
                for records in _sorted(self.bucket(number), _record(d, kind), TOP):
                    writer.append(records)
                    self.tell("write", writer.placed, n)
                spent.append(self.bucket(number))
                if (writer.placed - saved) * _record(d, kind).itemsize > SAVE_BYTES:
                    writer.settle()
                    self.save(next=number + 1, placed=writer.placed)
                    saved = writer.placed
                    while spent:
                        spent.pop().unlink()
            writer.settle()
            labels = self.journal["labels"]
            writer.finish(labels if len(labels) <= MOST_LABELS else None, self.seed)
        finally:
            writer.close()
        (self.folder / "journal").unlink(missing_ok=True)  # there is nothing to go on from now
        os.replace(self.output, self.path)
        _settle_folder(self.path.parent)
        shutil.rmtree(self.folder)


def _keyed(rows: Iterator[tuple[np.ndarray, np.ndarray]], seed: int) -> Iterator[np.ndarray]:
    """Records of (key, y, x), the key that of the row's number."""
    done = 0
    for X, y in rows:
        if len(y):
            records = np.empty(len(y), _record(X.shape[1], X.dtype.name))
            records["key"] = sampling.shuffle_keys(seed, done, len(y))
            records["y"], records["x"] = y, X
            done += len(y)
            yield records


def _cut(pieces: Iterator[np.ndarray], row: int) -> Iterator[np.ndarray]:
    """The same records, with a cut at ``row``."""
    done = 0
    for records in pieces:
        place = row - done
        done += len(records)
        if 0 < place < len(records):
            yield records[:place]
            records = records[place:]
        yield records


def _few(y: np.ndarray) -> set[float]:
    return set(np.unique(y)[: MOST_LABELS + 1].tolist())


def _record(d: int, kind: str) -> np.dtype:
    return np.dtype([("key", "<u8"), ("y", "<f8"), ("x", np.dtype(kind).newbyteorder("<"), (d,))])


def _block_count(n: int, d: int, kind: str, block_rows: int | None) -> int:
    if block_rows is None:
        size = d * np.dtype(kind).itemsize + 8
        least, most = max(1, PAGE // size), max(1, BLOCK_BYTES // size)
        block_rows = min(most, max(least, -(-n // 64)))
    return -(-n // block_rows)


class _Buckets:
    """Files that rows are appended to, by the BUCKET_BITS bits of their keys above ``shift``."""

    def __init__(
        self, name: Callable[[int], Path], sizes: list[int] | None = None, shift: int = TOP
    ) -> None:
        self.shift, self.added = np.uint64(shift), 0
        self.sizes = sizes or [0] * (1 << BUCKET_BITS)
        self.files: list[int] = []
        for number, size in enumerate(self.sizes):
            self.files.append(os.open(name(number), os.O_RDWR | os.O_CREAT, 0o666))
            os.truncate(self.files[-1], size)  # what came after the last entry in the journal

    def add(self, records: np.ndarray) -> None:
        mask = np.uint64((1 << BUCKET_BITS) - 1)
        labels = (records["key"] >> self.shift & mask).astype(np.int64)
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(np.bincount(labels, minlength=len(self.files)))
        records = records[order]
        for number, (file, end) in enumerate(zip(self.files, ends)):
            part = records[(ends[number - 1] if number else 0) : end]
            if len(part):
                _write(file, part, self.sizes[number])
                self.sizes[number] += part.nbytes
        self.added += records.nbytes

    def settle(self) -> None:
        for file in self.files:
            os.fsync(file)

    def close(self) -> None:
        for file in self.files:
            os.close(file)


def _sorted(bucket: Path, record: np.dtype, shift: int) -> Iterator[np.ndarray]:
    """The rows of a bucket in the order of their keys; in parts where it is too large."""
    size = bucket.stat().st_size
    if size <= max(BUCKET_BYTES, record.itemsize) or shift < BUCKET_BITS:
        records = np.fromfile(bucket, record)
        yield records[np.argsort(records["key"])]
        return
    smaller = shift - BUCKET_BITS
    buckets = _Buckets(lambda number: Path(f"{bucket}.{number:02d}"), None, smaller)
    try:
        with bucket.open("rb") as file:
            while len(records := np.fromfile(file, record, _rows_at_once(record))):
                buckets.add(records)
    finally:
        buckets.close()
    for number in range(1 << BUCKET_BITS):
        part = Path(f"{bucket}.{number:02d}")
        yield from _sorted(part, record, smaller)
        part.unlink()


def _rows_at_once(record: np.dtype) -> int:
    return max(1, BUCKET_BYTES // (4 * record.itemsize))


class _Writer:
    """Puts rows at their places in the output, and keeps the checksums of each block."""

    def __init__(self, path: Path, layout: Layout, placed: int) -> None:
        self.layout, self.placed = layout, placed
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self.table = np.zeros((layout.blocks, 2), dtype="<u4")
        if placed == 0:
            os.truncate(self.file, 0)
        elif placed < layout.n:
            self._go_on(_block_of(layout, placed))

    def _go_on(self, block: int) -> None:
        """Checksums of the blocks before this one are in the output; its own may be too new."""
        layout, rows = self.layout, self.placed - self.layout.start(block)
        kept = os.pread(self.file, 8 * block, layout.table_offset)
        self.table[:block] = np.frombuffer(kept, "<u4").reshape(block, 2)
        at = layout.offset(block)
        X = os.pread(self.file, rows * layout.d * layout.itemsize, at)
        y = os.pread(self.file, rows * 8, at + layout.y_offset)
        self.table[block] = zlib.crc32(X), zlib.crc32(y)

    def append(self, records: np.ndarray) -> None:
        layout, done = self.layout, 0
        while done < len(records):
            block = _block_of(layout, self.placed)
            within = self.placed - layout.start(block)
            count = min(layout.rows(block) - within, len(records) - done)
            part = records[done : done + count]
            X = np.ascontiguousarray(part["x"])
            y = np.ascontiguousarray(part["y"])
            at = layout.offset(block)
            _write(self.file, X, at + within * layout.d * layout.itemsize)
            _write(self.file, y, at + layout.y_offset + 8 * within)
            crc_x, crc_y = self.table[block].tolist()
            self.table[block] = zlib.crc32(X, crc_x), zlib.crc32(y, crc_y)
            self.placed += count
            done += count

    def settle(self) -> None:
        """What was placed so far is on disk, and so are its checksums."""
        _write(self.file, self.table, self.layout.table_offset)
        os.fsync(self.file)

    def finish(self, labels: list[float] | None, seed: int) -> None:
        page = first_page(self.layout, labels, seed, self.table.tobytes())
        _write(self.file, np.frombuffer(page, np.uint8), 0)
        os.fsync(self.file)

    def close(self) -> None:
        os.close(self.file)


def _block_of(layout: Layout, row: int) -> int:
    """The block that a row lies in: the first n mod M blocks have one row more."""
    small, extra = divmod(layout.n, layout.blocks)
    if row < extra * (small + 1):
        return row // (small + 1)
    return extra + (row - extra * (small + 1)) // small


def _write(file: int, array: np.ndarray, offset: int) -> None:
    data, done = memoryview(array).cast("B"), 0
    while done < len(data):
        done += os.pwrite(file, data[done:], offset + done)


def _settle_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
