"""Rows from wherever they are, a few megabytes at a time: arrays, CSR, files, Arrow tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .files import kind_of, parsed_rows, read_table, text_chunks

PIECE_BYTES = 1 << 23  # dense rows handled at once
TABLE_ROWS = 1 << 16  # rows of a parquet file read at once
WHERE = "write_blocks"
Piece = tuple[np.ndarray, np.ndarray]


def pieces(chunks: Any, dtype: Any = None) -> Iterator[Piece]:
    """Dense (X, y) of at most a few megabytes each, checked; y is float64, X of one type.

    ``chunks`` is one source or an iterable of sources: a pair (X, y), X dense or sparse; a path
    (parquet, or what ``read_table`` reads; LIBSVM text is read twice, never whole); an Arrow table.
    """
    kind, width, row = dtype, None, 0
    for number, (X, y) in enumerate(_pairs(chunks)):
        X, y = _checked(number, X, y, width)
        width = X.shape[1]
        if kind is None:
            kind = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        elif dtype is None and X.dtype != np.float32 and kind == np.float32:
            raise ValueError(
                f"{WHERE}: chunk {number} has dtype {X.dtype}, must be float32 as chunk 0; give "
                'dtype="float64" to keep all digits, or dtype="float32" to drop some.'
            )
        step = max(1, PIECE_BYTES // (8 * width))
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            dense = part.toarray() if sparse.issparse(part) else part
            with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
                piece = np.asarray(dense, kind), np.asarray(y[start : start + step], np.float64)
            _finite(number, row, piece)
            row += piece[0].shape[0]
            yield piece


def _pairs(chunks: Any) -> Iterator[tuple[Any, Any]]:
    if _is_source(chunks):
        chunks = [chunks]
    if not isinstance(chunks, Iterable):
        raise TypeError(
            f"{WHERE}: chunks={type(chunks).__name__} must be an iterable of pairs (X, y), paths "
            "or Arrow tables, or one of them."
        )
    if isinstance(chunks, (list, tuple)) and chunks and all(map(_is_text, chunks)):
        yield from _libsvm([Path(path) for path in chunks])
        return
    for number, chunk in enumerate(chunks):
        if isinstance(chunk, (str, os.PathLike)):
            yield from _file(Path(chunk))
        elif hasattr(chunk, "column_names"):
            yield table_rows(chunk)
        elif isinstance(chunk, (tuple, list)) and len(chunk) == 2:
            yield chunk[0], chunk[1]
        else:
            raise TypeError(
                f"{WHERE}: chunk {number} is {type(chunk).__name__}, must be a pair (X, y), a path "
                "or an Arrow table."
            )


def _is_source(chunks: Any) -> bool:
    pair = isinstance(chunks, tuple) and len(chunks) == 2 and np.ndim(chunks[1]) == 1
    rows = pair and (sparse.issparse(chunks[0]) or getattr(chunks[0], "ndim", 0) == 2)
    return rows or isinstance(chunks, (str, os.PathLike)) or hasattr(chunks, "column_names")


def _is_text(chunk: Any) -> bool:
    """Is it the path of LIBSVM text?"""
    if not isinstance(chunk, (str, os.PathLike)):
        return False
    return kind_of(Path(chunk)) not in (".npz", ".csv", ".parquet")


def _file(path: Path) -> Iterator[tuple[Any, Any]]:
    if not path.is_file():
        raise FileNotFoundError(f"{WHERE}: there is no file {str(path)!r}; check its name.")
    if path.suffix.lower() == ".parquet":
        for batch in _parquet(path).iter_batches(batch_size=TABLE_ROWS):
            yield table_rows(batch)
    elif _is_text(path):
        yield from _libsvm([path])
    else:
        yield read_table(path)


def _parquet(path: Path) -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            f"{WHERE}: {path.name} needs pyarrow to be read; pip install pyarrow."
        ) from error
    return parquet.ParquetFile(path)


def table_rows(table: Any) -> tuple[Any, Any]:
    """An Arrow table or record batch; its last column is the target, as in a CSV file."""
    columns = [np.asarray(column) for column in table.columns]
    if len(columns) < 2:
        raise ValueError(f"{WHERE}: a table has {len(columns)} columns, must have features and y.")
    same = all(column.dtype == np.float32 for column in columns[:-1])
    for name, column in zip(table.column_names, columns):
        if column.dtype.kind not in "fiub":
            raise ValueError(
                f"{WHERE}: column {name!r} has type {column.dtype}, must be real numbers; encode "
                "or drop it."
            )
    X = np.column_stack(columns[:-1]).astype(np.float32 if same else np.float64, copy=False)
    return X, columns[-1]


def _libsvm(paths: list[Path]) -> Iterator[tuple[Any, Any]]:
    """LIBSVM files that belong together: one pass for the columns, one for the rows."""
    lowest, highest = 1, 0
    for path in paths:
        for rows in parsed_rows(text_chunks(path), path.name):
            if rows.indices.size:
                lowest = min(lowest, int(rows.indices.min()))
                highest = max(highest, int(rows.indices.max()))
    base = 0 if lowest == 0 else 1
    columns = highest + 1 - base
    if columns < 1:
        raise ValueError(f"{WHERE}: {paths[0].name} holds no feature; expected LIBSVM text.")
    for path in paths:
        for rows in parsed_rows(text_chunks(path), path.name):
            indptr = np.concatenate([[0], np.cumsum(rows.counts)])
            shape = (rows.labels.size, columns)
            yield sparse.csr_array((rows.values, rows.indices - base, indptr), shape), rows.labels


def _checked(number: int, X: Any, y: Any, width: int | None) -> tuple[Any, np.ndarray]:
    where = f"{WHERE}: chunk {number}"
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    y = np.asarray(y)
    for name, array in (("X", X), ("y", y)):
        if array.dtype.kind not in "fiub":
            raise TypeError(
                f"{where}: {name} has dtype {array.dtype}, must be numeric; encode labels as "
                "numbers first."
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
    return X, y


def _finite(number: int, row: int, piece: Piece) -> None:
    for name, array in zip("Xy", piece):
        if not np.isfinite(array).all():
            wrong = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
            raise ValueError(
                f"{WHERE}: chunk {number}: {name} has NaN or infinity (first at row "
                f"{row + int(np.argmax(wrong))} of all), must be finite; remove or impute such "
                "rows."
            )
