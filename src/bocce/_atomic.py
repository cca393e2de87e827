"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name, on disk, only when the block ends well.

    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "a.txt") as stream:
    ...     _ = stream.write(b"whole")
    >>> (folder / "a.txt").read_bytes(), len(list(folder.iterdir()))
    (b'whole', 1)
    """
    path = Path(path)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(part, 0o666 & ~_umask())  # a temporary file is private, the result need not be
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
