"""Rows on disk in blocks of equal size: what is read when the data are larger than memory.

A block file is an Arrow IPC file (Feather), which pyarrow, polars and others open too::

    schema      x: fixed_size_list<float or double>[d], y: double; under the key "bocce.blocks" one
                line of JSON: n, d, dtype, blocks, labels, seed, columns, target
    blocks      record batch i holds the rows of block i, one after the other
    table       a last batch without rows; its metadata say where each block lies, two CRC-32 of
                each (of its X and of its y), and the SHA-256 of the schema's line and this table

n rows make M blocks whose sizes differ by at most one row, so no block is much smaller than the
others. ``bocce.data.write_blocks`` writes such a file, shuffled; ``bocce.data.open`` makes a
``BlockFile`` of any Parquet, Arrow, CSV or LIBSVM files, as they are.
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
from pathlib import Path
from typing import Any

import numpy as np

from ._direct import PAGE, address_limit, machine_memory, no_memory, open_file, read_at
from ._extras import arrow
from ._layout import Block, Layout, Store
from ._types import Array

__all__ = ["BlockFile", "Layout", "Store", "is_block_file"]

KEY = b"bocce.blocks"
MAGIC = b"ARROW1"
LONGEST_SCHEMA = 1 << 26  # bytes: a million names of columns
DEPTH = 6  # blocks in memory while streaming: one in use, the others read ahead
READERS = 3  # threads that read: two ask the disk while one compares checksums
ENTRY = np.dtype([("offset", "<i8"), ("length", "<i8"), ("x", "<u4"), ("y", "<u4")])
_REMEDY = "write the file again from its source."


def is_block_file(path: str | os.PathLike[str]) -> bool:
    """Whether `bocce.data.write_blocks` wrote the file.

    Parameters
    ----------
    path : str or path
        Where it is.

    Returns
    -------
    bool
    """
    path = Path(path)
    if not path.is_file():  # opening a pipe would wait for ever
        return False
    try:
        with path.open("rb") as file:
            head = file.read(16)  # the magic, two zeros, four marks, the length of the schema
            length = int.from_bytes(head[12:], "little")
            return head.startswith(MAGIC) and KEY in file.read(min(length, LONGEST_SCHEMA))
    except OSError:
        return False


class BlockFile:
    """Rows on disk that ``LeastSquares`` and ``Logistic`` take in place of X and y.

    Opening reads the header and the checksums; blocks come when asked for, a few at a time. A
    block's checksum is compared when it is first read, and one that is truncated or corrupted is
    refused by its number.

    Parameters
    ----------
    path : str, path or Store
        A file that ``bocce.data.write_blocks`` wrote. ``bocce.data.open`` gives the `Store` of
        other files.
    direct : bool, optional
        Whether to read past the operating system's cache; by default only where the file is larger
        than half the machine's memory.

    Examples
    --------
    >>> import tempfile, numpy as np, bocce
    >>> path = tempfile.mkdtemp() + "/rows.arrow"
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> file = bocce.data.write_blocks(path, [(X, X[:, 0])], block_rows=4)
    >>> file.n, file.d, file.n_blocks, [file.rows(i) for i in range(2)]
    (6, 2, 2, [3, 3])
    >>> bocce.LeastSquares(BlockFile(path)).minimiser().round(9) + 0.0
    array([1., 0.])
    """

    def __init__(self, path: str | os.PathLike[str] | Store, direct: bool | None = None) -> None:
        store = ArrowStore(path, direct) if isinstance(path, (str, os.PathLike)) else path
        self.store: Store = store
        self.path = Path(store.path) if isinstance(store, ArrowStore) else store.path
        self.n, self.d, self.n_blocks = int(store.starts[-1]), store.d, len(store.starts) - 1
        self.dtype, self.labels, self.identity = store.dtype, store.labels, store.identity
        self.columns, self.target, self.classes = store.columns, store.target, store.classes
        self.encoding = store.encoding
        self.block_rows = int(np.diff(store.starts).max())

    def __repr__(self) -> str:
        return (
            f"BlockFile({str(self.path)!r}, {self.n} x {self.d} {self.dtype}, "
            f"{self.n_blocks} blocks)"
        )

    def __reduce__(self) -> Any:
        return BlockFile, (self.store,)

    def __iter__(self) -> Iterator[Any]:
        """X and y as problems take them, so that ``X, y = bocce.data.open(...)`` always works."""
        return iter((self, None))

    def rows(self, i: int) -> int:
        """How many rows a block has.

        Parameters
        ----------
        i : int
            The block.

        Returns
        -------
        int
        """
        return int(self.store.starts[i + 1] - self.store.starts[i])

    def start(self, i: int) -> int:
        """The number of a block's first row.

        Parameters
        ----------
        i : int
            The block.

        Returns
        -------
        int
        """
        return int(self.store.starts[i])

    def read(self, i: int) -> Block:
        """Read a block and verify it.

        Parameters
        ----------
        i : int
            The block.

        Returns
        -------
        tuple of (ndarray, ndarray)
            X and y.
        """
        return self._fill(i, self._buffer())

    def verify(self) -> None:
        """Read every block and compare its checksums, whether seen before or not."""
        if isinstance(self.store, ArrowStore):
            self.store.forget()
        for _ in self.stream(range(self.n_blocks)):
            pass

    def stream(self, blocks: Iterable[int]) -> Iterator[Block]:
        """Blocks, read ahead by threads; each is valid until the next one is taken.

        Close it (``contextlib.closing``) when leaving early, so that the threads end at once.

        Parameters
        ----------
        blocks : iterable of int
            Which blocks, in which order.

        Yields
        ------
        tuple of (ndarray, ndarray)
            X and y of a block.
        """
        if address_limit() is not None:  # a thread reserves 72 MB of addresses
            buffer = self._buffer()
            yield from (self._fill(int(block), buffer) for block in blocks)
            return
        free = [self._buffer() for _ in range(self.store.depth)]
        ahead: deque[tuple[Any, Future[Block]]] = deque()
        readers = ThreadPoolExecutor(READERS, thread_name_prefix="bocce block reader")
        plan = iter(blocks)
        try:
            while True:
                while free and (i := next(plan, None)) is not None:
                    buffer = free.pop()
                    ahead.append((buffer, readers.submit(self._fill, int(i), buffer)))
                if not ahead:
                    return
                buffer, read = ahead.popleft()
                yield read.result()
                free.append(buffer)
        finally:
            readers.shutdown(cancel_futures=True)

    def _buffer(self) -> Any:
        try:
            return self.store.buffer()
        except (MemoryError, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.ENOMEM:
                raise
            size = self.block_rows * (self.d * self.dtype.itemsize + 8)
            raise MemoryError(
                no_memory(f"BlockFile: a block of {str(self.path)!r}", size)
            ) from None

    def _fill(self, i: int, buffer: Any) -> Block:
        if not 0 <= i < self.n_blocks:
            raise IndexError(f"BlockFile: block {i} must be from 0 to {self.n_blocks - 1}.")
        return self.store.fill(i, buffer)


# -- the file that write_blocks writes ---------------------------------------------------------


def schema(layout: Layout, facts: dict[str, Any]) -> Any:
    """The Arrow schema of a block file; ``facts``: labels, seed, columns, target, classes."""
    pa = arrow()
    number = pa.float32() if layout.dtype == "float32" else pa.float64()
    fields = [("x", pa.list_(number, layout.d)), ("y", pa.float64())]
    line = json.dumps({**layout.__dict__, **facts})
    return pa.schema(fields, metadata={KEY: line})


def table_metadata(schema: Any, table: Array) -> dict[str, str]:
    """What the last, empty batch says of the blocks."""
    text = table.tobytes().hex()
    return {"table": text, "sha256": _sum(schema.metadata[KEY], text)}


def _sum(line: bytes, table: str) -> str:
    return hashlib.sha256(line + b"\n" + table.encode()).hexdigest()


class ArrowStore:
    """The blocks of one file that `bocce.data.write_blocks` wrote."""

    encoding = None

    def __init__(self, path: str | os.PathLike[str], direct: bool | None = None) -> None:
        self.path, self._asked = os.fspath(path), direct
        if not Path(path).is_file():
            raise FileNotFoundError(
                f"BlockFile: there is no file {self.path!r}; write one with "
                "bocce.data.write_blocks."
            )
        self.schema, facts, self.table, self.identity = self._header()
        self.layout = Layout(*(facts[key] for key in ("n", "d", "dtype", "blocks")))
        self.d, self.dtype = self.layout.d, np.dtype(self.layout.dtype)
        self.starts, self.depth = self.layout.starts, DEPTH
        self.labels, self.columns = facts["labels"], facts["columns"]
        self.target, self.classes = facts["target"], facts["classes"]
        self._verified: dict[int, tuple[int, int]] = {}  # where X and y lie in such a block
        self._room = int(self.table["length"].max()) // PAGE * PAGE + 3 * PAGE
        size = os.path.getsize(path)
        self._file = open_file(
            Path(path), size > machine_memory() // 2 if direct is None else direct
        )
        self._close = weakref.finalize(self, os.close, self._file)

    def __reduce__(self) -> Any:
        return ArrowStore, (self.path, self._asked)

    def forget(self) -> None:
        self._verified.clear()

    def buffer(self) -> mmap.mmap:
        return mmap.mmap(-1, self._room)  # begins at a page, as direct input needs

    def fill(self, i: int, buffer: mmap.mmap) -> Block:
        entry = self.table[i]
        offset, length = int(entry["offset"]), int(entry["length"])
        skip, view = offset % PAGE, memoryview(buffer)
        if read_at(self._file, view, offset - skip, skip + length) < skip + length:
            raise self._fault(i, "truncated")
        if i not in self._verified:
            self._verified[i] = self._verify(i, view[skip : skip + length])
        at_x, at_y = self._verified[i]
        rows = self.layout.rows(i)
        X = np.frombuffer(buffer, self.dtype, rows * self.d, skip + at_x).reshape(rows, self.d)
        y = np.frombuffer(buffer, np.float64, rows, skip + at_y)
        X.flags.writeable = y.flags.writeable = False
        return X, y

    def _verify(self, i: int, message: memoryview) -> tuple[int, int]:
        """Take a record batch apart, compare its checksums, and say where X and y begin in it."""
        pa = arrow()
        try:
            found = pa.ipc.read_message(pa.py_buffer(message))
            X, y = self._buffers(i, pa.ipc.read_record_batch(found, self.schema))
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, ValueError, TypeError, IndexError, AttributeError):
            raise self._fault(i, "corrupted (it is no record batch of this file)") from None
        if (zlib.crc32(X), zlib.crc32(y)) != (self.table["x"][i], self.table["y"][i]):
            raise self._fault(i, "corrupted (its checksum differs)")
        first = np.frombuffer(message, np.uint8).ctypes.data
        at_x, at_y = X.address - first, y.address - first
        if not (0 <= at_x <= len(message) - X.size and 0 <= at_y <= len(message) - y.size):
            raise self._fault(i, "corrupted (it is compressed)")
        return at_x, at_y

    def _buffers(self, i: int, batch: Any) -> tuple[Any, Any]:
        """The bytes of X and of y. (``to_numpy`` would import pandas, which takes as long as
        reading a gigabyte.)"""
        rows, (x, y) = self.layout.rows(i), batch.columns
        if batch.num_rows != rows or x.null_count or y.null_count or x.values.null_count:
            raise ValueError("another number of rows")
        width = self.dtype.itemsize
        return (
            x.values.buffers()[1].slice(width * x.values.offset, width * rows * self.d),
            y.buffers()[1].slice(8 * y.offset, 8 * rows),
        )

    def _fault(self, i: int, what: str) -> ValueError:
        of = f"of {self.layout.blocks}"
        if what == "truncated":
            return ValueError(f"BlockFile: {self.path!r} is truncated at block {i} {of}; {_REMEDY}")
        return ValueError(f"BlockFile: block {i} {of} of {self.path!r} is {what}; {_REMEDY}")

    def _header(self) -> tuple[Any, dict[str, Any], Array, str]:
        if not is_block_file(self.path):
            raise ValueError(
                f"BlockFile: {self.path!r} is not a block file; write one with "
                "bocce.data.write_blocks, or read it as it is with bocce.data.open."
            )
        pa = arrow()
        try:
            with pa.OSFile(self.path) as file, pa.ipc.open_file(file) as reader:
                last = reader.get_batch_with_custom_metadata(reader.num_record_batches - 1)
                found = dict(last.custom_metadata or {})
                schema = reader.schema
        except MemoryError:  # Arrow's is an ArrowException too, and says nothing of the file
            raise
        except (pa.ArrowException, OSError, IndexError):
            raise ValueError(
                f"BlockFile: {self.path!r} is truncated, or its header or footer is corrupted; "
                f"{_REMEDY}"
            ) from None
        line, text = schema.metadata[KEY], found.get(b"table", b"").decode("ascii", "replace")
        if _sum(line, text).encode() != found.get(b"sha256"):
            raise ValueError(
                f"BlockFile: the header or the table of checksums of {self.path!r} is corrupted; "
                f"{_REMEDY}"
            )
        facts, table = json.loads(line), np.frombuffer(bytes.fromhex(text), ENTRY)
        self._check_claims(schema, facts, table)
        return schema, facts, table, found[b"sha256"].decode()

    def _check_claims(self, found: Any, facts: dict[str, Any], table: Array) -> None:
        """A header can be forged, sums and all: what it says must be possible."""
        try:
            layout = Layout(*(facts[key] for key in ("n", "d", "dtype", "blocks")))
            whole = all(type(facts[key]) is int and facts[key] > 0 for key in ("n", "d", "blocks"))
            possible = whole and layout.dtype in ("float32", "float64")
            possible = possible and found.equals(schema(layout, facts))
            possible = possible and layout.blocks == len(table) and layout.blocks <= layout.n
            possible = possible and _are(float, facts["labels"]) and _are(str, facts["columns"])
            possible = possible and _are(str, facts["classes"])
            possible = possible and isinstance(facts["target"], (str, type(None)))
            ends, size = table["offset"] + table["length"], os.path.getsize(self.path)
            possible = possible and bool((table["offset"] > 0).all() and (ends <= size).all())
            possible = possible and bool((table["length"] > 0).all())
        except (KeyError, TypeError, ValueError, OverflowError):
            possible = False
        if not possible:
            raise ValueError(
                f"BlockFile: the header of {self.path!r} says what cannot be (its numbers of rows, "
                f"columns and blocks, its type, or where its blocks lie); {_REMEDY}"
            )


def _are(kind: type, values: Any) -> bool:
    """Is it a list of these, or None?"""
    return values is None or (
        isinstance(values, list) and all(isinstance(value, kind) for value in values)
    )
