"""A loss whose scores have a known number added, a different one for each row.

The loss of row i is loss(x_i . w + o_i, y_i). A target and its offset travel together as the
complex number y_i + o_i 1j: wherever targets are chosen, cut or sent, the offsets go with them, and
only the loss takes the two apart. Problems without an offset have real targets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Array

if TYPE_CHECKING:
    from .loss import Loss, Three


def class_with_offset(kind: type[Loss]) -> type[Loss]:
    """The class of the same loss for targets that carry offsets; it is ``kind.WithOffset``."""

    def value(loss: Loss, z: Array, y: Array) -> Array:
        return kind.value(loss, z + y.imag, y.real)

    def slope(loss: Loss, z: Array, y: Array) -> Array:
        return kind.slope(loss, z + y.imag, y.real)

    def bend(loss: Loss, z: Array, y: Array) -> Array:
        return kind.bend(loss, z + y.imag, y.real)

    def value_slope_bend(loss: Loss, z: Array, y: Array) -> Three:
        return kind.value_slope_bend(loss, z + y.imag, y.real)

    def infimum(loss: Loss, y: Array) -> Array:
        return kind.infimum(loss, y.real)

    def best_constant(loss: Loss, mean: float) -> float:
        return 0.0  # it depends on the offsets

    facts: dict[str, object] = {"margin": False, "__module__": kind.__module__, "__slots__": ()}
    facts["__qualname__"] = f"{kind.__qualname__}.WithOffset"  # where a pickle finds it
    functions = (value, slope, bend, value_slope_bend, infimum, best_constant)
    facts |= {f.__name__: f for f in functions}
    make: Any = type(kind)  # whose keywords go to ``Loss.__init_subclass__``
    return make(f"{kind.__name__}WithOffset", (kind,), facts, carries_offset=True)  # type: ignore[no-any-return]


def with_offset(loss: Loss, y: Array, offset: Array | None) -> tuple[Loss, Array]:
    """A loss and encoded targets that count the offset of each row; None adds nothing.

    >>> from bocce.losses import Poisson
    >>> loss, y = with_offset(Poisson(), np.array([3.0]), np.log([2.0]))
    >>> bool(loss.slope(np.zeros(1), y) == 2.0 - 3.0), loss
    (True, PoissonWithOffset())
    """
    if offset is None:
        return loss, y
    if loss.multi_output:
        raise ValueError(
            f"Problem: offset must be left out with the {loss.name} loss, because a number that is "
            "added to the scores of all classes cancels; use it with two classes."
        )
    y = y - offset if loss.quadratic else y + 1j * offset
    y.flags.writeable = False
    return loss_for(loss, y), y


def loss_for(loss: Any, y: Array) -> Loss:
    """The loss for these targets, which may carry offsets."""
    return loss.WithOffset(*loss) if np.iscomplexobj(y) else loss  # type: ignore[no-any-return]


def without_offset(loss: Any) -> Loss:
    """The same loss for targets that carry no offsets."""
    return loss.Plain(*loss)  # type: ignore[no-any-return]
