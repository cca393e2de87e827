"""How kernels are compiled: once, and kept on disk where a folder can be written."""

from __future__ import annotations

import functools
import logging
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

LOG = logging.getLogger("bocce")
TELLING = "bocce: compiling once for this kind of data (some seconds); the result is kept on disk"
QUIET_SECONDS = 60.0  # kernels that are compiled so soon after another are not told again
_warned: list[str] = []  # a process warns once


def on_disk(body: Callable[..., Any], **options: Any) -> Any:
    """``body`` compiled by Numba; without a folder for its cache each process compiles it anew."""
    from numba import njit

    tell_when_compiling()
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


@functools.cache
def tell_when_compiling() -> None:
    """Have Numba say, from now on, when it compiles a kernel of the package.

    The line is a warning of the logger "bocce" where somebody looks at stderr (a terminal or a
    notebook), so it is shown unless logging is told otherwise. Elsewhere its level is INFO.
    """
    from numba.core import event

    class Listener(event.Listener):
        last = -QUIET_SECONDS

        def on_start(self, event: Any) -> None:
            ours = event.data["dispatcher"].py_func.__module__.startswith("bocce.")
            if ours and time.monotonic() - self.last >= QUIET_SECONDS:
                LOG.log(logging.WARNING if _somebody_looks() else logging.INFO, TELLING)
            self.last = time.monotonic() if ours else self.last

        def on_end(self, event: Any) -> None:
            """What was compiled is run at once."""

    register: Any = event.register
    register("numba:compile", Listener())


def _somebody_looks() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
