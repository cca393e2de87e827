"""Few threads for little work: BLAS threads that wait for one another cost more than they give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

SMALL = 4_000_000  # numbers in X: a product takes a few milliseconds on one core


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def few_threads(numbers: float) -> Iterator[None]:
    """One BLAS thread where X has few numbers, else as many as there are."""
    if numbers > SMALL:
        yield
        return
    libraries = _controller().lib_controllers  # its own ``limit`` takes longer than a small step
    asked = [(library, library.get_num_threads()) for library in libraries]
    several = [(library, threads) for library, threads in asked if threads != 1]
    try:
        for library, _ in several:
            library.set_num_threads(1)
        yield
    finally:
        for library, threads in several:
            library.set_num_threads(threads)
