"""NPZ: archives of plain arrays, never a pickle, and no larger than they say."""

from __future__ import annotations

import errno
import math
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ._places import File
from ._text import HARMLESS, MOST_TIMES, inflates
from .synthetic import FloatArray

Table = tuple[npt.NDArray[np.floating[Any]] | sparse.csr_array, FloatArray]


def read_npz(file: File, limit: int | None = None) -> Table:
    """X and y of an NPZ file of at most ``limit`` bytes."""
    try:
        with file.open() as stream:
            try:
                arrays = npz_arrays(stream, file.name, limit)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                raise _NoArray("it names a place before its beginning") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, _NoArray) as error:
        raise ValueError(
            f"{file.name}: truncated, or not an NPZ file of plain numbers ({error}); "
            "write it with numpy.savez."
        ) from None
    return table_from_arrays(arrays, file.name)


class _NoArray(Exception):
    """A member of an archive is no array of numbers."""


def npz_arrays(
    stream: BinaryIO, name: str, limit: int | None = None
) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an NPZ file; what is not plain numbers is refused, never unpickled.

    What an archive says of its sizes is checked before any memory is taken for it.
    """
    if stream.read(2) != b"PK":  # zipfile would look for an archive behind something else
        raise zipfile.BadZipFile("no zip archive")
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        if limit is not None and total > limit:
            raise ValueError(
                f"{name}: holds {total} bytes, more than memory={limit}; raise memory, or save the "
                "rows as Parquet, which is read in parts."
            )
        for member in members:
            if member.file_size > max(HARMLESS, MOST_TIMES * member.compress_size):
                raise inflates(f"{name}, {member.filename}", member.compress_size)
        return {
            member.filename.removesuffix(".npy"): _member(archive, member) for member in members
        }


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array; its header may say anything, so it is compared with what is there."""
    header = np.lib.format
    readers = {(1, 0): header.read_array_header_1_0, (2, 0): header.read_array_header_2_0}
    try:
        with archive.open(member) as stream:
            shape, fortran, kind = readers[header.read_magic(stream)](stream)
            if kind.hasobject:
                raise _NoArray("Object arrays are not read")
            if math.prod(shape) * kind.itemsize != member.file_size - stream.tell():
                raise _NoArray(f"{member.filename} says {shape}, which is not what it holds")
            flat = np.frombuffer(stream.read(), kind)
    except (ValueError, KeyError, RuntimeError, OverflowError) as error:
        raise _NoArray(str(error)) from None
    return flat.reshape(shape, order="F" if fortran else "C")


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
