"""How many threads BLAS uses while bocce computes: the caller's in large products, else one.

In a small product threads wait for one another longer than they compute. A large one gets as many
as the caller's environment allows (``OMP_NUM_THREADS``, ``threadpoolctl``): with one thread there,
nothing changes. Results depend on the number of threads by the rounding of BLAS alone.
``benchmarks/studies/threads.py`` prints what two threads gain and cost.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, ContextDecorator, nullcontext
from functools import cache
from typing import Any

# A product of at least so many multiplications is large: it takes some 20 ms on one core. With 3e6,
# two threads took 1.4 times as long as one for a softmax of 20,000 x 256, beside other processes.
LARGE_FOR_ONE_CORE = 5e8
# A number of X is read from memory in the time of so many multiplications.
MULTIPLICATIONS_PER_READ = 25


class _Changed(threading.local):
    """The libraries that this Python thread has set to one thread, with the caller's numbers.

    All Python threads share a library's pool. The first one changes it; the others find it at one
    thread and leave it there, which costs speed only.
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
    """Inside ``one_thread``: give a large product as many threads as the caller allows."""
    if multiplications >= LARGE_FOR_ONE_CORE and _changed.libraries:
        return _all_threads
    return _as_they_are
