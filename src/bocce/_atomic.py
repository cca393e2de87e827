"""Files that are complete or do not exist."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # on Windows an open file cannot be removed: that protects as a lock does
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name, on disk, only when the block ends well.

    Until then it has a name of its own that ends in ``.part``. A process that is killed leaves
    such a file behind; the next write to ``path`` removes it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "a.txt") as stream:
    ...     _ = stream.write(b"complete")
    >>> (folder / "a.txt").read_bytes(), len(list(folder.iterdir()))
    (b'complete', 1)
    """
    path = Path(path)
    _remove_left_behind(path)
    stream, part = _new_part(path)
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if fcntl is not None:
                os.replace(part, path)  # while it is locked
        if fcntl is None:
            os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_writes(paths: Sequence[str | os.PathLike[str]]) -> Iterator[list[BinaryIO]]:
    """Open several files of which all take their names, or none does.

    All of them are on disk before the first is renamed: a full disk leaves what was there before.
    """
    with ExitStack() as stack:
        streams = [stack.enter_context(atomic_write(path)) for path in paths]
        yield streams
        for stream in streams:
            stream.flush()
            os.fsync(stream.fileno())


def _new_part(path: Path) -> tuple[BinaryIO, Path]:
    """A new file beside ``path``, locked for as long as it is open."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _flag("O_BINARY")
    while True:
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        handle = os.open(part, flags, 0o666)  # the system takes the umask off
        _lock(handle)
        if os.fstat(handle).st_nlink:  # else it was taken for left behind before it was locked
            return os.fdopen(handle, "wb"), part
        os.close(handle)


def _remove_left_behind(path: Path) -> None:
    """Remove the parts of ``path`` that no process writes to any more."""
    for part in glob.glob(f"{glob.escape(str(path))}.{'[0-9a-f]' * 8}.part"):
        with suppress(OSError):
            handle = os.open(part, os.O_RDONLY | _flag("O_NOFOLLOW"))
            try:
                if _lock(handle):
                    os.unlink(part)
            finally:
                os.close(handle)
            if fcntl is None:
                os.unlink(part)


def _lock(handle: int) -> bool:
    """Is the file ours alone? A lock ends with the process that has it."""
    with suppress(OSError):  # somebody else has it, or the file system knows no locks
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def _flag(name: str) -> int:
    """A flag of ``os.open`` that some systems lack."""
    return int(getattr(os, name, 0))
