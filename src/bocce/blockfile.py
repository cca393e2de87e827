"""Rows on disk in blocks of equal size: what is read when the data are larger than memory.

A block file is an Arrow IPC file (Feather), which pyarrow, polars and others open too::

    schema      x: fixed_size_list<float or double>[d], y: double; under the key "bocce.blocks" one
                line of JSON: n, d, dtype, blocks, labels, seed, columns, target
    blocks      record batch i holds the rows of block i, one after the other
    table       a last batch without rows; its metadata say where each block lies, two CRC-32 of
                each (of its X and of its y), and the SHA-256 of the schema's line and this table

The sizes of blocks differ by at most one row. ``bocce.data.write_blocks`` writes such a file,
shuffled; ``bocce.data.open`` makes a ``BlockFile`` of other files, as they are.
"""

from __future__ import annotations

import copy
import errno
import hashlib
import json
import os
import weakref
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ._direct import machine_memory, no_memory, open_file, read_ahead, read_at
from ._extras import arrow
from ._types import Array, Arrow, Json

__all__ = ["BlockFile", "Store"]

Block = tuple[Array, Array]
KEY = b"bocce.blocks"
MAGIC = b"ARROW1"
LONGEST_SCHEMA = 1 << 26  # bytes: a million names of columns
DEPTH = 6  # blocks in memory while streaming: one in use, the others read ahead
READERS = 3  # threads that read: two ask the disk while one compares checksums
ENTRY = np.dtype([("offset", "<i8"), ("length", "<i8"), ("x", "<u4"), ("y", "<u4")])
LISTS = {"labels": float, "columns": str, "classes": str}  # facts that are lists, or None


class Store(Protocol):
    """Where blocks lie; a `BlockFile` reads ahead from it. A pickled one opens its files anew."""

    path: str  # for messages
    d: int
    dtype: np.dtype[np.generic]
    starts: Array  # the first row of each block, and n
    labels: list[float] | None  # the different targets, sorted; None if there are too many
    columns: list[str] | None
    target: str | None
    classes: list[str] | None  # what labels 0, 1, ... were called, where y is text
    encoding: Any  # how text and dates became numbers, a `bocce.data.Encoding` or None
    identity: str  # a hash of all rows
    depth: int  # blocks that fit into memory

    def read(self, i: int) -> Block:
        """Read a block, in memory of its own and checked; several threads may read at once.

        Parameters
        ----------
        i : int
            The block.

        Returns
        -------
        tuple of (ndarray, ndarray)
            X (row-major) and y (float64), read-only.
        """


def is_block_file(path: str | os.PathLike[str]) -> bool:
    """Did `bocce.data.write_blocks` write the file?"""
    path = Path(path)
    if not path.is_file():  # opening a pipe would wait for ever
        return False
    with path.open("rb") as file:
        head = file.read(16)  # the magic, two zeros, four marks, the length of the schema
        length = int.from_bytes(head[12:], "little")
        return head.startswith(MAGIC) and KEY in file.read(min(length, LONGEST_SCHEMA))


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

        Raises
        ------
        ValueError, MemoryError
            If the block is truncated or corrupted, or does not fit into memory.
        """
        if not 0 <= i < self.n_blocks:
            raise IndexError(f"BlockFile: block {i} must be from 0 to {self.n_blocks - 1}.")
        try:
            return self.store.read(i)
        except (MemoryError, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.ENOMEM:
                raise
            size = self.block_rows * (self.d * self.dtype.itemsize + 8)
            said = f" ({error})" if str(error) else ""
            place = f"BlockFile: a block of {str(self.path)!r}{said}"
            raise MemoryError(no_memory(place, size)) from None

    def verify(self) -> None:
        """Read every block and compare its checksums, whether seen before or not."""
        for _ in BlockFile(copy.copy(self.store)).stream(range(self.n_blocks)):
            pass

    def stream(self, blocks: Iterable[int]) -> Iterator[Block]:
        """Blocks, read ahead by threads.

        Close it (``contextlib.closing``) when leaving early, so that the threads end at once.

        Parameters
        ----------
        blocks : iterable of int
            Which blocks, in which order.

        Returns
        -------
        iterator of tuple of (ndarray, ndarray)
            X and y of each block.
        """
        return read_ahead(self.read, blocks, READERS, self.store.depth)


# -- the file that write_blocks writes ---------------------------------------------------------


def block_starts(n: int, blocks: int) -> Array:
    """The first row of each block, and n.

    >>> block_starts(10, blocks=4).tolist()
    [0, 3, 6, 8, 10]
    """
    i = np.arange(blocks + 1)
    return i * (n // blocks) + np.minimum(i, n % blocks)


def schema(facts: Json) -> Arrow:
    """The Arrow schema of a block file; what ``facts`` has stands above."""
    pa = arrow()
    number = pa.float32() if facts["dtype"] == "float32" else pa.float64()
    fields = [("x", pa.list_(number, facts["d"])), ("y", pa.float64())]
    return pa.schema(fields, metadata={KEY: json.dumps(facts)})


def table_metadata(schema: Arrow, table: Array) -> dict[str, str]:
    """What the last, empty batch says of the blocks."""
    text = table.tobytes().hex()
    return {"table": text, "sha256": _sum(schema.metadata[KEY], text)}


def _sum(line: bytes, table: str) -> str:
    return hashlib.sha256(line + b"\n" + table.encode()).hexdigest()


def _broken(what: str) -> ValueError:
    return ValueError(f"BlockFile: {what}; write the file again from its source.")


class ArrowStore:
    """The blocks of one file that `bocce.data.write_blocks` wrote."""

    encoding: Any = None
    depth = DEPTH

    def __init__(self, path: str | os.PathLike[str], direct: bool | None = None) -> None:
        self.path, self._asked = os.fspath(path), direct
        if not Path(path).is_file():
            raise FileNotFoundError(
                f"BlockFile: there is no file {self.path!r}; write one with "
                "bocce.data.write_blocks."
            )
        facts = self._open()
        self.d, self.dtype = facts["d"], np.dtype(str(facts["dtype"]))
        self.starts, self.labels = block_starts(facts["n"], facts["blocks"]), facts["labels"]
        self.columns, self.target = facts["columns"], facts["target"]
        self.classes = facts["classes"]
        self._verified = set[int]()
        direct = os.path.getsize(path) > machine_memory() // 2 if direct is None else direct
        self._file = open_file(Path(path), direct)
        self._close = weakref.finalize(self, os.close, self._file)

    def __reduce__(self) -> Any:
        return ArrowStore, (self.path, self._asked)

    def read(self, i: int) -> Block:
        offset, length, *sums = self.table[i].tolist()
        block, pa = f"block {i} of {len(self.table)}", arrow()
        data = read_at(self._file, offset, length)
        if len(data) < length:
            raise _broken(f"{self.path!r} is truncated at {block}")
        block += f" of {self.path!r} is corrupted"
        try:
            message = pa.ipc.read_message(pa.py_buffer(data))
            X, y = self._arrays(i, pa.ipc.read_record_batch(message, self.schema))
        except MemoryError:  # Arrow's is an ArrowException too, and says nothing of the file
            raise
        except (pa.ArrowException, OSError, ValueError, TypeError, IndexError, AttributeError):
            raise _broken(f"{block} (it is no record batch of this file)") from None
        if i not in self._verified and [zlib.crc32(X.data), zlib.crc32(y.data)] != sums:
            raise _broken(f"{block} (its checksum differs)")
        self._verified.add(i)
        return X, y

    def _arrays(self, i: int, batch: Arrow) -> Block:
        """X and y without a copy. (``to_numpy`` would import pandas, which takes as long as reading
        a gigabyte.)"""
        rows, columns = (
            self.starts[i + 1] - self.starts[i],
            (batch.column(0).values, batch.column(1)),
        )
        if batch.num_rows != rows or any(c.null_count for c in (batch.column(0), *columns)):
            raise ValueError("another number of rows")
        X, y = (np.from_dlpack(column) for column in columns)
        return X.reshape(rows, self.d), y

    def _open(self) -> Json:
        """Read the header and the table of blocks; a forged one must at least be possible."""
        if not is_block_file(self.path):
            raise ValueError(
                f"BlockFile: {self.path!r} is not a block file; write one with "
                "bocce.data.write_blocks, or read it as it is with bocce.data.open."
            )
        pa = arrow()
        try:
            with pa.OSFile(self.path) as file, pa.ipc.open_file(file) as reader:
                last = reader.get_batch_with_custom_metadata(reader.num_record_batches - 1)
                found, self.schema = dict(last.custom_metadata or {}), reader.schema
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, IndexError):
            what = f"{self.path!r} is truncated, or its header or footer is corrupted"
            raise _broken(what) from None
        line, text = self.schema.metadata[KEY], found.get(b"table", b"").decode("ascii", "replace")
        self.identity = _sum(line, text)
        if self.identity.encode() != found.get(b"sha256"):
            raise _broken(f"the header or the table of checksums of {self.path!r} is corrupted")
        facts, self.table = json.loads(line), np.frombuffer(bytes.fromhex(text), ENTRY)
        try:
            possible = self._is_possible(facts)
        except (KeyError, TypeError, ValueError, OverflowError):
            possible = False
        if not possible:
            raise _broken(
                f"the header of {self.path!r} says what cannot be (its numbers of rows, columns "
                "and blocks, its type, or where its blocks lie)"
            )
        return dict(facts)

    def _is_possible(self, facts: Json) -> bool:
        begins, lengths = self.table["offset"], self.table["length"]
        return (
            all(type(facts[key]) is int and facts[key] > 0 for key in ("n", "d", "blocks"))
            and facts["dtype"] in ("float32", "float64")
            and self.schema.equals(schema(facts))
            and facts["n"] >= facts["blocks"] == len(self.table)
            and all(isinstance(v, kind) for key, kind in LISTS.items() for v in facts[key] or ())
            and all(isinstance(facts[key], (list, type(None))) for key in LISTS)
            and isinstance(facts["target"], (str, type(None)))
            and bool((begins > 0).all() and (lengths > 0).all())
            and bool((begins + lengths <= os.path.getsize(self.path)).all())
        )
