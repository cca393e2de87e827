"""How kernels are compiled: once, and kept on disk where a folder can be written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

_warned: list[str] = []  # a process warns once


def on_disk(body: Callable[..., Any], **options: Any) -> Any:
    """``body`` compiled by Numba; without a folder for its cache each process compiles it anew."""
    from numba import njit

    try:
        return njit(cache=True, **options)(body)
    except RuntimeError as error:  # no folder: a package that is read-only, a user without a home
        if not _warned:
            _warned.append(str(error))
            warnings.warn(
                "bocce: compiled kernels cannot be kept on disk here, so each process compiles "
                "them anew; set NUMBA_CACHE_DIR to a folder that can be written.",
                RuntimeWarning,
                stacklevel=2,
            )
        return njit(**options)(body)
