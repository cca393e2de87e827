"""How kernels are compiled: once, and kept on disk where a folder can be written."""

from __future__ import annotations

import functools
import logging
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

LOG = logging.getLogger("bocce")
NOTICE = "bocce: compiling once for this kind of data (some seconds); the result is kept on disk"
QUIET_SECONDS = 60.0  # A kernel that is compiled so soon after another one brings no second notice.
_warned: list[str] = []  # a process warns once
_parts: list[tuple[Callable[..., Any], dict[str, Any]]] = []  # not yet known to Numba

Part = TypeVar("Part", bound=Callable[..., Any])


def part(**options: Any) -> Callable[[Part], Part]:
    """A function that kernels call: plain Python, and compiled with the kernel that calls it.

    Numba hears of the function when the first kernel is compiled, because Numba is slow to import.
    It keeps a compiled kernel until the kernel's file changes, so parts stand in that file, too.
    """

    def listed(body: Part) -> Part:
        _parts.append((body, options))
        return body

    return listed


def _register_parts() -> None:
    from numba.extending import register_jitable

    while _parts:
        body, options = _parts.pop()
        register_jitable(**options)(body)


def on_disk(body: Callable[..., Any], **options: Any) -> Any:
    """``body`` compiled by Numba; without a folder for its cache each process compiles it again."""
    from numba import njit

    _register_parts()
    announce_compiling()
    try:
        return njit(cache=True, **options)(body)
    except RuntimeError as error:  # no folder: a package that is read-only, a user without a home
        if not _warned:
            _warned.append(str(error))
            warnings.warn(
                "bocce: compiled kernels cannot be kept on disk here, so each process compiles "
                "them again; set NUMBA_CACHE_DIR to a folder that can be written.",
                RuntimeWarning,
                stacklevel=2,
            )
        return njit(**options)(body)


@functools.cache
def announce_compiling() -> None:
    """Have Numba say, from now on, when it compiles a kernel of the package.

    The line is a warning of the logger "bocce" where somebody looks at stderr (a terminal or a
    notebook), so it is shown unless logging is set otherwise. Elsewhere its level is INFO.
    """
    from numba.core import event

    class Listener(event.Listener):
        last = -QUIET_SECONDS

        def on_start(self, event: Any) -> None:
            ours = event.data["dispatcher"].py_func.__module__.startswith("bocce.")
            if ours and time.monotonic() - self.last >= QUIET_SECONDS:
                LOG.log(logging.WARNING if _is_watched() else logging.INFO, NOTICE)
            self.last = time.monotonic() if ours else self.last

        def on_end(self, event: Any) -> None:
            """What was compiled is run at once."""

    register: Any = event.register
    register("numba:compile", Listener())


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
