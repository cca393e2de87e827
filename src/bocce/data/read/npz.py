"""NPZ: archives of plain arrays, never a pickle, and no larger than they say."""

from __future__ import annotations

import errno
import math
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from ..._types import Array
from .filesystem import File
from .text import check_inflation

CSR = ("data", "indices", "indptr", "shape")


class _NoArray(Exception):
    """A member of an archive is no array of numbers."""


def read_npz(file: File, limit: int | None = None) -> tuple[Any, Array]:
    """X and y of an NPZ file of at most ``limit`` bytes."""
    try:
        with file.open() as stream:
            arrays = _arrays(stream, file.name, limit)
    except (
        *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, _NoArray),
        OSError,
    ) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place before the file
            raise
        raise ValueError(
            f"{file.name}: truncated, or not an NPZ file of plain numbers ({error}); "
            "write it with numpy.savez."
        ) from None
    return _table(arrays, file.name)


def _arrays(stream: BinaryIO, name: str, limit: int | None) -> dict[str, Array]:
    """All arrays; the sizes that the archive states are checked before memory is taken."""
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
            check_inflation(f"{name}, {member.filename}", member.file_size, member.compress_size)
        return {m.filename.removesuffix(".npy"): _member(archive, m) for m in members}


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
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


def _table(arrays: dict[str, Array], source: str) -> tuple[Any, Array]:
    """X and y from named arrays: ``X, y``, or ``data, indices, indptr, shape, y``."""
    wanted = ("X", "y") if "X" in arrays else (*CSR, "y")
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise ValueError(
            f"{source}: has arrays {sorted(arrays)}, but not {missing}; expected X and y, "
            "or CSR parts data, indices, indptr, shape and y."
        )
    for name in (wanted[0], "y"):
        if arrays[name].dtype.kind not in "fiub":
            kind = arrays[name].dtype
            raise ValueError(f"{source}: {name} has type {kind}, must be real numbers.")
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{source}: {name} holds NaN or infinity; fill in or drop such rows.")
    X: Any = arrays[wanted[0]]
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if wanted[0] == "data":
        try:
            triple = X, arrays["indices"], arrays["indptr"]
            X = sparse.csr_array(triple, shape=tuple(arrays["shape"].tolist()))
            X.check_format(full_check=True)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{source}: not a CSR matrix ({error}).") from None
    y = np.asarray(arrays["y"], dtype=np.float64)
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(
            f"{source}: X has shape {X.shape} and y {y.shape}; expected (n, d) and (n,)."
        )
    return X, y
