"""Which files a path, a folder or a glob means."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

Stamp = tuple[int, int, int]  # the number, the size and the time of the last change of a file


@dataclass(frozen=True)
class File:
    """One file. It can be pickled, and opened any number of times.

    >>> File("days/day=1/rows.CSV.gz").name
    'rows.CSV.gz'
    """

    path: str
    label: str = ""  # the name in messages, by default the last part of the path

    @property
    def name(self) -> str:
        return self.label or Path(self.path).name

    def open(self) -> BinaryIO:
        return Path(self.path).open("rb")

    def size(self) -> int:
        return os.path.getsize(self.path)

    def stamp(self) -> Stamp:
        """What changes when the file is written again."""
        found = os.stat(self.path)
        return found.st_ino, found.st_size, found.st_mtime_ns


def files_of(source: str | os.PathLike[str]) -> list[File]:
    """The files of a path, a folder or a glob, sorted by name; at least one."""
    text = os.fspath(source)
    if not text:
        raise ValueError("open: source='' must name a file, a folder or a glob.")
    found = _paths(text)
    if not found:
        if os.path.isdir(text):
            raise FileNotFoundError(f"open: there is no file in the folder {text!r}.")
        remedy = "check its name"
        if "://" in text:
            remedy = "fetch what the URL names first, or give a pyarrow.dataset.dataset(...) of it"
        raise FileNotFoundError(f"open: there is no file {text!r}; {remedy}.")
    files = [File(path) for path in found]
    if len({file.name for file in files}) == len(files):
        return files
    return [File(path, path) for path in found]  # day=1/part.csv, day=2/part.csv, ...


def _paths(text: str) -> list[str]:
    path = Path(text)
    found: Iterable[Path]
    if path.is_dir():
        found = (file for file in path.rglob("*") if _is_data(file.relative_to(path)))
    elif path.exists():
        found = [path]
    else:
        found = map(Path, glob.glob(text, recursive=True))
    files = [file for file in sorted(found) if file.exists() and not file.is_dir()]
    for file in files:
        if not file.is_file():  # reading a pipe may wait for ever, and a device may never end
            raise ValueError(
                f"open: {str(file)!r} is {_kind(file)}, must be a file; save what it gives to a "
                "file first."
            )
    return [str(file) for file in files]


def _kind(file: Path) -> str:
    if file.is_fifo():
        return "a pipe"
    if file.is_char_device() or file.is_block_device():
        return "a device"
    return "no regular file"


def _is_data(path: Path) -> bool:
    """Not _SUCCESS, _metadata or .crc, as Spark leaves them, nor a file that is being written."""
    return not any(part.startswith((".", "_")) or part.endswith(".part") for part in path.parts)
