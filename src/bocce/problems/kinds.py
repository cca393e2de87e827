"""Which class a problem is of: that depends on where its rows lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..rows import Rows

K = TypeVar("K", bound=type)
_kinds: list[tuple[Callable[[object], bool], type]] = []


def serves(test: Callable[[object], bool]) -> Callable[[K], K]:
    """Register the class for problems whose ``X`` passes the test."""

    def register(kind: K) -> K:
        _kinds.append((test, kind))
        return kind

    return register


def kind_of(X: object, usual: type) -> Any:
    """The class that serves X; the usual one where none does, as for rows in memory."""
    if isinstance(X, Rows) and not (X.in_parts or X.foreign):
        return usual
    return next((kind for test, kind in _kinds if test(X)), usual)
