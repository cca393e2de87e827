"""A shuffle on disk: rows in the order of their keys, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .. import sampling

BUCKET_BITS = 6  # rows are dealt out to 64 files by the leading bits of their keys
TOP = 64 - BUCKET_BITS
BUCKET_BYTES = 1 << 28  # what is sorted in memory; a larger bucket is dealt out again
Array = npt.NDArray[Any]


def record(d: int, kind: str) -> np.dtype[Any]:
    """A row on its way: (key, y, x)."""
    return np.dtype([("key", "<u8"), ("y", "<f8"), ("x", np.dtype(kind).newbyteorder("<"), (d,))])


def keyed(rows: Iterable[tuple[Array, Array]], seed: int) -> Iterator[Array]:
    """Records, each with the key of its row's number."""
    done = 0
    for X, y in rows:
        if len(y):
            records = np.empty(len(y), record(X.shape[1], X.dtype.name))
            records["key"] = sampling.shuffle_keys(seed, done, len(y))
            records["y"], records["x"] = y, X
            done += len(y)
            yield records


class Buckets:
    """Files that rows are appended to, by the BUCKET_BITS bits of their keys above ``shift``."""

    def __init__(
        self, name: Callable[[int], Path], sizes: list[int] | None = None, shift: int = TOP
    ) -> None:
        self.shift, self.added = np.uint64(shift), 0
        self.sizes = sizes or [0] * (1 << BUCKET_BITS)
        self.files: list[BinaryIO] = []
        for number, size in enumerate(self.sizes):
            path = name(number)
            file = path.open("r+b" if path.exists() else "x+b", buffering=0)
            self.files.append(file)
            file.truncate(size)  # what came after the last entry in the journal
            file.seek(size)

    def add(self, records: Array) -> None:
        mask = np.uint64((1 << BUCKET_BITS) - 1)
        labels = (records["key"] >> self.shift & mask).astype(np.int64)
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(np.bincount(labels, minlength=len(self.files)))
        records = records[order]
        for number, (file, end) in enumerate(zip(self.files, ends)):
            part = records[(ends[number - 1] if number else 0) : end]
            if len(part):
                write_all(file, part)
                self.sizes[number] += part.nbytes
        self.added += records.nbytes

    def settle(self) -> None:
        for file in self.files:
            os.fsync(file.fileno())

    def close(self) -> None:
        for file in self.files:
            file.close()


def write_all(file: BinaryIO, array: Array) -> None:
    data, done = array.data.cast("B"), 0
    while done < len(data):  # a write may be cut short, by a limit or a full disk
        done += file.write(data[done:])


def in_order(bucket: Path, kind: np.dtype[Any], shift: int = TOP) -> Iterator[Array]:
    """The rows of a bucket in the order of their keys; in parts where it is too large."""
    if bucket.stat().st_size <= max(BUCKET_BYTES, kind.itemsize) or shift < BUCKET_BITS:
        records = np.fromfile(bucket, kind)
        yield records[np.argsort(records["key"])]
        return
    smaller = shift - BUCKET_BITS
    buckets = Buckets(lambda number: Path(f"{bucket}.{number:02d}"), None, smaller)
    at_once = max(1, BUCKET_BYTES // (4 * kind.itemsize))
    try:
        with bucket.open("rb") as file:
            while len(records := np.fromfile(file, kind, at_once)):
                buckets.add(records)
    finally:
        buckets.close()
    for number in range(1 << BUCKET_BITS):
        part = Path(f"{bucket}.{number:02d}")
        yield from in_order(part, kind, smaller)
        part.unlink()
