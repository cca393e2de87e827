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

from ..._extras import arrow, install

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


@dataclass(frozen=True)
class File:
    """One file, here or behind a URL. It can be pickled, and opened any number of times.

    >>> File("s3://bucket/day=1/rows.CSV.gz?token=secret").name
    'rows.CSV.gz'
    """

    path: str  # of this machine, or a whole URL
    label: str = ""  # the name in messages, by default the last part of the path

    @property
    def remote(self) -> bool:
        return "://" in self.path

    @property
    def name(self) -> str:
        plain = PurePosixPath(self.path.split("?")[0]) if self.remote else Path(self.path)
        return self.label or plain.name

    def open(self) -> BinaryIO:
        """A stream of the bytes that can seek, and that nobody else reads."""
        if not self.remote:
            return Path(self.path).open("rb")
        return _stream(*_filesystem(self.path))

    def size(self) -> int:
        if not self.remote:
            return Path(self.path).stat().st_size
        system, inside = _filesystem(self.path)
        return int(system.size(inside) or 0)

    def for_arrow(self) -> tuple[str, Any]:
        """The path and the file system, as pyarrow takes them."""
        arrow()
        from pyarrow import fs

        if not self.remote:
            return os.path.abspath(self.path), fs.LocalFileSystem()
        system, inside = _filesystem(self.path)
        return inside, fs.PyFileSystem(_handler()(system))


def files_of(source: str | os.PathLike[str]) -> list[File]:
    """The files of a path, a folder, a glob or a URL, sorted by name; at least one."""
    text = os.fspath(source)
    found = _remote_paths(text) if "://" in text else _local_paths(text)
    if not found:
        if os.path.isdir(text):
            raise FileNotFoundError(f"open: there is no file in the folder {text!r}.")
        raise FileNotFoundError(f"open: there is no file {text!r}; check its name.")
    files = [File(path) for path in found]
    if len({file.name for file in files}) == len(files):
        return files
    return [File(path, path) for path in found]  # day=1/part.csv, day=2/part.csv, ...


def _local_paths(text: str) -> list[str]:
    path = Path(text)
    if path.is_dir():
        found = [str(file) for file in path.rglob("*") if _is_data(file.relative_to(path))]
    elif path.exists() or not glob.has_magic(text):
        found = [text] if path.exists() else []
    else:
        found = glob.glob(text, recursive=True)
    if path.is_dir() or glob.has_magic(text):
        found = [file for file in sorted(found) if os.path.exists(file) and not os.path.isdir(file)]
    for file in found:
        kind = stat.S_IFMT(os.stat(file).st_mode)
        if kind != stat.S_IFREG:  # reading a pipe may wait for ever, and a device may never end
            raise ValueError(
                f"open: {file!r} is {KINDS.get(kind, 'no regular file')}, must be a file; save "
                "what it gives to a file first."
            )
    return found


def _remote_paths(url: str) -> list[str]:
    system, inside = _filesystem(url)
    try:
        if glob.has_magic(inside) and not system.exists(inside):
            found = system.glob(inside)
        elif system.isfile(inside):
            found = [inside]
        else:
            found = system.find(inside) if system.isdir(inside) else []
            base = PurePosixPath(inside)
            found = [file for file in found if _is_data(PurePosixPath(file).relative_to(base))]
    except (OSError, ValueError) as error:
        raise OSError(f"open: {url!r} cannot be listed ({error}); check its name.") from error
    return [system.unstrip_protocol(file) for file in sorted(found)]


def _is_data(path: Any) -> bool:
    """Not _SUCCESS, _metadata or .crc, as Spark leaves them, nor a file that is being written."""
    return not any(part.startswith((".", "_")) or part.endswith(".part") for part in path.parts)


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ImportError(f"open: {url!r} needs fsspec; run {install('data')}.") from error
    try:
        system, inside = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise ValueError(f"open: {url!r} cannot be reached ({error}).") from None
    return system, inside


def _stream(system: Any, inside: str) -> BinaryIO:
    stream = system.open(inside, "rb")
    if isinstance(stream, io.BytesIO):  # fsspec's store in memory gives all readers the same one
        return io.BytesIO(stream.getvalue())
    return cast(BinaryIO, stream)


@cache
def _handler() -> Any:
    """pyarrow's handler of fsspec, with streams that nobody else reads."""
    from pyarrow import PythonFile
    from pyarrow.fs import FSSpecHandler

    opened = {"open_input_file": lambda self, path: PythonFile(_stream(self.fs, path), mode="r")}
    return type("Handler", (FSSpecHandler,), opened)
