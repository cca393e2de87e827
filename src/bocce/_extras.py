"""Optional packages: how to install them, said in one place.

docs/install.md says the same for people. There is no release, so the way is a clone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._memory import address_limit


def install(extra: str = "") -> str:
    """The command that installs bocce, with an extra, today.

    >>> install("torch")
    'pip install ".[torch]" in a clone of bocce'
    """
    return f'pip install ".{f"[{extra}]" if extra else ""}" in a clone of bocce'


@contextmanager
def extra(name: str, *modules: str) -> Iterator[None]:
    """Around the imports of an adapter: ``with extra("optax", "jax"): import jax, optax``.

    ``modules`` are what the extra installs, by default a module of the extra's own name. Any
    other module that is absent is a fault in the installation, and its error passes as it is.

    >>> with extra("ray", "absent"):
    ...     import absent
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: bocce.ray needs absent; run pip install ".[ray]" in a clone of bocce.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        absent = (error.name or "").split(".")[0]
        if absent not in (modules or (name,)):
            raise
        raise ModuleNotFoundError(
            f"bocce.{name} needs {absent}; run {install(name)}.",
            name=error.name,
        ) from None


def arrow() -> Any:
    """pyarrow with its IPC, or the remedy."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        raise ImportError(
            f"bocce: Parquet, Arrow and CSV need pyarrow; run {install('data')}."
        ) from error
    if address_limit() is not None:  # other pools reserve a gigabyte, and each thread 72 MB
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())
        pyarrow.set_cpu_count(1)
        pyarrow.set_io_thread_count(1)
    return pyarrow
