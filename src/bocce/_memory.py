"""How much memory there is, and reading ahead by threads within it."""

from __future__ import annotations

import mmap
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

T = TypeVar("T")
LIBRARIES = 512 << 20  # bytes of addresses that NumPy, SciPy, Numba and pyarrow take, all loaded


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
    if limit == resource.RLIM_INFINITY:
        return None
    return limit


def addresses_taken() -> int:
    """Bytes; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    except OSError:
        return 0


def no_memory(where: str, needed: int = 0, remedy: str = "") -> str:
    """What is needed, why it is not there, and what to do."""
    if needed:
        wanted = f" {megabytes(needed)} more"
    else:
        wanted = " more memory than there is"
    remedy = remedy or "close other programs, or write smaller parts"
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
    readers = ThreadPoolExecutor(threads, thread_name_prefix="bocce reader")
    try:
        for item in items:
            ahead.append(readers.submit(read, item))
            if len(ahead) >= depth:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        readers.shutdown(cancel_futures=True)
