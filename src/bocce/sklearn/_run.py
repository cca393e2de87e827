"""One output's run: what an estimator asks of the driver, and what it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import sampling, separation
from ..control import Guarded, Limits, registry
from ..problems import Frame, NotFinite, Problem, norm
from ..rows import Array
from ..run import Request, solve
from ..run.constant import constant
from ..run.controllers import LEAST_MU, accelerating_rows, usual_passes
from ..run.result import Progress, Result, StageRun
from ..run.solve import join_stages
from ..run.stop import Stop, smaller

TINY = 20_000  # numbers in X, times the outputs: a pass takes microseconds, so the run goes on
TINY_TOL = 1e-13  # as far as rounding allows: the result depends on the objective alone
OVERFLOW = (
    "fit: the objective or its first gradient overflows, must be finite; scale y, or leave out "
    "columns of huge values."
)
Tell = Callable[[int, Array, float, float, float], bool]


def tiny(X: Any, outputs: int = 1) -> bool:
    """Is a pass over X so cheap that noise and an early stop save nothing?"""
    return bool(X.shape[0] * X.shape[1] * outputs <= TINY)


def outputs_of(p: Problem) -> int:
    """The scores of a row."""
    return math.prod(p.shape[1:])


def dense_pays(X: Any) -> bool:
    """Are sparse rows so few or so full that dense ones, which can be centred, are cheaper?"""
    return tiny(X) or bool(3 * X.nnz >= X.shape[0] * X.shape[1])


def asked(
    method: str, batch_size: float | None, max_iter: int | None, tol: float, seed: int
) -> Request:
    """What an estimator asks of a run. A named method with a schedule is run under the guard."""
    passes = max_iter or usual_passes(tol if reaches_tol(method) else 0.0, Limits())
    return Request(
        method if reaches_tol(method) else Guarded(method),
        batch_size=batch_size,
        seed=seed,
        tol=float(tol),
        sampling="reshuffle",
        record_every="auto",
        passes=passes,
    )


def reaches_tol(method: str) -> bool:
    """Does the method go on until the tolerance is met?"""
    return not registry()[method].needs_T


def with_batch(request: Request, inner: Problem) -> Request:
    """The request with a batch for a method that has a schedule: one at which momentum works."""
    if request.batch_size is not None or reaches_tol(request.facts.name):
        return request
    return replace(request, batch_size=accelerating_rows(inner, LEAST_MU**2))


@dataclass(frozen=True)
class FitOutcome:
    """A run that is over, as an estimator sees it."""

    w: Array  # and then the intercept, where there is one
    history: dict[str, Array]
    stages: list[StageRun]
    stopped: bool = False  # by a callback
    ratio: float = math.nan  # the gradient's norm over the first, in the caller's variables
    escape: Array | None = None  # the direction along which f has no minimiser, if any
    first: float = math.nan  # that first norm

    @property
    def passes(self) -> float:
        return float(self.history["passes"][-1])

    def then(self, more: FitOutcome) -> FitOutcome:
        """This run and another that went on from its end, as one."""
        history = {}
        for name, values in more.history.items():
            before = self.history[name]
            if name in ("iteration", "passes"):
                values = values + before[-1]
            else:
                values = values
            history[name] = np.concatenate([before, values[1:]])
        return replace(more, history=history, stages=join_stages(self.stages + more.stages))


@dataclass(frozen=True)
class OutputRun:
    """The run of one output: the problem as given and in the frame's variables, and the start."""

    p: Problem
    inner: Problem
    frame: Frame
    start: Array
    request: Request
    tell: Tell | None = None
    cold: bool = False  # Does the run start at the best constant prediction?
    by_sums: bool = False  # Do sums over all rows replace passes over the rows?

    def descend(self) -> FitOutcome:
        """Run until the gradient, in the caller's variables, is tol times the first."""
        p = self.p
        inner = self.inner
        request = with_batch(self.request, self.inner)
        name = request.facts.name
        wanted = request.tol
        exact = tiny(p.X, outputs_of(p)) and reaches_tol(name)
        goal = min(wanted, TINY_TOL) if exact else wanted
        stop = self._stop_at(goal)
        stop.asked = wanted if goal < wanted else 0.0
        ended = self._driven(request, stop)
        last = float(ended.history["gradient_norm"][-1])
        ratio = last / stop.first if stop.first > 0 else 0.0
        away = separation.after_run(p, self.frame, inner, ended.w, ended.passes)
        return replace(ended, ratio=ratio, escape=away, first=stop.first)

    def _stop_at(self, goal: float) -> Stop:
        """The end of a run: against the gradient's norm at zero or at the best constant prediction,
        whichever is smaller. A cold run sees the gradient at the latter itself."""
        p = self.p
        inner = self.inner
        frame = self.frame
        measure = frame.measure

        def at(intercept: Any) -> float:
            if self.by_sums or inner.rows.foreign:  # where the rows are
                flat = p.join_intercept(np.zeros(p.shape)[: p.d], np.zeros(p.shape[1:]) + intercept)
                if self.by_sums:
                    gradient = inner.sums.gradient
                else:
                    gradient = inner.gradient
                return norm(measure.gradient_out(gradient(frame.into(flat))))
            nothing = np.zeros((inner.n, *inner.shape[1:]))
            slopes = inner.slopes(inner.shifted(nothing + intercept))
            return norm(measure.gradient_out(inner.combine(slopes) / inner.n))

        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.cold:
                moved = p.intercept and self.start[-1:].any()
                stop = Stop(goal, frame, even=True, norm_at_zero=at(0.0) if moved else -1.0)
            else:
                zero = at(0.0)
                first = smaller(zero, at(constant(p))) if p.intercept else zero
                stop = Stop(goal, frame, even=True, first=first)
        if not (math.isfinite(stop.first) and math.isfinite(stop.norm_at_zero)):
            raise ValueError(OVERFLOW)
        stop.judges(p)
        return stop

    def _driven(self, request: Request, stop: Stop) -> FitOutcome:
        """The run by the driver."""
        p = self.p
        b = request.batch_size
        stopped = False

        def watch(now: Progress) -> bool:
            nonlocal stopped
            w = p.join_intercept(now.w, now.intercept)
            stopped = self._told(now.k, w, now.value, now.grad_norm, stop)
            return stopped

        callback = None if self.tell is None else watch
        if b is None:
            rows = None
        else:
            rows = sampling.batch_rows("fit", b, p.n)
        request = replace(request, batch_size=rows, w0=self.start, tol=stop.tol, callback=callback)
        try:  # an estimator has checked its parameters
            result = solve(p, request, stop, self.frame, self.inner)
        except NotFinite as error:
            raise ValueError(OVERFLOW) from error
        w = p.join_intercept(result.w, result.intercept)
        return FitOutcome(w, _columns(result, p.n), result.stages, stopped)

    def _told(self, k: int, w: Array, value: float, size: float, stop: Stop) -> bool:
        """Show a step to the callback; does it stop the run?"""
        assert self.tell is not None
        ratio = size / stop.first if stop.first > 0 else 0.0
        return self.tell(k, w, value, ratio, _share(ratio, stop.tol))


def judged(outcome: FitOutcome, inner: Problem, frame: Frame, w: Array) -> FitOutcome:
    """The same run, judged at w: what is left of it after rounding."""
    at = frame.into(np.asarray(w, dtype=np.float64))
    first = outcome.first
    size = _by_sums(inner, frame, at)
    if size is None:
        size = norm(frame.measure.gradient_out(inner.gradient(at)))
    return replace(outcome, ratio=size / first if first > 0 else 0.0)


def _by_sums(inner: Problem, frame: Frame, at: Array) -> float | None:
    """The norm of the gradient, from sums over the rows that are known; None where they are not, or
    do not say it to one per cent."""
    sums = inner.known("sums")
    if sums is None or not sums.sound:
        return None
    size = norm(frame.measure.gradient_out(sums.gradient(at) + inner.penalty_gradient(at)))
    if norm(frame.measure.error_out(sums.error(at))) <= 0.01 * size:
        return size
    return None


def _share(ratio: float, goal: float) -> float:
    """How much of the way to the goal is made, in orders of magnitude."""
    if ratio <= goal or goal == 0.0:
        return float(ratio <= goal)
    return max(0.0, float(np.log(ratio) / np.log(goal)))


def _columns(result: Result, n: int) -> dict[str, Array]:
    """The history as estimators have it."""
    return {
        "iteration": result.history["k"],
        "passes": result.history["gradient_evaluations"] / n,
        "value": result.history["value"],
        "gradient_norm": result.history["grad_norm"],
    }
