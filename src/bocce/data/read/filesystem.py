"""Where files lie: a path, a folder, a glob, or any URL that fsspec knows."""

from __future__ import annotations

import glob
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from ..._extras import arrow, install


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
        return _stream(*_filesystem(self.path)) if self.remote else Path(self.path).open("rb")

    def size(self) -> int:
        if not self.remote:
            return os.path.getsize(self.path)
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
        found: Iterable[Path] = (p for p in path.rglob("*") if _is_data(p.relative_to(path)))
    else:
        found = [path] if path.exists() else map(Path, glob.glob(text, recursive=True))
    files = [file for file in sorted(found) if file.exists() and not file.is_dir()]
    for file in files:
        if not file.is_file():  # reading a pipe may wait for ever, and a device may never end
            device = file.is_char_device() or file.is_block_device()
            kind = "a pipe" if file.is_fifo() else "a device" if device else "no regular file"
            raise ValueError(
                f"open: {str(file)!r} is {kind}, must be a file; save what it gives to a file "
                "first."
            )
    return [str(file) for file in files]


def _remote_paths(url: str) -> list[str]:
    system, inside = _filesystem(url)
    try:
        if system.isfile(inside):
            found = [inside]
        elif glob.has_magic(inside):
            found = system.glob(inside)
        else:
            base = PurePosixPath(inside)
            found = system.find(inside) if system.isdir(inside) else []
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
