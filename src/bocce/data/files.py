"""Tables from files: LIBSVM text, CSV and NPZ, plain or compressed, never a pickle."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ._svmlight import Rows, parse
from .synthetic import FloatArray

Table = tuple[npt.NDArray[np.floating[Any]] | sparse.csr_array, FloatArray]

_OPENERS = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_CHUNK = 1 << 20


def read_table(path: str | os.PathLike[str]) -> Table:
    """Features X and targets y of a file, by its name (after a final .bz2, .gz or .xz).

    ``.npz``
        arrays ``X`` and ``y``; or CSR parts ``data, indices, indptr, shape`` and ``y``. X keeps its
        float32 or float64.
    ``.csv``
        numbers with commas, one row a line; the last column is the target. A first line with a
        cell that is not a number is a header, and is skipped.
    anything else
        LIBSVM text, ``label index:value index:value ...``; X is CSR. ``#`` begins a comment, a
        ``qid:`` is passed over, blank lines are no rows, a label alone is a row of zeros. Indices
        count from 0 if a 0 occurs anywhere in the file and from 1 otherwise; they must increase
        within a line. d is the largest index.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        With the file, and the line and token, of what is wrong: not a number, NaN, infinity, a
        truncated or damaged archive, lengths that do not match.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.svm"
    >>> _ = path.write_text("+1 1:0.5 3:2\\n-1  # an empty row\\n")
    >>> X, y = read_table(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.0, 0.0]], [1.0, -1.0])
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"read_table: there is no file {str(path)!r}; check its name.")
    kind = kind_of(path)
    if kind == ".npz":
        return _read_npz(path)
    if kind == ".csv":
        return _read_csv(b"".join(text_chunks(path)), path.name)
    return libsvm_table(text_chunks(path), path.name)


def kind_of(path: Path) -> str:
    """The last suffix that is not a compression's, in lower case.

    >>> kind_of(Path("rows.CSV.gz")), kind_of(Path("mushrooms.bz2"))
    ('.csv', '')
    """
    suffixes = [suffix for suffix in path.suffixes if suffix not in _OPENERS]
    return suffixes[-1].lower() if suffixes else ""


def text_chunks(path: Path) -> Iterator[bytes]:
    """The text of a file in pieces of about a megabyte, decompressed by its suffix."""
    opener = _OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except EOFError:
        raise ValueError(
            f"{path.name}: the compressed file is truncated; fetch or copy it again."
        ) from None
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise ValueError(_damaged(path, error)) from None
    except OSError as error:
        if error.errno is not None:  # the disk's fault, not the text's
            raise
        raise ValueError(_damaged(path, error)) from None


def _damaged(path: Path, error: Exception) -> str:
    return f"{path.name}: damaged, or not a {path.suffix} file ({error}); fetch or copy it again."


def libsvm_table(chunks: Iterable[bytes], source: str) -> tuple[sparse.csr_array, FloatArray]:
    """CSR features and labels from pieces of LIBSVM text."""
    parts = list(parsed_rows(chunks, source))
    labels, counts, indices, values = (np.concatenate(column) for column in zip(*parts))
    if labels.size == 0:
        raise ValueError(f"{source}: holds no row; expected lines of label index:value ...")
    if indices.size == 0:
        raise ValueError(f"{source}: holds no feature; expected lines of label index:value ...")
    base = 0 if indices.min() == 0 else 1
    shape = (labels.size, int(indices.max()) + 1 - base)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    width = np.int32 if indptr[-1] < 2**31 else np.int64  # one type for both, as SciPy wants
    X = sparse.csr_array(
        (values, (indices - base).astype(width), indptr.astype(width)), shape=shape
    )
    return X, labels


def parsed_rows(chunks: Iterable[bytes], source: str) -> Iterator[Rows]:
    """The rows of LIBSVM text, piece by piece; pieces may end anywhere in a line."""
    rest, line = b"", 1
    for chunk in chunks:
        text = rest + chunk
        cut = text.rfind(b"\n") + 1
        text, rest = text[:cut], text[cut:]
        yield parse(text, source, line)
        line += text.count(b"\n")
    yield parse(rest, source, line)


# ---------------------------------------------------------------- CSV


def _read_csv(data: bytes, source: str) -> Table:
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{source}: not UTF-8 text at byte {error.start}; save it so.") from None
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if rows and not all(map(_is_number, next(csv.reader([rows[0][1]])))):
        rows = rows[1:]
    if not rows:
        raise ValueError(f"{source}: holds no row of numbers.")
    texts = [line for _, line in rows]
    try:
        table = np.loadtxt(texts, delimiter=",", quotechar='"', comments=None, ndmin=2)
    except ValueError as error:
        _explain_csv(rows, source, error)
    if table.shape[1] < 2:
        raise ValueError(f"{source}: has one column; expected features and, last, the target.")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(
            f"{source}, line {rows[row][0]}: column {column + 1} must be a finite number; "
            "fill in or drop such rows."
        )
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _explain_csv(rows: list[tuple[int, str]], source: str, error: ValueError) -> NoReturn:
    """Say where the table is wrong: NumPy counts rows without the blank lines and the header."""
    width = len(next(csv.reader([rows[0][1]])))
    for number, line in rows:
        cells = next(csv.reader([line]))
        if len(cells) != width:
            raise ValueError(
                f"{source}, line {number}: has {len(cells)} cells where the first row has {width}."
            ) from None
        for column, cell in enumerate(cells, 1):
            if not _is_number(cell):
                raise ValueError(
                    f"{source}, line {number}: {cell!r} in column {column} must be a number; "
                    "fill in or drop such rows, and encode categories."
                ) from None
    raise ValueError(f"{source}: {error}") from None


# ---------------------------------------------------------------- NPZ


def _read_npz(path: Path) -> Table:
    try:
        arrays = npz_arrays(path)
    except (ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(
            f"{path.name}: truncated, or not an NPZ file of plain numbers ({error}); "
            "write it with numpy.savez."
        ) from None
    return table_from_arrays(arrays, path.name)


def npz_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an NPZ file; what is not plain numbers is refused, never unpickled."""
    if not zipfile.is_zipfile(path):  # or NumPy would read a lone array, or try a pickle
        raise zipfile.BadZipFile("no zip archive")
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        return dict(archive)


def table_from_arrays(arrays: dict[str, npt.NDArray[Any]], source: str) -> Table:
    """X and y from named arrays: ``X, y``, or ``data, indices, indptr, shape, y``."""
    parts = ("data", "indices", "indptr", "shape")
    wanted = ("X", "y") if "X" in arrays else (*parts, "y")
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise ValueError(
            f"{source}: has arrays {sorted(arrays)}, but not {missing}; expected X and y, "
            "or CSR parts data, indices, indptr, shape and y."
        )
    for name in ("X" if "X" in arrays else "data", "y"):
        _check_numbers(arrays[name], name, source)
    y = np.asarray(arrays["y"], dtype=np.float64)
    X: Any = _floating(arrays["X"]) if "X" in arrays else _csr(arrays, source)
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(
            f"{source}: X has shape {X.shape} and y {y.shape}; expected (n, d) and (n,)."
        )
    return X, y


def _csr(arrays: dict[str, npt.NDArray[Any]], source: str) -> sparse.csr_array:
    data, indices, indptr = _floating(arrays["data"]), arrays["indices"], arrays["indptr"]
    try:
        X = sparse.csr_array((data, indices, indptr), shape=tuple(arrays["shape"].tolist()))
        X.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source}: not a CSR matrix ({error}).") from None
    return X


def _floating(array: npt.NDArray[Any]) -> npt.NDArray[np.floating[Any]]:
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _check_numbers(array: npt.NDArray[Any], name: str, source: str) -> None:
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{source}: {name} has type {array.dtype}, must be real numbers.")
    if not np.isfinite(array).all():
        raise ValueError(f"{source}: {name} holds NaN or infinity; fill in or drop such rows.")
