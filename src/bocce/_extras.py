"""An adapter whose framework is not installed says which extra brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str, *modules: str) -> Iterator[None]:
    """Around the imports of an adapter: ``with extra("optax", "jax"): import jax, optax``.

    ``modules`` are what the extra installs, by default a module of the extra's own name. Any
    other module that is absent is a fault in the installation, and its error passes as it is.

    >>> with extra("torch", "no_such_module"):
    ...     import no_such_module
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: bocce.torch needs no_such_module; run pip install "bocce[torch]".
    """
    try:
        yield
    except ModuleNotFoundError as error:
        absent = (error.name or "").split(".")[0]
        if absent not in (modules or (name,)):
            raise
        raise ModuleNotFoundError(
            f'bocce.{name} needs {absent}; run pip install "bocce[{name}]".',
            name=error.name,
        ) from None
