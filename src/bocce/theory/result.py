"""What a theorem returns: two numbers, and whether they are a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .. import _checks

MEAN_SQUARE_BEFORE_LAST = "E||w_{T-1} - w*||^2"
MEAN_NORM = "E||w_T - w*||"
MEAN_NORM_BEFORE_LAST = "E||w_{T-1} - w*||"
MEAN_SQUARE = "E||w_T - w*||^2"

Condition = tuple[bool, str]


@dataclass(frozen=True)
class Bound:
    """An upper bound in two parts: ``bias`` is what is left of the start, ``noise`` is the rest.

    ``valid`` says whether the numbers are a guarantee. The numbers come from the formula either
    way; where the formula has no value they are infinite.

    Attributes
    ----------
    quantity : str
        The quantity that is bounded, such as ``E||w_T - w*||``.
    bias, noise : float
        The part that comes from the start; the part that comes from the noise of the batches.
    valid : bool
        Whether all conditions hold.
    why : str
        The condition that fails, or what was taken on trust.

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


def verdict(conditions: Iterable[Condition], trusted: str = "") -> tuple[bool, str]:
    """(valid, why) from (holds, what is wrong when it does not) pairs.

    >>> verdict([(True, "never said"), (False, "b=3 is below b*=7.0")])
    (False, 'b=3 is below b*=7.0')
    >>> verdict([], trusted="L >= L_max (give L_max to check it)")
    (True, 'all checked conditions hold; taken on trust: L >= L_max (give L_max to check it)')
    """
    failed = [message for holds, message in conditions if not holds]
    if failed:
        return False, "; ".join(failed)
    if trusted:
        return True, f"all checked conditions hold; taken on trust: {trusted}"
    return True, "all conditions hold"


def row_smoothness(where: str, L: float, L_max: object) -> tuple[list[Condition], str]:
    """The condition L >= L_max that the upper bounds need, or the words for taking it on trust."""
    if L_max is None:
        return [], "L >= L_max (give L_max to check it)"
    limit = _checks.real(where, "L_max", L_max, above=0.0, remedy="the largest curvature of a row")
    message = f"L={L:.6g} is below L_max={limit:.6g}: the proof needs every row L-smooth"
    return [(limit * (1.0 - 1e-12) <= L, message)], ""


def grown(value: float, exponent: float) -> float:
    """value * exp(exponent) for value >= 0: zero stays zero and overflow is infinity, never NaN.

    >>> grown(0.0, 1e9), grown(1.0, 1e9), grown(2.0, 0.0)
    (0.0, inf, 2.0)
    """
    if value == 0.0:
        return 0.0
    total = exponent + math.log(value)
    return math.exp(total) if total < 709.0 else math.inf


def bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least point where ``holds`` is True, False at low and True at high; it is True there.

    >>> bisect(lambda x: x * x >= 2.0, 0.0, 2.0)
    1.4142135623730951
    """
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
