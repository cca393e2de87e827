"""What is done before a run: rows that are dense where that pays, a start, and what ``tol`` refers
to.

``used``, ``taken`` and ``spread`` of ``run/columns.py`` leave out columns without entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..control import registry
from ..problems import Frame, Problem, norm
from ..rows import Array
from .constant import constant
from .controllers import LEAST_MU, accelerating_rows
from .request import Callback, CheckedRequest
from .result import Result
from .solve import solve
from .stop import Stop, smaller

TINY = 20_000  # numbers in X, times the outputs: a pass takes microseconds, so the run goes on
TINY_TOL = 1e-13  # as far as rounding allows: the result depends on the objective alone
KNOWN_SHARE = 0.01  # The error of a norm from sums over the rows, as a share of that norm.
OVERFLOW = (
    "fit: the objective or its first gradient overflows, must be finite; scale y, or leave out "
    "columns of huge values."
)


def tiny(X: Any, outputs: int = 1) -> bool:
    """Is a pass over X so cheap that noise and an early stop save nothing?"""
    return bool(X.shape[0] * X.shape[1] * outputs <= TINY)


def outputs_of(p: Problem) -> int:
    """The scores of a row."""
    return math.prod(p.shape[1:])


def dense_pays(X: Any) -> bool:
    """Are sparse rows so few or so full that dense ones, which can be centred, are cheaper?"""
    return tiny(X) or bool(3 * X.nnz >= X.shape[0] * X.shape[1])


def reaches_tol(method: str) -> bool:
    """Does the method go on until the tolerance is met?"""
    return not registry()[method].needs_T


def with_batch(request: CheckedRequest, inner: Problem) -> CheckedRequest:
    """The request with a batch for a method that has a schedule: one at which momentum works."""
    if request.batch_size is not None or reaches_tol(request.facts.name):
        return request
    return replace(request, batch_size=accelerating_rows(inner, LEAST_MU**2))


@dataclass(frozen=True)
class PreparedRun:
    """A run that can begin: the problem as given and in the frame's variables, and the start."""

    p: Problem
    inner: Problem
    frame: Frame
    start: Array
    request: CheckedRequest
    cold: bool = False  # Does the run start at the best constant prediction?
    by_sums: bool = False  # Do sums over all rows replace passes over the rows?

    def stop(self) -> Stop:
        """The rule that ends the run: against the gradient's norm at zero or at the best constant
        prediction, whichever is smaller. A cold run sees the gradient at the latter itself.

        A run on tiny data goes on to rounding.
        """
        p = self.p
        goal = self.request.tol
        asked = 0.0
        if tiny(p.X, outputs_of(p)) and reaches_tol(self.request.facts.name) and goal > TINY_TOL:
            goal = TINY_TOL
            asked = self.request.tol
        zero = first = -1.0
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if not self.cold:
                first = self._norm_at(0.0)
                if p.intercept:
                    first = smaller(first, self._norm_at(constant(p)))
            elif p.intercept and self.start[-1:].any():
                zero = self._norm_at(0.0)
        if not (math.isfinite(first) and math.isfinite(zero)):
            raise ValueError(OVERFLOW)
        stop = Stop(goal, self.frame, first=first, norm_at_zero=zero, asked=asked, even=True)
        stop.judges(p)
        return stop

    def _norm_at(self, intercept: Any) -> float:
        """The norm of the gradient at a constant prediction, in the caller's variables."""
        p = self.p
        inner = self.inner
        if self.by_sums or inner.rows.foreign:  # where the rows are
            flat = p.join_intercept(np.zeros(p.shape)[: p.d], np.zeros(p.shape[1:]) + intercept)
            at = self.frame.into(flat)
            gradient = inner.sums.gradient(at) if self.by_sums else inner.gradient(at)
        else:
            nothing = np.zeros((inner.n, *inner.shape[1:]))
            slopes = inner.slopes(inner.shifted(nothing + intercept))
            gradient = inner.combine(slopes) / inner.n
        return norm(self.frame.measure.gradient_out(gradient))

    def go(self, stop: Stop, callback: Callback | None = None) -> Result:
        """The run by the driver."""
        request = with_batch(self.request, self.inner)
        request = replace(request, w0=self.start, tol=stop.tol, callback=callback)
        return solve(self.p, request, stop, self.frame, self.inner)

    def norm_at(self, w: Array) -> float:
        """The norm of the gradient at w, in the caller's variables: from sums over the rows where
        these are known and say it well, else from the rows."""
        inner = self.inner
        measure = self.frame.measure
        at = self.frame.into(np.asarray(w, dtype=np.float64))
        sums = inner.known("sums")
        if sums is not None and sums.sound:
            size = norm(measure.gradient_out(sums.gradient(at) + inner.penalty_gradient(at)))
            if norm(measure.error_out(sums.error(at))) <= KNOWN_SHARE * size:
                return size
        return norm(measure.gradient_out(inner.gradient(at)))
