"""Reading at a place of a file, past the system's cache where wanted; how much memory there is."""

from __future__ import annotations

import errno
import mmap
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

T = TypeVar("T")
PAGE = 4096
LIBRARIES = 512 << 20  # bytes of addresses that NumPy, SciPy, Numba and pyarrow take, all loaded
_SEEKING = threading.Lock()


def machine_memory() -> int:
    """Bytes of memory of the machine, of its container, or that an address limit leaves; 8 GiB
    where the system does not say."""
    try:
        size = int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # Windows
        return 8 << 30
    if (limit := address_limit()) is not None:
        size = min(size, max(0, limit - max(LIBRARIES, addresses_taken())) // 2)
    try:
        return min(size, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no limit
        return size


def address_limit() -> int | None:
    """Bytes of addresses that this process may take (``ulimit -v``), or None."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def addresses_taken() -> int:
    """Bytes; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    except OSError:
        return 0


def no_memory(where: str, needed: int = 0, remedy: str = "") -> str:
    """What is needed, why it is not there, and what to do."""
    wanted = f" {megabytes(needed)} more" if needed else " more memory than there is"
    remedy = remedy or "close other programs, or give smaller blocks"
    if (limit := address_limit()) is None:
        return f"{where}: needs{wanted}; {remedy}."
    return (
        f"{where}: needs{wanted}, and the address limit of {megabytes(limit)} (ulimit -v) has "
        f"{megabytes(limit - addresses_taken())} left. Libraries and threads reserve addresses "
        f"beyond the memory that they use. Raise the limit, or {remedy}."
    )


def megabytes(size: int) -> str:
    return f"{size / 2**20:,.0f} MB"


def read_ahead(
    read: Callable[[Any], T], items: Iterable[Any], threads: int, depth: int
) -> Iterator[T]:
    """``map(read, items)`` by threads, in order, with at most ``depth`` results in memory."""
    if threads < 2 or address_limit() is not None:  # a thread reserves 72 MB of addresses
        yield from map(read, items)
        return
    ahead: deque[Future[T]] = deque()
    readers = ThreadPoolExecutor(threads, thread_name_prefix="bocce block reader")
    try:
        for item in items:
            ahead.append(readers.submit(read, item))
            if len(ahead) >= depth:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        readers.shutdown(cancel_futures=True)


def open_file(path: Path, direct: bool) -> int:
    """A descriptor for reading, past the cache where that is wanted and the file system can."""
    if direct and hasattr(os, "O_DIRECT") and hasattr(os, "preadv"):
        file = -1
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECT)
            os.preadv(file, [mmap.mmap(-1, PAGE)], 0)  # some systems refuse only the read
            return file
        except OSError as error:
            if file >= 0:
                os.close(file)
            if error.errno != errno.EINVAL:  # what a file system without direct input says
                raise
    return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))


def read_at(file: int, offset: int, length: int) -> memoryview:
    """So many bytes of the file, fewer where it ends; direct input fills whole pages."""
    skip = offset % PAGE
    wanted, got = skip + length, 0
    end = -(-wanted // PAGE) * PAGE
    room = np.empty(end + PAGE, np.uint8)
    view = room.data[-room.ctypes.data % PAGE :]
    while got < wanted and (count := _read_some(file, view[got:end], offset - skip + got)):
        got += count
    return view[skip : min(got, wanted)]


def _read_some(file: int, view: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(file, [view], offset)
    with _SEEKING:  # Windows has no read at a place: one thread at a time seeks and reads
        os.lseek(file, offset, os.SEEK_SET)
        data = os.read(file, len(view))
    view[: len(data)] = data
    return len(data)
