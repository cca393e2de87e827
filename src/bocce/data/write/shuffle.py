"""A shuffle on disk: rows in the order of their keys, in bounded memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ... import sampling
from ..._types import Array

BUCKET_BITS = 6  # rows are dealt out to 64 files by the leading bits of their keys
TOP = 64 - BUCKET_BITS
BUCKET_BYTES = 1 << 28  # what is sorted in memory; a larger bucket is dealt out again


def record(d: int, kind: str) -> np.dtype[Any]:
    """A row on its way: (key, y, x)."""
    return np.dtype([("key", "<u8"), ("y", "<f8"), ("x", np.dtype(kind).newbyteorder("<"), (d,))])


def keyed(X: Array, y: Array, seed: int, first: int) -> Array:
    """Records, each with the key of its row's number."""
    records = np.empty(len(y), record(X.shape[1], X.dtype.name))
    records["key"] = sampling.shuffle_keys(seed, first, len(y))
    records["y"], records["x"] = y, X
    return records


class Buckets:
    """Files that rows are appended to, by the BUCKET_BITS bits of their keys above ``shift``.

    The files have no name in ``folder``, so they end with the process, however it ends.
    """

    def __init__(self, folder: Path, shift: int = TOP) -> None:
        self.folder, self.shift = folder, shift
        self.files: list[IO[bytes]] = []
        try:
            for _ in range(1 << BUCKET_BITS):
                self.files.append(tempfile.TemporaryFile(dir=folder, buffering=0))  # noqa: SIM115
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Buckets:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        for file in self.files:
            file.close()

    def add(self, records: Array) -> None:
        mask = np.uint64((1 << BUCKET_BITS) - 1)
        labels = (records["key"] >> np.uint64(self.shift) & mask).astype(np.int64)
        records = records[np.argsort(labels, kind="stable")]
        ends = np.cumsum(np.bincount(labels, minlength=len(self.files)))
        for file, part in zip(self.files, np.split(records, ends[:-1])):
            write_all(file, part)

    def in_order(self, kind: np.dtype[Any]) -> Iterator[Array]:
        """All rows in the order of their keys, a bucket at a time; a bucket is closed when done."""
        for file in self.files:
            size = file.seek(0, 2)
            file.seek(0)
            if size <= max(BUCKET_BYTES, kind.itemsize) or self.shift < BUCKET_BITS:
                records = np.fromfile(file, kind)
                yield records[np.argsort(records["key"])]
            else:
                with Buckets(self.folder, self.shift - BUCKET_BITS) as smaller:
                    at_once = max(1, BUCKET_BYTES // (4 * kind.itemsize))
                    while len(records := np.fromfile(file, kind, at_once)):
                        smaller.add(records)
                    yield from smaller.in_order(kind)
            file.close()


def write_all(file: IO[bytes], array: Array) -> None:
    data, done = array.data.cast("B"), 0
    while done < len(data):  # a write may be cut short, by a limit or a full disk
        done += file.write(data[done:])
