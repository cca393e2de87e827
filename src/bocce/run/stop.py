"""When a run is over, judged in the caller's variables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._record import record
from ..problems import Frame, Problem, norm
from ..rows import Array

PATIENCE = 100  # A run may spend this many steps beyond the tolerance that the caller asked for.
ROUNDED_NORM = 1e-9  # A gradient norm below this share of the norm at zero is rounding.
EPS = float(np.finfo(np.float64).eps)
LEAST_GOAL = 16.0 * EPS  # of the norm at zero: what no run is asked to go below
LOOSE = 100.0  # The bound on the gap by strong convexity may be so many times ``max_gap``.


def smaller(at_zero: float, at_constant: float, tol: float) -> float:
    """The gradient's norm at zero or at the best constant prediction, whichever is smaller; ``tol``
    is what it will be multiplied by.

    Where y is far from 0, the gradient at zero is nearly all of the intercept and says little of
    the other coefficients.
    """
    share = ROUNDED_NORM
    if tol > 0.0:
        share = max(share, min(1.0, LEAST_GOAL / tol))
    return min(at_zero, max(at_constant, share * at_zero))


@dataclass
class Stop:
    """The rule that ends a run: is the norm of the caller's gradient at most ``tol`` times
    ``first``, or is f within ``max_gap`` of its minimum, where the engine can tell?"""

    tol: float
    frame: Frame  # the variables of the run
    first: float = -1.0  # the norm that ``tol`` refers to; negative: see ``begin``
    inner_tol: float = 0.0  # in the run's own variables: above, the caller's norm is not computed
    norm_at_zero: float = -1.0  # of the gradient, for runs that begin elsewhere
    max_gap: float = 0.0
    gap_share: float = 0.0  # of f, which is allowed as a gap too
    loose_gap: float = 0.0  # the same, where no Hessian says how far f is above its minimum
    required: float = (
        0.0  # the caller's tolerance, where ``tol`` is smaller because steps are cheap
    )
    beyond: int = 0  # steps since ``required`` was met
    last: float = 0.0  # the gradient's norm before the last step, in the caller's variables
    zero_value: float = -math.inf  # f of the best model without coefficients, for runs of a path
    even: bool = False  # Do columns of tiny size count as columns of size 1? See ``Frame.measure``.
    outer: Problem | None = None  # the caller's problem, where leaving the frame may round w

    def judges(self, problem: Problem) -> None:
        """The caller's problem, whose gradient at what is returned decides."""
        self.outer = problem

    @property
    def measure(self) -> Frame:
        """The frame whose ``gradient_out`` gives the gradients that are compared."""
        if self.even:
            return self.frame.measure
        return self.frame

    @property
    def goal(self) -> float:
        """The gradient norm to reach; below 0 where only zero will do."""
        if self.tol > 0.0:
            return self.tol * self.first
        return -1.0

    def begin(self, gradient: Array) -> float:
        """The run starts at this gradient, in its own variables; the norm in the caller's."""
        size = self.user_norm(gradient)
        self.last = size
        if self.first < 0.0:
            if self.norm_at_zero < 0.0:
                self.first = size
            else:
                self.first = smaller(self.norm_at_zero, size, self.required or self.tol)
        # as if both norms shrank by the same factor
        self.inner_tol = self.tol * self.first * (norm(gradient) / size if size > 0.0 else 1.0)
        return size

    def user_norm(self, gradient: Array, error: Array | None = None) -> float:
        """The norm of the gradient in the caller's variables; with a bound on the ``error`` of each
        entry, the largest that the norm can be."""
        measure = self.measure
        size = norm(gradient if measure.same else measure.gradient_out(gradient))
        if error is None:
            return size
        return size + norm(measure.error_out(error))

    @property
    def remaining(self) -> float:
        """The factor by which the gradient's norm is still to shrink."""
        if self.last > 0.0:
            return self.goal / self.last
        return 1.0

    def out_of_patience(self, size: float, halves: bool = False, stalled: bool = False) -> bool:
        """Count a step that ended at the norm ``size`` in the caller's variables. Is the tolerance
        that was asked for met, and is what further steps gain only rounding?

        ``halves``: does each step halve the gradient, at least, until only rounding is left? Of
        other steps many are allowed. ``stalled``: can no fall of f be measured?
        """
        met = size <= self.required * self.first
        rounding = stalled or (halves and size > 0.5 * self.last)
        self.last = size
        self.beyond += met
        return met and (rounding or self.worn_out)

    @property
    def worn_out(self) -> bool:
        """Were many steps taken since the tolerance that was asked for was met?"""
        return self.beyond > PATIENCE

    def allowed_gap(self, value: float) -> float:
        """How far f may stay above its minimum where it has this value; 0 where only the gradient
        decides."""
        return max(self.max_gap, self.gap_share * abs(value))

    def bounded_near(self, fell: float, size: float, ridge: float) -> bool:
        """Is f near its minimum, where no Hessian says so and f fell by ``fell`` at the last step?

        Then the bound f - f* <= ||g||^2 / (2 ridge) must say so too, with ``size`` the norm of the
        run's own gradient and ``ridge`` the least penalty. An intercept has none, hence both
        conditions. The gap is usually below a hundredth of the bound: scores of hashed text
        (benchmarks/cv.py) move by at most 7 % of their standard error.
        """
        return fell <= self.loose_gap and size**2 <= 2.0 * ridge * LOOSE * self.loose_gap

    def met(self, gradient: Array, size: float | None = None) -> bool:
        """Is the run over? ``size`` is the norm in the caller's variables, where it is known."""
        if size is None:
            size = self.user_norm(gradient)
        else:
            size = size
        if size <= max(self.goal, 0.0):
            return True
        nearer = max(0.1, self.tol * self.first / size)
        self.inner_tol = min(self.inner_tol, norm(gradient) * nearer)
        return False

    def norm_returned(self, w: Array, size: float) -> float:
        """The norm of the caller's gradient at w, the point that is given back; before w left the
        frame's variables it was ``size``, which met the tolerance.

        A centre far from 0 makes the intercept a sum of large numbers, which is rounded. Where that
        may matter for the tolerance, the gradient is computed from the rounded point; elsewhere a
        bound on what rounding adds is added.
        """
        if self.outer is None or not self.frame.centre.any():
            return size
        most = size + self._rounding_of(w)
        if most <= self.goal:
            return most
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = self.outer.gradient(w)
            return norm(self.frame.measured(gradient) if self.even else gradient)

    @property
    def required_goal(self) -> float:
        """The gradient norm that the caller asked for."""
        return max(self.required * self.first, self.goal, 0.0)

    def _rounding_of(self, w: Array) -> float:
        """A bound on what rounding the intercept adds to the norm of the caller's gradient."""
        assert self.outer is not None
        size = np.abs(w)
        d = self.outer.d
        moved = EPS * float(np.max(np.abs(self.frame.centre) @ size[:d] + size[d:].sum(axis=0)))
        if moved == 0.0:
            return 0.0
        curvature = self.outer.loss.curvature
        if curvature is None:
            return math.inf
        return curvature * moved * math.hypot(1.0, norm(self.measure.centre))

    def state_dict(self) -> dict[str, Array]:
        """The numbers that a checkpoint keeps."""
        return record(
            first=self.first, inner_tol=self.inner_tol, beyond=self.beyond, last=self.last
        )

    def load_state_dict(self, saved: dict[str, Array]) -> None:
        self.first = float(saved["first"])
        self.inner_tol = float(saved["inner_tol"])
        self.beyond = int(saved["beyond"])
        self.last = float(saved["last"])
