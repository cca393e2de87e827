"""Names of 0.2 that still work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


def warn(where: str, old: str, new: str, stacklevel: int = 3) -> None:
    text = f"{where}.{old} is now called {new}; the old name goes in 0.4."
    warnings.warn(text, FutureWarning, stacklevel=stacklevel)


def method(where: str, old: str, new: str) -> Callable[..., Any]:
    """A method under its old name."""

    def renamed(self: object, *args: Any) -> Any:
        warn(where, old, new)
        return getattr(self, new)(*args)

    renamed.__doc__ = f"The old name of ``{new}``."
    return renamed
