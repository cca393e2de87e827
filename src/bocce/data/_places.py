"""Where files lie: a path, a folder, a glob, or any URL that fsspec knows."""

from __future__ import annotations

import glob
import io
import os
import stat
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from .._extras import install
from ..blockfile import arrow

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


@dataclass(frozen=True)
class File:
    """One file, here or behind a URL; it can be pickled, and opened any number of times.

    >>> File("s3://bucket/day=1/rows.CSV.gz").name
    'rows.CSV.gz'
    """

    path: str  # of this machine, or a whole URL
    label: str = ""  # what messages call it; its last part unless given

    @property
    def remote(self) -> bool:
        return "://" in self.path

    @property
    def name(self) -> str:
        if self.label:
            return self.label
        plain = self.path.split("?")[0] if self.remote else self.path
        return PurePosixPath(plain).name if self.remote else Path(plain).name

    def open(self) -> BinaryIO:
        """The bytes, from the first on; the stream can seek."""
        if not self.remote:
            return Path(self.path).open("rb")
        return _stream(*_system(self.path))

    def size(self) -> int:
        if not self.remote:
            return Path(self.path).stat().st_size
        system, inside = _system(self.path)
        return int(system.size(inside) or 0)

    def for_arrow(self) -> tuple[Any, str]:
        """The file system and the path there, as pyarrow wants them."""
        arrow()
        from pyarrow import fs

        if not self.remote:
            return fs.LocalFileSystem(), os.path.abspath(self.path)
        system, inside = _system(self.path)
        return fs.PyFileSystem(_handler()(system)), inside


def files_of(source: str | os.PathLike[str]) -> list[File]:
    """The files that a path, a folder, a glob or a URL means, sorted by name; at least one."""
    text = os.fspath(source)
    found = _behind(text) if "://" in text else _here(text)
    if not found:
        raise FileNotFoundError(f"open: there is no file {text!r}; check its name.")
    files = [File(path) for path in found]
    if len({file.name for file in files}) == len(files):
        return files
    return [File(path, path) for path in found]  # day=1/part.csv, day=2/part.csv, ...


def _here(text: str) -> list[str]:
    path = Path(text)
    if path.is_dir():
        found = sorted(str(file) for file in path.rglob("*") if _counts(file.relative_to(path)))
        found = [file for file in found if not Path(file).is_dir()]
        if not found:
            raise FileNotFoundError(f"open: there is no file in the folder {text!r}.")
    elif path.exists() or not glob.has_magic(text):
        found = [text] if path.exists() else []
    else:
        found = sorted(glob.glob(text, recursive=True))
        found = [file for file in found if os.path.exists(file) and not os.path.isdir(file)]
    for file in found:
        _check_regular(file)
    return found


def _counts(path: Any) -> bool:
    """Spark and others leave _SUCCESS, _metadata, .crc beside the data, and we a folder."""
    return not any(part.startswith((".", "_")) or ".writing-" in part for part in path.parts)


def _check_regular(path: str) -> None:
    """A pipe would be waited for without end, and a device may never end."""
    kind = stat.S_IFMT(os.stat(path).st_mode)
    if kind != stat.S_IFREG:
        raise ValueError(
            f"open: {path!r} is {KINDS.get(kind, 'no regular file')}, must be a file; save what it "
            "gives to a file first."
        )


def _stream(system: Any, inside: str) -> BinaryIO:
    """A stream of our own: a store in memory gives all its readers the same one."""
    stream = system.open(inside, "rb")
    if isinstance(stream, io.BytesIO):
        return io.BytesIO(stream.getvalue())
    return cast(BinaryIO, stream)


@cache
def _handler() -> Any:
    from pyarrow import PythonFile
    from pyarrow.fs import FSSpecHandler

    return type(
        "Handler",
        (FSSpecHandler,),
        {"open_input_file": lambda self, path: PythonFile(_stream(self.fs, path), mode="r")},
    )


def _system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(f"open: {url!r} needs fsspec; run {install('data')}.") from error
    try:
        system, inside = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise ValueError(f"open: {url!r} cannot be reached ({error}).") from None
    return system, inside


def _behind(url: str) -> list[str]:
    system, inside = _system(url)
    try:
        if glob.has_magic(inside) and not system.exists(inside):
            found = system.glob(inside)
        elif system.isdir(inside):
            found = system.find(inside)
            base = PurePosixPath(inside)
            found = [file for file in found if _counts(PurePosixPath(file).relative_to(base))]
        else:
            found = [inside] if system.exists(inside) else []
    except (OSError, ValueError) as error:
        raise OSError(f"open: {url!r} cannot be listed ({error}); check its name.") from error
    return [system.unstrip_protocol(file) for file in sorted(found)]
