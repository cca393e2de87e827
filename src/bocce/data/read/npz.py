"""NPZ and NPY: plain arrays, never a pickle, and no larger than they say."""

from __future__ import annotations

import errno
import zipfile
import zlib
from typing import Any

import numpy as np
from scipy import sparse

from ..._types import Array
from .columns import ReadOptions
from .paths import File
from .text import check_inflation

CSR = ("data", "indices", "indptr", "shape")


def read_npz(files: list[File], options: ReadOptions) -> tuple[Any, Array]:
    """X and y of one NPZ file."""
    if len(files) > 1:
        raise ValueError(
            f"open: {len(files)} NPZ files must be one; join them, or open them one by one."
        )
    try:
        arrays = _arrays(files[0], options.limit)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place before the file
            raise
        raise ValueError(
            f"{files[0].name}: truncated, or not an NPZ file of plain numbers ({error}); "
            "write it with numpy.savez."
        ) from None
    return _table(arrays, files[0].name, options.dtype)


def _arrays(file: File, limit: int) -> dict[str, Array]:
    """All arrays; the sizes that the archive states are checked before memory is taken."""
    with file.open() as stream:
        if stream.read(2) != b"PK":  # zipfile would look for an archive behind something else
            raise zipfile.BadZipFile("no zip archive")
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if total > limit:
                raise ValueError(
                    f"{file.name}: holds {total} bytes, more than memory={limit}; raise memory, or "
                    "save the rows as Parquet, which is read in parts."
                )
            for member in members:
                place = f"{file.name}, {member.filename}"
                check_inflation(place, member.file_size, member.compress_size)
            return {m.filename.removesuffix(".npy"): _array(archive, m) for m in members}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    try:
        with archive.open(member) as stream:
            array: Array = np.lib.format.read_array(stream, allow_pickle=False)
            if stream.read(1):  # at its end the archive compares a checksum
                raise ValueError(f"{member.filename} holds more than its header says")
    except (ValueError, OverflowError, MemoryError) as error:  # a header may say anything
        raise zipfile.BadZipFile(str(error)) from None
    return array


def _table(arrays: dict[str, Array], source: str, dtype: Any) -> tuple[Any, Array]:
    """X and y from named arrays: ``X, y``, or ``data, indices, indptr, shape, y``."""
    wanted = ("X", "y") if "X" in arrays else (*CSR, "y")
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise ValueError(
            f"{source}: has arrays {sorted(arrays)}, but not {missing}; expected X and y, "
            "or CSR parts data, indices, indptr, shape and y."
        )
    text = arrays["y"].dtype.kind == "U"  # labels
    for name in wanted[:1] if text else (wanted[0], "y"):
        if arrays[name].dtype.kind not in "fiub":
            kind = arrays[name].dtype
            raise ValueError(f"{source}: {name} has type {kind}, must be real numbers.")
        _check_finite(arrays, name, source)
    X: Any = arrays[wanted[0]]
    if X.dtype not in (np.float32, np.float64) or dtype is not None:
        X = X.astype(dtype or np.float64, copy=False)
    if wanted[0] == "data":
        try:
            triple = X, arrays["indices"], arrays["indptr"]
            X = sparse.csr_array(triple, shape=tuple(arrays["shape"].tolist()))
            X.check_format(full_check=True)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{source}: not a CSR matrix ({error}).") from None
    y = arrays["y"]
    if not text:
        y = np.asarray(y, dtype=np.float64)
    elif (y == "").any():
        row = int(np.argmax(y == ""))
        raise ValueError(f"{source}, row {row}: y is empty; fill in or drop such rows.")
    if y.size == 0:
        raise ValueError(f"{source}: holds no row; check what was written there.")
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(
            f"{source}: X has shape {X.shape} and y {y.shape}; expected (n, d) and (n,)."
        )
    return X, y


def _check_finite(arrays: dict[str, Array], name: str, source: str) -> None:
    """Every number finite, or the place of the first that is not."""
    bad = np.argwhere(~np.isfinite(arrays[name]))
    if not bad.size:
        return
    first = bad[0].tolist()
    if name == "data" and "indptr" in arrays:
        row = int(np.searchsorted(arrays["indptr"], first[0], side="right")) - 1
        first = [row, *arrays["indices"][first[0] : first[0] + 1].tolist()]
    words = (f"{what} {place}" for what, place in zip(("row", "column"), first))
    raise ValueError(
        f"{source}, {', '.join(words)}: {name} holds NaN or infinity; fill in or drop such rows."
    )
