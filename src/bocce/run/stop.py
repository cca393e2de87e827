"""When a run is over: judged in the caller's variables."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..problems import Frame, norm
from ..rows import Array

PATIENCE = 100  # steps that a run may spend beyond the tolerance that the caller asked for
ROUNDING = 1e-9  # of the gradient at zero: less is no measure of anything


def smaller(zero: float, flat: float) -> float:
    """The gradient's norm at zero or at the best constant prediction, whichever is smaller.

    Where y is far from 0, the gradient at zero is nearly all of the intercept and says little of
    the rest.
    """
    return min(zero, max(flat, ROUNDING * zero))


@dataclass
class Stop:
    """Is the gradient, in the caller's variables, at most ``tol`` times ``first``? Or has f less
    than ``fall`` to fall, where the engine can tell?

    ``first`` is the norm at the start unless it is given, and where that at ``zero`` is given, the
    ``smaller`` of the two. A run looks at gradients in its own (framed) variables; ``wanted`` is
    how small they should be before the caller's are worth a look. ``asked`` is the tolerance that
    the caller asked for, where ``tol`` is smaller because steps are cheap: once it is met, the run
    has ``PATIENCE`` steps left. ``zero_value`` is f of the best
    model without coefficients, where the run begins elsewhere.
    """

    tol: float
    frame: Frame
    first: float = -1.0
    wanted: float = 0.0
    zero: float = -1.0
    fall: float = 0.0
    asked: float = 0.0
    beyond: int = 0
    zero_value: float = -math.inf

    @property
    def goal(self) -> float:
        """The gradient norm to reach; below 0 where only zero will do."""
        return self.tol * self.first if self.tol > 0.0 else -1.0

    def begin(self, gradient: Array) -> float:
        """The run starts where the (framed) gradient is this; returns the norm in the caller's
        variables."""
        outer = self.outer(gradient)
        if self.first < 0.0:
            self.first = outer if self.zero < 0.0 else smaller(self.zero, outer)
        # as if both shrank alike
        self.wanted = self.tol * self.first * (norm(gradient) / outer if outer > 0.0 else 1.0)
        return outer

    def outer(self, gradient: Array) -> float:
        """The norm of the gradient in the caller's variables."""
        return norm(gradient if self.frame.same else self.frame.gradient_out(gradient))

    def doubt(self, error: Array | None) -> float:
        """By how much that norm may be wrong, where entries of the gradient may be by this."""
        return 0.0 if error is None else norm(self.frame.error_out(error))

    def out_of_patience(self, outer: float) -> bool:
        """Count a step where the norm in the caller's variables is ``outer``: were there too many
        since the tolerance that was asked for was met?"""
        self.beyond += outer <= self.asked * self.first
        return self.beyond > PATIENCE

    def ratio(self, gradient: Array) -> float:
        """The caller's gradient norm over the first."""
        return self.outer(gradient) / self.first if self.first > 0.0 else 0.0

    def met(self, gradient: Array, outer: float | None = None) -> bool:
        """Is it over? ``outer`` is the norm in the caller's variables, where that is known."""
        outer = self.outer(gradient) if outer is None else outer
        if outer <= max(self.goal, 0.0):
            return True
        nearer = max(0.1, self.tol * self.first / outer)
        self.wanted = min(self.wanted, norm(gradient) * nearer)
        return False
