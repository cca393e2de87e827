"""When a run is over, judged in the caller's variables."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..problems import Frame, norm
from ..rows import Array

PATIENCE = 100  # A run may spend this many steps beyond the tolerance that the caller asked for.
ROUNDING = 1e-9  # A gradient norm below this share of the norm at zero is rounding.
LOOSE = 100.0  # The bound on the gap by strong convexity may be so many times ``max_gap``.


def smaller(at_zero: float, at_constant: float) -> float:
    """The gradient's norm at zero or at the best constant prediction, whichever is smaller.

    Where y is far from 0, the gradient at zero is nearly all of the intercept and says little of
    the other coefficients.
    """
    return min(at_zero, max(at_constant, ROUNDING * at_zero))


@dataclass
class Stop:
    """The rule that ends a run: is the norm of the caller's gradient at most ``tol`` times
    ``first``, or is f within ``max_gap`` of its minimum, where the engine can tell?

    Attributes
    ----------
    tol, frame : float, Frame
        The tolerance; the variables of the run.
    first : float
        The norm that ``tol`` refers to; where it is negative, the norm at the start (the
        ``smaller`` of that and ``norm_at_zero``, where the latter is given).
    inner_tol : float
        How small the gradient in the run's own variables should be before the caller's gradient is
        worth computing.
    norm_at_zero, zero_value : float
        The gradient's norm at zero; f of the best model without coefficients. Both are for runs
        that begin elsewhere.
    max_gap : float
        How far f may be above its minimum.
    asked, beyond : float, int
        The tolerance that the caller asked for, where ``tol`` is smaller because steps are cheap;
        the number of steps since it was met.
    """

    tol: float
    frame: Frame
    first: float = -1.0
    inner_tol: float = 0.0
    norm_at_zero: float = -1.0
    max_gap: float = 0.0
    asked: float = 0.0
    beyond: int = 0
    zero_value: float = -math.inf

    @property
    def goal(self) -> float:
        """The gradient norm to reach; below 0 where only zero will do."""
        return self.tol * self.first if self.tol > 0.0 else -1.0

    def begin(self, gradient: Array) -> float:
        """The run starts at this gradient, in its own variables; the norm in the caller's."""
        size = self.user_norm(gradient)
        if self.first < 0.0:
            self.first = size if self.norm_at_zero < 0.0 else smaller(self.norm_at_zero, size)
        # as if both norms shrank by the same factor
        self.inner_tol = self.tol * self.first * (norm(gradient) / size if size > 0.0 else 1.0)
        return size

    def user_norm(self, gradient: Array) -> float:
        """The norm of the gradient in the caller's variables."""
        return norm(gradient if self.frame.same else self.frame.gradient_out(gradient))

    def gradient_error(self, error: Array | None) -> float:
        """By how much ``user_norm`` may be wrong, where entries of the gradient may be by this."""
        return 0.0 if error is None else norm(self.frame.error_out(error))

    def out_of_patience(self, size: float) -> bool:
        """Count a step that ended at the norm ``size`` in the caller's variables: were there too
        many since the tolerance that was asked for was met?"""
        self.beyond += size <= self.asked * self.first
        return self.beyond > PATIENCE

    def near(self, gap: float, by_hessian: bool, size: float, ridge: float) -> bool:
        """Is f within ``max_gap`` of its minimum?

        ``gap``: an estimate by a Hessian, or else what f fell by at the last step. Then the bound
        f - f* <= ||g||^2 / (2 ridge) must say so too, with ``size`` the norm of the run's own
        gradient and ``ridge`` the least penalty. An intercept has none, hence both conditions. The
        gap is usually below a hundredth of the bound: scores of hashed text (benchmarks/cv.py) move
        by less than 2 % of their standard error.
        """
        bounded = size**2 <= 2.0 * ridge * LOOSE * self.max_gap
        return (by_hessian or bounded) and gap <= self.max_gap

    def met(self, gradient: Array, size: float | None = None) -> bool:
        """Is the run over? ``size`` is the norm in the caller's variables, where it is known."""
        size = self.user_norm(gradient) if size is None else size
        if size <= max(self.goal, 0.0):
            return True
        nearer = max(0.1, self.tol * self.first / size)
        self.inner_tol = min(self.inner_tol, norm(gradient) * nearer)
        return False
