"""What ``write_blocks`` is given, as checked dense rows, a few megabytes at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ..._types import Array, Json
from ...blockfile import Block, BlockFile
from ..read.columns import ReadOptions
from ..read.files import are_paths, format_of, one_format, source_of, table_source
from ..read.filesystem import files_of
from ..read.libsvm import Libsvm, read_libsvm
from ..read.npz import read_npz
from ..read.parts import Labels

PIECE_BYTES = 1 << 23  # dense rows handled at once
WHERE = "write_blocks"


class ChunkReader:
    """Dense (X, y) of at most a few megabytes each, checked; X of one type, y float64.

    ``chunks`` is one source or an iterable of sources: a pair (X, y), X dense or sparse; whatever
    ``bocce.data.open`` takes (LIBSVM text is read twice, never whole); a `BlockFile`. Targets that
    are text are counted 0, 1, ... in the order in which they come.
    """

    def __init__(self, chunks: Any, dtype: Any, target: Any, columns: Any, missing: str) -> None:
        self.chunks, self.dtype = chunks, dtype
        self.options = ReadOptions(target, columns, dtype, missing)
        self.columns: list[str] | None = None
        self.target: str | None = None
        self.n, self.labels = 0, Labels()
        self.codes: dict[str, float] = {}  # of text labels

    def __iter__(self) -> Iterator[Block]:
        kind, width = self.dtype, None
        for number, (X, y) in enumerate(self._pairs()):
            X, y = _checked(number, X, y, width)
            width = X.shape[1]
            if kind is None:
                kind = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
            elif self.dtype is None and X.dtype != np.float32 and kind == np.float32:
                raise ValueError(
                    f"{WHERE}: chunk {number} has dtype {X.dtype}, must be float32 as chunk 0; "
                    'give dtype="float64" to keep all digits, or dtype="float32" to drop some.'
                )
            step = max(1, PIECE_BYTES // (8 * width))
            for start in range(0, X.shape[0], step):
                part, targets = X[start : start + step], y[start : start + step]
                dense = part.toarray() if sparse.issparse(part) else part
                with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
                    rows = np.asarray(dense, kind)
                _finite(number, self.n, (rows, targets))
                targets = self._encoded(targets)
                self.n += len(rows)
                yield rows, targets

    def _encoded(self, y: Array) -> Array:
        text = y.dtype == object
        if self.n and text != bool(self.codes):
            raise ValueError(f"{WHERE}: y is text in some chunks and numbers in others.")
        self.labels.add(y)
        if not text:
            return y
        self.labels.classes(self.target)  # or too many
        return np.array([self.codes.setdefault(name, float(len(self.codes))) for name in y])

    def ranks(self) -> Array:
        """The places of the text labels in the alphabet; none where targets are numbers."""
        return np.argsort(np.argsort(list(self.codes))).astype(np.float64)

    def facts(self) -> Json:
        """What the file says of its rows."""
        classes = sorted(self.codes) or None
        return {
            "labels": self.labels.all if classes is None else sorted(self.codes.values()),
            "columns": self.columns,
            "target": self.target,
            "classes": classes,
        }

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        chunks = [self.chunks] if _is_source(self.chunks) else self.chunks
        if are_paths(chunks):  # The width of LIBSVM text is that of all files.
            yield from self._files(chunks)
            return
        if not isinstance(chunks, Iterable):
            raise TypeError(
                f"{WHERE}: chunks={type(chunks).__name__} must be an iterable of pairs (X, y), "
                "paths or tables, or one of them."
            )
        for number, chunk in enumerate(chunks):
            if isinstance(chunk, (str, os.PathLike)):
                yield from self._files([chunk])
            elif isinstance(chunk, BlockFile):
                yield from self._block_file(chunk)
            elif isinstance(chunk, (tuple, list)) and len(chunk) == 2:
                yield chunk[0], chunk[1]
            elif _is_table(chunk):
                yield from self._rows(table_source(chunk, self.options))
            else:
                raise TypeError(
                    f"{WHERE}: chunk {number} is {type(chunk).__name__}, must be a pair (X, y), a "
                    "path or a table."
                )

    def _block_file(self, file: BlockFile) -> Iterator[tuple[Any, Any]]:
        self.columns, self.target = file.columns, file.target
        classes = np.array(file.classes, dtype=object)
        for X, y in file.stream(range(file.n_blocks)):
            yield X, y if file.classes is None else classes[y.astype(np.int64)]

    def _files(self, paths: Any) -> Iterator[tuple[Any, Any]]:
        files = [file for path in paths for file in files_of(path)]
        alike = len({format_of(file) for file in files}) == 1
        for group in [files] if alike else [[file] for file in files]:
            format_ = one_format(group, self.options._replace(dtype=None))
            if format_ == "NPZ":
                yield from (read_npz([file]) for file in group)
            elif format_ == "LIBSVM":
                found = read_libsvm(group, 0)  # its width is that of all files
                yield from found.matrices() if isinstance(found, Libsvm) else [found]
            else:
                yield from self._rows(source_of(group, format_, self.options))

    def _rows(self, source: Any) -> Iterator[tuple[Any, Any]]:
        self.columns, self.target = source.columns, source.target
        for part in source.parts():
            yield part.X, part.y


def _is_table(chunk: Any) -> bool:
    is_arrow = hasattr(chunk, "column_names") or hasattr(chunk, "get_fragments")
    return is_arrow or hasattr(chunk, "__arrow_c_stream__")


def _is_source(chunks: Any) -> bool:
    pair = isinstance(chunks, tuple) and len(chunks) == 2 and np.ndim(chunks[1]) == 1
    rows = pair and (sparse.issparse(chunks[0]) or getattr(chunks[0], "ndim", 0) == 2)
    return rows or isinstance(chunks, (str, os.PathLike, BlockFile)) or _is_table(chunks)


def _checked(number: int, X: Any, y: Any, width: int | None) -> tuple[Any, Array]:
    where = f"{WHERE}: chunk {number}"
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    y = np.asarray(y)
    if y.dtype.kind in "UT":
        y = y.astype(object)
    if X.dtype.kind not in "fiub":
        raise TypeError(
            f"{where}: X has dtype {X.dtype}, must be numeric; encode categories as numbers first."
        )
    if X.ndim != 2 or X.shape[1] < 1 or y.shape != (X.shape[0],):
        raise ValueError(
            f"{where}: X has shape {X.shape} and y {y.shape}, must be (rows, columns) and (rows,)."
        )
    if width is not None and X.shape[1] != width:
        raise ValueError(
            f"{where}: X has {X.shape[1]} columns, must have {width} as chunk 0; give every chunk "
            "the same columns."
        )
    text = y.dtype == object and all(isinstance(label, str) for label in y)
    if not text and y.dtype.kind not in "fiub":
        raise TypeError(f"{where}: y has dtype {y.dtype}, must be numbers or text.")
    return X, y if text else y.astype(np.float64, copy=False)


def _finite(number: int, row: int, piece: Block) -> None:
    for name, array in zip("Xy", piece):
        if array.dtype != object and not np.isfinite(array).all():
            wrong = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
            raise ValueError(
                f"{WHERE}: chunk {number}: {name} has NaN or infinity (first at row "
                f"{row + int(np.argmax(wrong))} of all), must be finite; remove or impute such "
                "rows."
            )
