"""Arguments checked once, at the edge: an error names the parameter, the rule, the value and the
remedy, and no argument is ever repaired."""

from __future__ import annotations

import difflib
import math
import numbers
import reprlib
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Error = TypeVar("Error", bound=Exception)


class Refusal(NamedTuple):
    """Why an argument was refused: the ``refusal`` of the error that says so.

    The command line names its options where a Python message names parameters.
    """

    where: str  # the function that was called
    name: str  # its parameter
    value: object
    rule: str  # what the value must be
    remedy: str  # what to do, or ""
    found: str = ""  # what the parameter has, where its value is too long to show

    def said(self, parameter: str) -> str:
        """The sentence, with the parameter called so: ``T=`` in Python, ``--steps `` in a shell."""
        text = f"{parameter}{self.value!r} must be {self.rule}"
        if self.found:
            text = f"{self.name} has {self.found}, must be {self.rule}"
        if not self.remedy:
            return f"{text}."
        return f"{text}; {self.remedy}{'' if self.remedy.endswith('?') else '.'}"

    def __str__(self) -> str:
        return f"{self.where}: " + self.said(f"{self.name}=")


def refused(
    kind: type[Error],
    where: str,
    name: str,
    value: object,
    rule: str,
    remedy: str = "",
    found: str = "",
) -> Error:
    """An error with a ``refusal``, to be raised.

    >>> error = refused(ValueError, "shb", "a", 2.0, "<= 1", "take 1")
    >>> str(error), error.refusal.name
    ('shb: a=2.0 must be <= 1; take 1.', 'a')
    """
    refusal = Refusal(where, name, value, rule, remedy, found)
    error = kind(str(refusal))
    error.refusal = refusal  # type: ignore[attr-defined]
    return error


def refusal_of(error: object) -> Refusal | None:
    """Why an argument was refused, of an error that ``refused`` has made."""
    found: Refusal | None = error.__dict__.get("refusal") if isinstance(error, Exception) else None
    return found


def integer(
    where: str,
    name: str,
    value: object,
    *,
    least: int = 1,
    most: int | None = None,
    remedy: str = "",
) -> int:
    """Return ``value`` as an int within [least, most], or raise.

    >>> integer("shb", "T", 0)
    Traceback (most recent call last):
    ...
    ValueError: shb: T=0 must be an integer >= 1.
    """
    if most is None:
        rule = f"an integer >= {least}"
    else:
        rule = f"an integer from {least} to {most}"
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise refused(TypeError, where, name, value, rule, remedy)
    number = int(value)
    if number < least or (most is not None and number > most):
        raise refused(ValueError, where, name, number, rule, remedy)
    return number


def real(
    where: str,
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    remedy: str = "",
) -> float:
    """Return ``value`` as a finite float inside the given interval, or raise.

    >>> real("shb", "a", 1.5, above=0, most=1)
    Traceback (most recent call last):
    ...
    ValueError: shb: a=1.5 must be a finite number > 0 and <= 1.
    """
    number = None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if (
            math.isfinite(number)
            and (above is None or number > above)
            and (least is None or number >= least)
            and (below is None or number < below)
            and (most is None or number <= most)
        ):
            return number
    limits = ((">", above), (">=", least), ("<", below), ("<=", most))
    inside = " and ".join(f"{sign} {limit:.17g}" for sign, limit in limits if limit is not None)
    rule = f"a finite number {inside}".strip()
    if number is None:
        raise refused(TypeError, where, name, value, rule, remedy)
    raise refused(ValueError, where, name, number, rule, remedy)


def flag(where: str, name: str, value: object) -> bool:
    """Return ``value`` if it is True or False (1 or 0), or raise.

    >>> flag("LeastSquares", "intercept", "no")
    Traceback (most recent call last):
    ...
    TypeError: LeastSquares: intercept='no' must be True or False.
    """
    if not (isinstance(value, bool | np.bool_ | numbers.Integral) and value in (0, 1)):
        raise refused(TypeError, where, name, value, "True or False")
    return bool(value)


def floats(where: str, name: str, values: Any, remedy: str = "") -> npt.NDArray[np.float64]:
    """Return a copy of ``values`` as an array of float64, or raise.

    >>> floats("Schedule", "alpha", "fast", "give one number a step")
    Traceback (most recent call last):
    ...
    TypeError: Schedule: alpha has the value 'fast', must be numbers; give one number a step.
    """
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = f"the value {reprlib.repr(values)}"
        raise refused(TypeError, where, name, values, "numbers", remedy, found) from None


def choice(where: str, name: str, value: object, options: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``options``; otherwise raise and suggest the nearest.

    >>> choice("multistage", "stages", "fitt", ["fit", "authors"])
    Traceback (most recent call last):
    ...
    ValueError: multistage: stages='fitt' must be one of 'fit', 'authors'; did you mean 'fit'?
    """
    known = list(options)
    if isinstance(value, str) and value in known:
        return value
    rule = "one of " + ", ".join(repr(option) for option in known)
    near = difflib.get_close_matches(str(value), known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else ""
    kind = ValueError if isinstance(value, str) else TypeError
    raise refused(kind, where, name, value, rule, hint)


def start(where: str, w0: npt.ArrayLike | None, width: int) -> npt.NDArray[np.float64]:
    """w0 as an array, 0 unless given."""
    if w0 is None:
        point = np.zeros(width)
    else:
        point = floats(where, "w0", w0, "leave it out for 0")
    if point.shape != (width,) or not np.isfinite(point).all():
        raise ValueError(
            f"{where}: w0 of shape {point.shape} must be {width} finite numbers, one a variable; "
            "leave it out for 0."
        )
    return point
