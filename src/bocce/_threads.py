"""How many threads BLAS uses while bocce computes: one, but for single large products.

Threads that wait for one another cost more than they give: a product of a matrix and a vector is
limited by memory, and beside a busy process the slowest thread decides (studies/threads.py).
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, ContextDecorator, nullcontext
from functools import cache
from typing import Any

LARGE_FOR_ONE_CORE = 5e8  # multiplications of one product: some 20 ms on one core


class _Changed(threading.local):
    """The libraries that this Python thread has set to one thread, with the caller's numbers.

    threadpoolctl lets one Python thread at a time change a pool that all of them share; in the
    others nothing changes, which costs speed only.
    """

    libraries: tuple[tuple[Any, int], ...] = ()
    depth = 0  # of nested blocks

    def set(self, one: bool) -> None:
        for library, number in self.libraries:
            library.set_num_threads(1 if one else number)


_changed = _Changed()


@cache
def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    return [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]


class one_thread(ContextDecorator):
    """Run a block, or a decorated function, with one BLAS thread; restore the caller's number."""

    def __enter__(self) -> None:
        _changed.depth += 1
        if _changed.depth == 1:
            # threadpoolctl's own ``limit`` takes longer than a small fit
            numbers = [(library, library.get_num_threads()) for library in _libraries()]
            _changed.libraries = tuple(pair for pair in numbers if pair[1] != 1)
            _changed.set(one=True)

    def __exit__(self, *_: object) -> None:
        _changed.depth -= 1
        if _changed.depth == 0:
            _changed.set(one=False)
            _changed.libraries = ()


class _AllThreads:
    """The caller's number of threads, for one product."""

    def __enter__(self) -> None:
        _changed.set(one=False)

    def __exit__(self, *_: object) -> None:
        _changed.set(one=True)


_all_threads = _AllThreads()
_as_they_are = nullcontext()


def threads_for(multiplications: float) -> AbstractContextManager[None]:
    """Inside ``one_thread``: give one large product as many threads as the caller allows."""
    large = multiplications >= LARGE_FOR_ONE_CORE and _changed.libraries
    if large:
        return _all_threads
    return _as_they_are
