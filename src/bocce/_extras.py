"""Optional packages: how to install them, said in one place.

docs/install.md says the same for people. There is no release, so the way is a clone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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
