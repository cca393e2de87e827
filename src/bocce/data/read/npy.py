"""NPY: one array of numbers, mapped; a row of the array is a row, and one column is the target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._types import Array
from ...rows.files import Block
from .columns import ReadOptions, bad_value, chosen
from .parts import Source
from .paths import File

PART_BYTES = 1 << 20  # of the array, in a part


class Slice(NamedTuple):
    """The key of some consecutive rows of a file."""

    file: File
    start: int
    stop: int

    @property
    def place(self) -> str:
        return f"{self.file.name}, row {self.start}"

    def where(self, row: int) -> str:
        return f"{self.file.name}, row {self.start + row}"

    def stored(self) -> Slice:
        return self


class Npy(Source):
    """Arrays of shape (n, columns). Columns are called x0, x1, ..."""

    files: list[File]
    columns: list[str]

    def __init__(self, files: list[File], options: ReadOptions) -> None:
        self.files = files
        self.name = files[0].name
        self.limit = options.limit
        first = mapped(files[0])
        self.width = first.shape[1]
        names = [f"x{j}" for j in range(self.width)]
        self.target, self.columns = chosen(names, options, self.name)
        self.places = [names.index(name) for name in self.columns]
        self.goal = names.index(self.target)
        self.d = len(self.places)
        single = first.dtype in (np.float16, np.float32)
        self.dtype = options.dtype or np.dtype(np.float32 if single else np.float64)
        for file in files[1:]:
            self._check_agrees(mapped(file), file.name)

    def _check_agrees(self, array: Array, name: str) -> None:
        if array.shape[1] != self.width:
            raise ValueError(
                f"{name}: has {array.shape[1]} columns, must have {self.width} as {self.name}; "
                "give the files of one table."
            )

    def keys(self) -> Iterator[Slice]:
        for file in self.files:
            array = mapped(file)
            a_row = max(1, self.width * max(array.itemsize, self.dtype.itemsize))
            step = max(1, min(PART_BYTES, self.limit // 4) // a_row)
            for start in range(0, len(array), step):
                yield Slice(file, start, min(start + step, len(array)))

    def known_bytes(self) -> int:
        rows = sum(len(mapped(file)) for file in self.files)
        return rows * (self.d * self.dtype.itemsize + 8)

    def rows(self, key: Slice) -> Block:
        block = mapped(key.file)[key.start : key.stop]
        with np.errstate(over="ignore"):  # what float32 cannot hold is refused later
            X = np.ascontiguousarray(block[:, self.places], self.dtype)
        return X, block[:, self.goal].astype(np.float64)

    def checked(self, key: Slice) -> Block:
        X, y = self.rows(key)
        bad = ~np.isfinite(np.column_stack([X, y]))
        if bad.any():
            row, column = (int(place) for place in np.argwhere(bad)[0])
            name = [*self.columns, self.target or "y"][column]
            raise bad_value(key.where(row), name, float([*X[row], y[row]][column]))
        return X, y

    def file_of(self, key: Slice) -> File | None:
        return key.file


def mapped(file: File) -> Array:
    """The array of a file, checked: two dimensions, real numbers, as long as its header says."""
    try:
        array: Any = np.load(file.path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OverflowError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(
            f"{file.name}: truncated, or not an NPY file of plain numbers ({error}); write it with "
            "numpy.save."
        ) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
        kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{file.name}: has type {kind}, must be real numbers.")
    if array.ndim != 2:
        raise ValueError(
            f"{file.name}: has shape {array.shape}, must have rows and columns, one of them the "
            "target; write X and y together: numpy.column_stack([X, y])."
        )
    return array
