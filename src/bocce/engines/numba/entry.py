"""Kernels that Python calls, compiled once and kept on disk."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

from numba import njit

# Sums may be reordered and contracted, but NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
KERNEL: dict[str, Any] = {"fastmath": FAST, "error_model": "numpy", "nogil": True}
SPARSE: dict[str, Any] = {**KERNEL, "fastmath": False}  # gathers are slower than scalar loads here


class Entry:
    """A kernel whose first argument are rows with a loss.

    Numba's cache on disk sees changes of the kernel's own file only, so with a loss (or a rule)
    from outside the package, which its author may change, it is compiled anew in each process.
    """

    def __init__(self, body: Callable[..., Any], **options: Any) -> None:
        self._body, self._options = body, options

    def __call__(self, rows: Any, *args: Any) -> Any:
        named = [arg for arg in args if hasattr(arg, "_fields")]
        ours = all(type(arg).__module__.startswith("bocce.") for arg in [rows.loss, *named])
        return (self.kept if ours else self.fresh)(rows, *args)

    @cached_property
    def kept(self) -> Any:
        """Compiled once, for losses and rules of the package."""
        return on_disk(self._body, **self._options)

    @cached_property
    def fresh(self) -> Any:
        """Compiled in each process."""
        return njit(**self._options)(self._body)


_told: list[str] = []


def on_disk(body: Callable[..., Any], **options: Any) -> Any:
    """Compiled, and kept on disk where a folder can be written; told once where none can."""
    try:
        return njit(cache=True, **options)(body)
    except RuntimeError as error:  # no folder: a package that is read-only, a user without a home
        if not _told:
            _told.append(str(error))
            warnings.warn(
                "bocce: compiled kernels cannot be kept on disk here, so each process compiles "
                "them anew; set NUMBA_CACHE_DIR to a folder that can be written.",
                RuntimeWarning,
                stacklevel=2,
            )
        return njit(**options)(body)
