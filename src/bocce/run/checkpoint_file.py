"""A checkpoint as a file: written whole or not at all, and checked before anything is used."""

from __future__ import annotations

import json
import math
import os
import zipfile
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.lib.format as npy

from .._atomic import atomic_write
from ..rows import Array, digest

# What a checkpoint must agree with to be resumed: names and values that JSON holds.
Identity: TypeAlias = dict[str, object]
FORMAT = 4
REMEDY = "delete the file or give another path"


def writable(given: str | os.PathLike[str]) -> Path:
    path = Path(given)
    if not path.parent.is_dir() or path.is_dir():
        raise ValueError(
            f"minimize: checkpoint={str(path)!r} must be a file in an existing folder; "
            "create the folder first."
        )
    return path


def write(path: Path, identity: Identity, arrays: dict[str, Array]) -> None:
    """A reader sees the old file or the new one."""
    content = {"identity": np.array(json.dumps(identity, sort_keys=True)), **arrays}
    with atomic_write(path) as stream:
        whole = {"digest": np.array(digest_of(content)), **content}
        np.savez(stream, **whole)  # type: ignore[arg-type]


def digest_of(content: dict[str, Array]) -> str:
    """A hash of all names, types, shapes and numbers of a checkpoint."""
    names = sorted(content)
    return digest(np.array(names), *(np.asarray(content[name]) for name in names))


def read(path: Path, identity: Identity) -> dict[str, Array]:
    """The arrays of a saved run, undamaged; refuse a checkpoint of another run.

    The identity is compared before anything else is read.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            check_sizes(archive, os.fstat(file.fileno()).st_size)
            theirs = json.loads(str(_array(archive, "identity")))
            if (other := _difference(theirs, identity)) is None:
                names = [name.removesuffix(".npy") for name in archive.namelist()]
                arrays = {name: _array(archive, name) for name in names}
                if str(arrays.pop("digest")) != digest_of(arrays):
                    raise ValueError("its content does not belong to its digest")
    except Exception as error:
        raise unreadable(path, error) from error
    if other is not None:
        raise ValueError(f"minimize: checkpoint={str(path)!r} is of another {other}; {REMEDY}.")
    arrays.pop("identity")
    return arrays


def check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that is larger in memory than on disk. (``write`` does not compress.)"""
    members = archive.infolist()
    packed = any(member.compress_type != zipfile.ZIP_STORED for member in members)
    if packed or sum(member.file_size for member in members) > size:
        raise ValueError("its arrays are larger than the file: it is compressed or damaged")


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    """One array, whose header tells the size that the archive tells."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        if stream.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError(f"the array {name!r} does not have the size that it tells")
    with archive.open(member) as stream:
        return np.asarray(npy.read_array(stream, allow_pickle=False))


def _difference(theirs: Identity, mine: Identity) -> str | None:
    """In what a checkpoint differs from the run that is asked for, in words."""
    for key, value in mine.items():
        if theirs.get(key) != value:
            values = f" ({theirs.get(key)!r}, not {value!r})"
            return key if key in ("problem", "schedule") else key + values
    return None


def unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"minimize: checkpoint={str(path)!r} is not a readable checkpoint ({error}); {REMEDY}."
    )
