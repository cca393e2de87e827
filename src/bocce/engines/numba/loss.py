"""A loss's own functions, for kernels: Numba finds them by the type of the loss."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import njit
from numba.extending import overload

from .entry import FAST


def value(loss: Any, z: Any, y: Any) -> Any:
    """What a row costs; compiled below."""
    raise NotImplementedError


def slope(loss: Any, z: Any, y: Any) -> Any:
    """The derivative of that in z."""
    raise NotImplementedError


@cache
def compiled(kind: Any, name: str) -> Any:
    """A loss's function as kernels call it: its compiled one, or the readable one."""
    own = kind.compiled().get(name) or getattr(kind, name)
    fast = FAST if name == "slope" else False
    function = njit(fastmath=fast, error_model="numpy")(own)

    # Numba compares names and annotations of arguments, which are the author's to choose
    def call(loss, z, y):
        return function(loss, z, y)

    return call


@overload(value, jit_options={"error_model": "numpy"})
def _value(loss, z, y):
    return compiled(loss.instance_class, "value")


@overload(slope, jit_options={"fastmath": FAST, "error_model": "numpy"})
def _slope(loss, z, y):
    return compiled(loss.instance_class, "slope")
