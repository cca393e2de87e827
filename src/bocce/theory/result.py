"""What a theorem returns: two numbers, and whether they are a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..schedules import _rules

MEAN_SQUARE_BEFORE_LAST = "E||w_{T-1} - w*||^2"
MEAN_NORM = "E||w_T - w*||"
MEAN_NORM_BEFORE_LAST = "E||w_{T-1} - w*||"
MEAN_SQUARE = "E||w_T - w*||^2"

Condition = tuple[bool, str]


@dataclass(frozen=True)
class Bound:
    """An upper bound in two parts: ``bias`` is what is left of the start, ``noise`` is the rest.

    Where the formula has no value the numbers are infinite.

    Attributes
    ----------
    quantity : str
        The quantity that is bounded, such as ``E||w_T - w*||``.
    bias, noise : float
        The part that comes from the start; the part that comes from the noise of the batches.
    valid, why : bool, str
        Whether the numbers are a guarantee; the condition that fails, or what was taken on trust.

    Examples
    --------
    >>> Bound("E||w_T - w*||", 0.5, 0.25, True, "all conditions hold").total
    0.75
    """

    quantity: str
    bias: float
    noise: float
    valid: bool
    why: str

    @property
    def total(self) -> float:
        """bias + noise."""
        return self.bias + self.noise


def verdict(*conditions: Condition, trusted: str = "") -> tuple[bool, str]:
    """(valid, why) from (holds, what is wrong when it does not) pairs.

    >>> verdict((True, "never said"), (False, "b=3 is below b*=7.0"))
    (False, 'b=3 is below b*=7.0')
    """
    if failed := [message for holds, message in conditions if not holds]:
        return False, "; ".join(failed)
    if trusted:
        return True, f"all checked conditions hold; taken on trust: {trusted}"
    return True, "all conditions hold"


def verdict_for_rows(
    where: str, L: float, L_max: object, *conditions: Condition
) -> tuple[bool, str]:
    """``verdict`` of the conditions and of L >= L_max, which is taken on trust without L_max."""
    if L_max is None:
        return verdict(*conditions, trusted="L >= L_max (give L_max to check it)")
    (limit,) = _rules.given(where, L_max=L_max)
    message = f"L={L:.6g} is below L_max={limit:.6g}: the proof needs every row L-smooth"
    return verdict((limit * (1.0 - 1e-12) <= L, message), *conditions)


def grown(value: float, exponent: float) -> float:
    """value * exp(exponent) for value >= 0: zero stays zero and overflow is infinity, never NaN.

    >>> grown(0.0, 1e9), grown(1.0, 1e9), grown(2.0, 0.0)
    (0.0, inf, 2.0)
    """
    if value == 0.0:
        return 0.0
    total = exponent + math.log(value)
    if total < 709.0:
        return math.exp(total)
    return math.inf


def bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least point where ``holds`` is True, False at low and True at high; it is True there.

    >>> bisect(lambda x: x * x >= 2.0, 0.0, 2.0)
    1.4142135623730951
    """
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
