"""What is done before a run, for all who start one: ``minimize``, ``path``, ``plan``, estimators,
the shell and Ray.

A run that chooses its own steps leaves out columns without entries, makes tiny sparse rows dense,
and scales its variables. It starts at the best constant prediction, and ``tol`` refers to the
gradient there (or at zero, if that is smaller). Steps of a table or of a policy are taken in the
problem as it was given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..problems import Frame, NotFinite, Problem, norm
from ..rows import Array, Rows, rows_of
from .columns import Index, spread, taken, used
from .constant import constant
from .controllers import LEAST_MU, accelerating_rows, frame_of, summed
from .request import Callback, CheckedRequest
from .result import Progress
from .stop import Stop, smaller

Listener: TypeAlias = Callable[[Progress, Stop], object]

TINY = 20_000  # numbers in X, times the outputs: a pass takes microseconds, so the run goes on
TINY_TOL = 1e-13  # as far as rounding allows: the result depends on the objective alone
# The same where nothing keeps w from running away: along directions in which f is flat, steps that
# are made of rounding would move w far.
FLAT_TOL = 1e-10
KNOWN_SHARE = 0.01  # The error of a norm from sums over the rows, as a share of that norm.
OVERFLOW = "f or its gradient overflows at zero, must be finite; scale X and y."


def tiny(X: Any, outputs: int = 1) -> bool:
    """Is a pass over X so cheap that noise and an early stop save nothing?"""
    return bool(X.shape[0] * X.shape[1] * outputs <= TINY)


def is_tiny(p: Problem) -> bool:
    """Is a pass over the rows so cheap? Not of rows that are read from elsewhere."""
    return not p.in_parts and p.n * p.d * math.prod(p.shape[1:]) <= TINY


def goals(p: Problem, tol: float) -> tuple[float, float]:
    """The tolerance that a run goes on to, and where that is smaller than the caller's, the
    caller's, which is enough (else 0). Runs on tiny data go on to rounding."""
    if not is_tiny(p):
        return tol, 0.0
    bounded = p.loss.attains_minimum or bool((p.ridges[: p.d] > 0.0).all())
    goal = TINY_TOL if bounded else FLAT_TOL
    if tol > goal:
        return goal, tol
    return tol, 0.0


def trimmed(p: Problem) -> tuple[Problem, Index | None]:
    """The problem with dense rows, which can be centred, where sparse ones are tiny; or with the
    columns alone that some row has an entry in, and these columns (None: all of them)."""
    X = p.X
    if p.in_parts or not sp.issparse(X):
        return p, None
    if tiny(X):
        return on_rows(p, rows_of(X.toarray()), None), None
    columns = used(X)
    if columns is None:
        return p, None
    return on_rows(p, rows_of(taken(X, columns)), columns), columns


def on_rows(p: Problem, rows: Rows, columns: Index | None) -> Problem:
    """The same objective on rows that have these columns alone."""
    penalty = p.penalty
    if columns is not None and penalty is not None:
        penalty = np.append(penalty[columns], penalty[p.d :])
    return p.with_rows(rows, penalty=penalty, has_column=False, adapts=p.adapts)


def reaches_tol(request: CheckedRequest) -> bool:
    """Does the method go on until the tolerance is met?"""
    return not request.facts.needs_T


@dataclass(frozen=True)
class Widened:
    """A caller's callback, which sees all d columns."""

    callback: Callback
    columns: Index | None
    d: int

    def __call__(self, now: Progress, stop: Stop) -> object:
        if self.columns is None:
            return self.callback(now)
        w = spread(now.w, self.columns, self.d, axis=0)
        gradient = now.gradient
        if gradient is not None:  # the penalty's share is zero where w is, too
            count = self.columns.size
            own = spread(gradient[:count], self.columns, self.d, axis=0)
            gradient = np.concatenate([own, gradient[count:]])
        return self.callback(now._replace(w=w, gradient=gradient))


@dataclass(frozen=True)
class PreparedRun:
    """A run that can begin: the problem as it is minimised, in the caller's variables and in the
    frame's, and the request with its start."""

    p: Problem
    inner: Problem
    frame: Frame
    request: CheckedRequest
    columns: Index | None = None  # of the caller's problem that p has; None where p has all
    listener: Listener | None = None  # who is told of each record
    cold: bool = False  # Does the run begin at the best constant prediction?
    # Where the gradient is that tol refers to; None: at zero or at the best constant prediction,
    # whichever gradient is smaller.
    origin: Array | None = None
    first: float = -1.0  # the norm of that gradient, where it is known
    count: float | None = None  # of observations, where weights do not add up to the rows

    @property
    def even(self) -> bool:
        """Do columns of tiny size count as columns of size 1? See ``Frame.measure``."""
        return self.origin is None

    @cached_property
    def by_sums(self) -> bool:
        """Do sums over all rows replace passes over the rows?"""
        return summed(self.inner, self.request)

    @property
    def start(self) -> Array:
        """Where the run begins, in the frame's variables."""
        w0 = self.request.w0
        assert w0 is not None
        return self.frame.into(w0)

    def of_output(self, p: Problem, start: Array | None) -> PreparedRun:
        """The run of another output: ``p`` has the same rows, and other targets."""
        inner = self.inner.with_encoded(p.y, p.offset).with_fields(loss=p.loss)
        w0 = best_constant(p) if start is None else start
        return replace(self, p=p, inner=inner, request=replace(self.request, w0=w0))

    def from_end(self, w: Array, tol: float, first: float) -> PreparedRun:
        """The same run from w to another tolerance, with the norm that tol refers to."""
        request = replace(self.request, w0=w, tol=tol)
        return replace(self, request=request, cold=False, first=first)

    def with_loss(self, p: Problem, w: Array) -> PreparedRun:
        """The run from w of a problem ``p`` that has another loss."""
        inner = self.inner.with_fields(loss=p.loss)
        request = replace(self.request, w0=w)
        return replace(self, p=p, inner=inner, request=request, cold=False, first=-1.0)

    def stop(self) -> Stop:
        """The rule that ends the run."""
        first, zero = self._reference()
        if not (math.isfinite(first) and math.isfinite(zero)):
            raise NotFinite(f"minimize: {OVERFLOW}")
        goal = self.request.tol
        enough = 0.0
        if self.origin is None and reaches_tol(self.request):
            goal, enough = goals(self.p, goal)
        return Stop(goal, self.frame, first, norm_at_zero=zero, required=enough, even=self.even)

    def _reference(self) -> tuple[float, float]:
        """The norm that tol refers to, and the norm at zero. A negative number stands for one that
        the run itself sees where it begins, or has no need of."""
        p = self.p
        if self.first >= 0.0 or self.origin is self.request.w0:
            return self.first, -1.0
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.origin is not None:
                return self.norm_at(self.origin), -1.0
            if self.cold:
                moved = p.intercept and self.start[-1:].any()
                return -1.0, self._norm_at_constant(0.0) if moved else -1.0
            size = self._norm_at_constant(0.0)
            if p.intercept:
                size = smaller(size, self._norm_at_constant(constant(p)), self.request.tol)
            return size, -1.0

    def _norm_at_constant(self, intercept: Any) -> float:
        """The norm of the gradient at a constant prediction, in the caller's variables."""
        inner = self.inner
        if self.by_sums or inner.rows.foreign:  # where the rows are
            at = self.frame.into(constant_point(self.p, intercept))
            gradient = inner.sums.gradient(at) if self.by_sums else inner.gradient(at)
        else:
            nothing = np.zeros((inner.n, *inner.shape[1:]))
            slopes = inner.slopes(inner.shifted(nothing + intercept))
            gradient = inner.combine(slopes) / inner.n
        return self._norm(gradient)

    def _norm(self, gradient: Array) -> float:
        """The norm of a gradient in the frame's variables, measured in the caller's."""
        measure = self.frame.measure if self.even else self.frame
        return norm(measure.gradient_out(gradient))

    def norm_at(self, w: Array) -> float:
        """The norm of the gradient at w, in the caller's variables: from sums over the rows where
        these are known and say it well, else from the rows."""
        inner = self.inner
        at = self.frame.into(np.asarray(w, dtype=np.float64))
        sums = inner.known("sums")
        if sums is not None and sums.sound:
            size = self._norm(sums.gradient(at) + inner.penalty_gradient(at))
            measure = self.frame.measure
            if norm(measure.error_out(sums.error(at))) <= KNOWN_SHARE * size:
                return size
        return self._norm(inner.gradient(at))


def prepare(
    p: Problem, request: CheckedRequest, *, of_model: bool = False, count: float | None = None
) -> PreparedRun:
    """What a checked request needs before it is run.

    ``of_model``: the run fits a model of an estimator. Its columns are scaled with any method, and
    ``tol`` refers to the model without coefficients wherever the run begins. ``count``: see
    ``PreparedRun``.
    """
    own_steps = of_model or request.chooses_steps
    d = p.d
    columns = None
    w0 = request.w0
    # the start of rows in parts is zero: a further pass over a file gains nothing
    cold = own_steps and w0 is None and not p.in_parts
    if cold:
        p, columns = trimmed(p)
        w0 = best_constant(p)
    elif w0 is None:
        w0 = np.zeros(p.shape)
    if request.w0 is None:
        request = replace(request, w0=w0)
    frame = Frame.of(p) if of_model else frame_of(p, request)
    inner = frame.problem(p)
    if of_model and not reaches_tol(request) and request.batch_size is None:
        # one at which momentum works
        request = replace(request, batch_size=accelerating_rows(inner, LEAST_MU**2))
    origin = None if of_model or cold else w0
    listener = None
    if request.callback is not None:
        listener = Widened(request.callback, columns, d)
    return PreparedRun(p, inner, frame, request, columns, listener, cold, origin, count=count)


def best_constant(p: Problem) -> Array:
    """The variables of the best model without coefficients; zeros without an intercept."""
    if not p.intercept:
        return np.zeros(p.shape)
    return constant_point(p, constant(p))


def constant_point(p: Problem, intercept: Any) -> Array:
    """The variables of a constant prediction."""
    point = np.zeros(p.shape)
    if p.intercept:
        point[-1] = intercept
    return point
