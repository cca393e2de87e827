"""Reading at a place of a file, past the system's cache where that is wanted and can be done."""

from __future__ import annotations

import errno
import mmap
import os
import threading
from pathlib import Path

PAGE = 4096
_SEEKING = threading.Lock()


def machine_memory() -> int:
    """Bytes of memory of the machine, or of its container; 8 GiB where the system does not say."""
    try:
        size = int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # Windows
        return 8 << 30
    try:
        return min(size, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no limit
        return size


def open_file(path: Path, direct: bool) -> int:
    """A descriptor for reading, past the cache where that is wanted and the file system can."""
    if direct and hasattr(os, "O_DIRECT") and hasattr(os, "preadv"):
        file = -1
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECT)
            os.preadv(file, [mmap.mmap(-1, PAGE)], 0)
            return file
        except OSError as error:
            if file >= 0:
                os.close(file)
            if error.errno != errno.EINVAL:  # what a file system without direct input says
                raise
    return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))


def read_at(file: int, view: memoryview, offset: int, wanted: int) -> int:
    """Fill ``view`` from ``offset`` of the file, in whole pages; returns how many bytes came."""
    got, end = 0, -(-wanted // PAGE) * PAGE
    while got < wanted:
        count = _read_some(file, view[got:end], offset + got)
        if count == 0:
            break
        got += count
    return got


def _read_some(file: int, view: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(file, [view], offset)
    with _SEEKING:  # Windows has no read at a place: one thread at a time seeks and reads
        os.lseek(file, offset, os.SEEK_SET)
        data = os.read(file, len(view))
    view[: len(data)] = data
    return len(data)
