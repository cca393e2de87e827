"""Losses on arrays of other libraries, by the lines that are written for NumPy.

A loss is made of NumPy's element-wise functions. NumPy lets other objects answer those calls
(``__array_ufunc__``): ``Lifted`` wraps an array and passes each call to the function of the same
name in the array's own library. So ``np.exp(-y * z)`` in a loss is a kernel on the GPU if z is
there, and a loss of a user's own runs where its data are without a line more.

The softmax loss works on whole rows of scores, not element by element: it calls the functions of
the array's library itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .._types import Foreign, Library
from .loss import Loss

Derivatives = Callable[[Foreign, Foreign], tuple[Foreign, Foreign, Foreign]]

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negative": operator.neg,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
_RENAMED = {
    "absolute": "abs",
    "invert": "bitwise_invert",
    "float_power": "pow",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "arccosh": "acosh",
    "arcsinh": "asinh",
    "arctanh": "atanh",
}
_LOGICAL = ("logical_", "bitwise_", "invert")


class Lifted(NDArrayOperatorsMixin):
    """An array of the library ``xp`` that NumPy's element-wise functions take for one of theirs.

    Truth values that are calculated with become numbers of type ``real``, as in NumPy.
    """

    def __init__(self, array: Foreign, xp: Library, real: Library) -> None:
        self.array = array
        self.xp = xp
        self.real = real

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **rest: Any
    ) -> Any:
        if method != "__call__" or rest:
            raise self._unknown(f"np.{ufunc.__name__} with {method if not rest else [*rest]}")
        name = ufunc.__name__
        if name == "square":
            name = "multiply"
            inputs = (inputs[0], inputs[0])
        plain = [self._plain(x, numbers=not name.startswith(_LOGICAL)) for x in inputs]
        if name in _OPERATORS:
            result = _OPERATORS[name](*plain)
        else:
            result = self._function(_RENAMED.get(name, name), name)(*map(self._array, plain))
        if out is None:
            return Lifted(result, self.xp, self.real)
        out[0].array = result
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        if function is np.where and len(args) == 3 and not keywords:
            test = self._plain(args[0], numbers=False)
            yes, no = (self._array(self._plain(x)) for x in args[1:])
            return Lifted(self.xp.where(test, yes, no), self.xp, self.real)
        if function is np.clip and len(args) == 3 and not keywords:
            return np.minimum(np.maximum(args[0], args[1]), args[2])
        raise self._unknown(f"np.{function.__name__}")

    def _plain(self, x: Foreign, numbers: bool = True) -> Foreign:
        """What a library's own function or operator takes: an array of it, or a Python number."""
        if isinstance(x, Lifted):
            array = x.array
            if numbers and array.dtype == self.xp.bool:
                array = self.xp.astype(array, self.real)
            return array
        if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
            return float(x) if numbers else x
        if np.ndim(x) == 0:
            return float(x)
        raise self._unknown(f"an array of type {type(x).__name__} of its own")

    def _array(self, x: Foreign) -> Foreign:
        """Numbers as arrays: not all libraries' functions take both."""
        if not isinstance(x, float):
            return x
        return self.xp.full((), x, dtype=self.real, device=getattr(self.array, "device", None))

    def _function(self, name: str, ours: str) -> Callable[..., Foreign]:
        found = getattr(self.xp, name, None)
        if found is None:
            raise self._unknown(f"np.{ours}")
        return found

    def _unknown(self, what: str) -> TypeError:
        library = self.xp.__name__.removeprefix("array_api_compat.")
        return TypeError(
            f"loss: {what} cannot be passed on to {library}, must be an element-wise function of "
            "the array API standard, np.where or np.clip; write the loss with those, or give X as "
            "a NumPy array."
        )


def derivatives(loss: Loss, xp: Library, real: Library) -> Derivatives:
    """The function of (scores, targets) that gives value, slope and bend of a loss, for arrays of
    the library ``xp`` with numbers of type ``real``."""
    if loss.any_library:
        three: Derivatives = loss.value_slope_bend
        return three
    if loss.multi_output:
        raise TypeError(
            f"Problem: the {loss.name} loss has several scores a row, must be softmax for arrays "
            "of other libraries than NumPy; give X as a NumPy array."
        )

    def lifted(z: Foreign, y: Foreign) -> tuple[Foreign, Foreign, Foreign]:
        scores: Foreign = Lifted(z, xp, real)
        targets: Foreign = Lifted(y, xp, real)
        value, slope, bend = loss.value_slope_bend(scores, targets)
        return _full(value, z, xp), _full(slope, z, xp), _full(bend, z, xp)

    return lifted


def _full(result: Foreign, z: Foreign, xp: Library) -> Foreign:
    """A number for each score, also where a formula gives the same for all, or truth values."""
    if not isinstance(result, Lifted):
        return xp.zeros_like(z) + float(result)
    array = result.array
    if array.dtype != z.dtype:
        array = xp.astype(array, z.dtype)
    if array.shape == z.shape:
        return array
    return xp.zeros_like(z) + array
