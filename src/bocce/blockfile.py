"""Rows on disk in blocks of equal size: what is read when the data are larger than memory.

The file::

    page 0     magic line, one line of JSON (n, d, dtype, blocks, labels, seed, table), its SHA-256
    blocks     block i at 4096 + i stride: its rows of X, then its y (float64), then zeros
    table      two CRC-32 a block, of its X and of its y; page 0 holds the table's SHA-256

Everything is little-endian. A stride is a whole number of 4096-byte pages, as direct input needs.
n rows make M blocks whose sizes differ by at most one row, so no block is much smaller than the
others. ``bocce.data.write_blocks`` writes such a file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import weakref
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"bocce blocks 1\n"
PAGE = 4096
DEPTH = 6  # blocks in memory while streaming: one in use, the others read ahead
READERS = 2  # threads that read: one asks the disk while the other hands over
Block = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Layout:
    """Where n rows of d columns lie when they are cut into ``blocks`` blocks.

    >>> layout = Layout(n=10, d=3, dtype="float32", blocks=4)
    >>> [layout.rows(i) for i in range(4)], [layout.start(i) for i in range(4)]
    ([3, 3, 2, 2], [0, 3, 6, 8])
    """

    n: int
    d: int
    dtype: str
    blocks: int

    @property
    def itemsize(self) -> int:
        return np.dtype(self.dtype).itemsize

    @property
    def block_rows(self) -> int:
        """Rows of the largest block."""
        return -(-self.n // self.blocks)

    @property
    def y_offset(self) -> int:
        """Where y begins within a block."""
        return _up(self.block_rows * self.d * self.itemsize, 8)

    @property
    def stride(self) -> int:
        return _up(self.y_offset + 8 * self.block_rows, PAGE)

    @property
    def table_offset(self) -> int:
        return PAGE + self.blocks * self.stride

    @property
    def size(self) -> int:
        return self.table_offset + 8 * self.blocks

    def rows(self, i: int) -> int:
        return self.n // self.blocks + (i < self.n % self.blocks)

    def start(self, i: int) -> int:
        """The first row of block i."""
        return i * (self.n // self.blocks) + min(i, self.n % self.blocks)

    def offset(self, i: int) -> int:
        return PAGE + i * self.stride


def _up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def first_page(layout: Layout, labels: list[float] | None, seed: int, table: bytes) -> bytes:
    """Page 0: written last, so that a file without it is no block file."""
    header = {
        **layout.__dict__,
        "labels": labels,
        "seed": seed,
        "table": hashlib.sha256(table).hexdigest(),
    }
    line = json.dumps(header).encode()
    page = MAGIC + line + b"\n" + hashlib.sha256(line).hexdigest().encode() + b"\n"
    return page.ljust(PAGE, b"\0")


def is_block_file(path: str | os.PathLike[str]) -> bool:
    """Does a file begin as block files do?"""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


class BlockFile:
    """A file of shuffled rows that ``LeastSquares`` and ``Logistic`` take in place of X and y.

    Opening reads the header and the checksums; blocks come when asked for, a few at a time. A
    block's checksum is compared when it is first read, and one that is truncated or corrupted is
    refused by its number.

    Parameters
    ----------
    path : a file that ``bocce.data.write_blocks`` wrote.
    direct : read past the operating system's cache; None does so where the file is larger than
        half the machine's memory.

    Examples
    --------
    >>> import tempfile, numpy as np, bocce
    >>> path = tempfile.mkdtemp() + "/rows.blocks"
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> file = bocce.data.write_blocks(path, [(X, X[:, 0])], block_rows=4)
    >>> file.n, file.d, file.n_blocks, [file.rows(i) for i in range(2)]
    (6, 2, 2, [3, 3])
    >>> bocce.LeastSquares(BlockFile(path)).minimiser().round(9) + 0.0
    array([1., 0.])
    """

    def __init__(self, path: str | os.PathLike[str], direct: bool | None = None) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(
                f"BlockFile: there is no file {str(self.path)!r}; write one with "
                "bocce.data.write_blocks."
            )
        header = self._header()
        self.layout = Layout(*(header[key] for key in ("n", "d", "dtype", "blocks")))
        self.n, self.d, self.n_blocks = self.layout.n, self.layout.d, self.layout.blocks
        self.dtype = np.dtype(self.layout.dtype)
        self.block_rows = self.layout.block_rows
        self.labels: list[float] | None = header["labels"]
        self._table = self._checksums(header["table"])
        self.identity: str = header["sha256"]
        self._verified = np.zeros(self.n_blocks, dtype=bool)
        self._direct = direct
        size = self.layout.size
        self._file = _open(self.path, size > _memory() // 2 if direct is None else direct)
        self._close = weakref.finalize(self, os.close, self._file)

    def __repr__(self) -> str:
        return (
            f"BlockFile({str(self.path)!r}, {self.n} x {self.d} {self.dtype}, "
            f"{self.n_blocks} blocks)"
        )

    def __reduce__(self) -> Any:
        return BlockFile, (str(self.path), self._direct)

    def rows(self, i: int) -> int:
        """How many rows block i has."""
        return self.layout.rows(i)

    def start(self, i: int) -> int:
        """The number of the first row of block i."""
        return self.layout.start(i)

    def read(self, i: int) -> Block:
        """X and y of block i, verified."""
        buffer = mmap.mmap(-1, self.layout.stride)
        self._fill(buffer, i)
        return self._views(buffer, i)

    def verify(self) -> None:
        """Read every block and compare its checksums, whether seen before or not."""
        self._verified[:] = False
        for _ in self.stream(range(self.n_blocks)):
            pass

    def stream(self, blocks: Iterable[int]) -> Iterator[Block]:
        """X and y of each block named, read ahead by threads; valid until the next is taken.

        Close it (``contextlib.closing``) when leaving early, so that the threads end at once.
        """
        free = [mmap.mmap(-1, self.layout.stride) for _ in range(DEPTH)]
        ahead: deque[tuple[int, mmap.mmap, Future[None]]] = deque()
        readers = ThreadPoolExecutor(READERS, thread_name_prefix="bocce block reader")
        plan = iter(blocks)
        try:
            while True:
                while free and (i := next(plan, None)) is not None:
                    buffer = free.pop()
                    ahead.append((int(i), buffer, readers.submit(self._fill, buffer, int(i))))
                if not ahead:
                    return
                i, buffer, read = ahead.popleft()
                read.result()
                yield self._views(buffer, i)
                free.append(buffer)
        finally:
            readers.shutdown(cancel_futures=True)

    # -- reading ---------------------------------------------------------------------------------

    def _header(self) -> dict[str, Any]:
        with self.path.open("rb") as file:
            page = file.read(PAGE)
        lines = page.split(b"\n", 3)
        if not page.startswith(MAGIC) or len(lines) < 4:
            raise ValueError(
                f"BlockFile: {str(self.path)!r} is not a block file; write one with "
                "bocce.data.write_blocks."
            )
        if hashlib.sha256(lines[1]).hexdigest().encode() != lines[2]:
            raise ValueError(f"BlockFile: the header of {self._shown} is corrupted; {_REMEDY}")
        return {**json.loads(lines[1]), "sha256": lines[2].decode()}

    def _checksums(self, expected: str) -> np.ndarray:
        layout, size = self.layout, self.path.stat().st_size
        if size != layout.size:
            block = max(0, size - PAGE) // layout.stride
            where = f"block {block} of {layout.blocks}" if block < layout.blocks else "its table"
            raise ValueError(
                f"BlockFile: {self._shown} is truncated at {where}: it has {size} bytes and must "
                f"have {layout.size}; {_REMEDY}"
            )
        with self.path.open("rb") as file:
            file.seek(layout.table_offset)
            table = file.read()
        if hashlib.sha256(table).hexdigest() != expected:
            raise ValueError(
                f"BlockFile: the table of checksums of {self._shown} is corrupted; {_REMEDY}"
            )
        return np.frombuffer(table, dtype="<u4").reshape(layout.blocks, 2)

    @property
    def _shown(self) -> str:
        return repr(str(self.path))

    def _fill(self, buffer: mmap.mmap, i: int) -> None:
        if not 0 <= i < self.n_blocks:
            raise IndexError(f"BlockFile: block {i} must be from 0 to {self.n_blocks - 1}.")
        view, got = memoryview(buffer), 0
        while got < self.layout.stride:
            count = os.preadv(self._file, [view[got:]], self.layout.offset(i) + got)
            if count == 0:
                raise ValueError(
                    f"BlockFile: {self._shown} is truncated at block {i} of {self.n_blocks}; "
                    f"{_REMEDY}"
                )
            got += count
        if not self._verified[i]:
            X, y = self._views(buffer, i)
            if (zlib.crc32(X), zlib.crc32(y)) != tuple(self._table[i].tolist()):
                raise ValueError(
                    f"BlockFile: block {i} of {self.n_blocks} of {self._shown} is corrupted (its "
                    f"checksum differs); {_REMEDY}"
                )
            self._verified[i] = True

    def _views(self, buffer: mmap.mmap, i: int) -> Block:
        rows = self.layout.rows(i)
        X = np.frombuffer(buffer, self.dtype, rows * self.d).reshape(rows, self.d)
        y = np.frombuffer(buffer, np.float64, rows, self.layout.y_offset)
        X.flags.writeable = y.flags.writeable = False
        return X, y


_REMEDY = "write the file again from its source."


def _memory() -> int:
    """Bytes of the machine's memory."""
    return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))


def _open(path: Path, direct: bool) -> int:
    """A descriptor for reading, past the cache where that is wanted and the file system can."""
    if direct and hasattr(os, "O_DIRECT"):
        file = -1
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECT)
            os.preadv(file, [mmap.mmap(-1, PAGE)], 0)
            return file
        except OSError as error:
            if file >= 0:
                os.close(file)
            if error.errno != errno.EINVAL:  # what a file system without direct input says
                raise
    return os.open(path, os.O_RDONLY)
