"""One output's run: what an estimator asks of the driver, and what it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import sampling
from ..control import PLANE, Guarded, Limits, registry
from ..control.anytime import FIRST_SHARE
from ..plane.small import NewtonPoint, SmallNewton
from ..problems import Frame, NotFinite, Problem, norm
from ..rows import Array
from ..run import Request, solve
from ..run.anytime import summed, usual_passes
from ..run.constant import constant
from ..run.controllers import accelerating_rows
from ..run.driver import LITTLE
from ..run.result import Progress, Result, StageRun
from ..run.stop import Stop, smaller

EPS = float(np.finfo(np.float64).eps)
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
    return replace(request, batch_size=accelerating_rows(inner, FIRST_SHARE**2))


@dataclass(frozen=True)
class FitOutcome:
    """A run that is over, as an estimator sees it."""

    w: Array  # and then the intercept, where there is one
    history: dict[str, Array]
    stages: list[StageRun]
    stopped: bool = False  # by a callback
    ratio: float = math.nan  # the gradient's norm over the first, in the caller's variables
    separated: bool = False  # classes, without l2: there is no finite minimiser
    first: float = math.nan  # that first norm

    @property
    def passes(self) -> float:
        return float(self.history["passes"][-1])


def stop_at(
    p: Problem, inner: Problem, frame: Frame, start: Array, goal: float, by_sums: bool = False
) -> Stop:
    """The end of a run: against the gradient's norm at zero or at the best constant prediction,
    whichever is smaller. A cold run begins at one of them and sees the gradient there itself.
    ``by_sums``: gradients need no pass over the rows."""

    def at(intercept: Any) -> float:
        if by_sums or inner.rows.foreign:  # where the rows are
            flat = p.join_intercept(np.zeros(p.shape)[: p.d], np.zeros(p.shape[1:]) + intercept)
            gradient = inner.sums.gradient if by_sums else inner.gradient
            return norm(frame.gradient_out(gradient(frame.into(flat))))
        nothing = np.zeros((inner.n, *inner.shape[1:]))
        slopes = inner.slopes(nothing + intercept)
        return norm(frame.gradient_out(inner.combine(slopes) / inner.n))

    flat = constant(p) if p.intercept else 0.0
    cold = not start[: p.d].any() and (not p.intercept or np.array_equal(start[-1], flat))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if cold:
            stop = Stop(goal, frame, norm_at_zero=at(0.0) if p.intercept else -1.0)
        else:
            zero = at(0.0)
            stop = Stop(goal, frame, smaller(zero, at(flat)) if p.intercept else zero)
    if not (math.isfinite(stop.first) and math.isfinite(stop.norm_at_zero)):
        raise ValueError(OVERFLOW)
    return stop


def descend(
    p: Problem, inner: Problem, frame: Frame, start: Array, request: Request, tell: Tell | None
) -> FitOutcome:
    """Run until the gradient, in the caller's variables, is tol times the first."""
    request, name = with_batch(request, inner), request.facts.name
    exact = tiny(p.X, outputs_of(p)) and reaches_tol(name)
    goal = min(request.tol, TINY_TOL) if exact else request.tol
    by_sums = summed(inner, name, request.batch_size)
    stop = stop_at(p, inner, frame, start, goal, by_sums)
    wanted = request.tol
    stop.asked = wanted if goal < wanted else 0.0
    ended = None if by_sums else small(inner, frame, start, request, stop, tell)
    if ended is None:
        ended = driven(p, inner, frame, start, request, stop, tell)
    last = float(ended.history["gradient_norm"][-1])
    last = _at_returned(p, frame, ended.w, last, goal * stop.first)
    ratio = last / stop.first if stop.first > 0 else 0.0
    apart = _separated(inner, frame, ended.w)
    return replace(ended, ratio=ratio, separated=apart, first=stop.first)


def driven(
    p: Problem,
    inner: Problem,
    frame: Frame,
    start: Array,
    request: Request,
    stop: Stop,
    tell: Tell | None,
) -> FitOutcome:
    """The run by the driver."""
    stopped, b = False, request.batch_size

    def watch(now: Progress) -> bool:
        nonlocal stopped
        ratio = now.grad_norm / stop.first if stop.first > 0 else 0.0
        assert tell is not None
        w = p.join_intercept(now.w, now.intercept)
        stopped = tell(now.k, w, now.value, ratio, _share(ratio, stop.tol))
        return stopped

    callback = None if tell is None else watch
    rows = None if b is None else sampling.batch_rows("fit", b, p.n)
    request = replace(request, batch_size=rows, w0=start, tol=stop.tol, callback=callback)
    try:
        result = solve(p, request, stop, frame, inner)  # an estimator has checked its parameters
    except NotFinite as error:
        raise ValueError(OVERFLOW) from error
    w = p.join_intercept(result.w, result.intercept)
    return FitOutcome(w, _columns(result, p.n), result.stages, stopped)


def small(
    inner: Problem, frame: Frame, start: Array, request: Request, stop: Stop, tell: Tell | None
) -> FitOutcome | None:
    """The run by Newton's method alone; None where data are not small, or it does not lead there.

    The driver's rules hold: f falls at each step, the gradient is small in the caller's variables,
    and f has hardly more to fall. Where rounding is the goal, the run is also over when the
    tolerance that was asked for is met and the gradient no longer halves. Callbacks are told of the
    steps when these are known to lead there.
    """
    asked_for_batches = request.facts.needs_T or request.batch_size is not None
    if asked_for_batches or stop.tol == 0.0 or not SmallNewton.suits(inner):
        return None
    own, newton = replace(stop), SmallNewton(inner)
    most = min(newton.limits.steps, request.passes)
    with np.errstate(all="ignore"):
        at = newton.look(frame.into(start))
        points, norms = [at], [own.begin(at.gradient)]
        while not own.met(at.gradient, norms[-1]):
            there = newton.step(at) if len(points) <= most else None
            if there is None or not math.isfinite(there.value):
                return None
            at = there
            points.append(at)
            norms.append(own.user_norm(at.gradient))
            if norms[-1] > 0.5 * norms[-2] and norms[-1] <= own.asked * own.first:
                break
        if len(points) > 1:
            little = max(LITTLE * (points[0].value - at.value), at.slack)
            if not newton.still_to_fall(at, points[-2].value - at.value) <= little:
                return None
    stop.first = own.first
    stopped = tell is not None and _told(points, norms, frame, stop, tell)
    steps = len(points) - 1
    history = {
        "iteration": np.arange(steps + 1),
        "passes": np.arange(steps + 1.0),
        "value": np.array([point.value for point in points]),
        "gradient_norm": np.array(norms),
    }
    stages = [StageRun(PLANE.name, steps, inner.n)] if steps else []
    return FitOutcome(frame.out(points[-1].w), history, stages, stopped)


def _told(
    points: list[NewtonPoint], norms: list[float], frame: Frame, stop: Stop, tell: Tell
) -> bool:
    """Show the steps to a callback, and drop those behind the one at which it stops the run."""
    for k, (point, size) in enumerate(zip(points, norms)):
        ratio = size / stop.first if stop.first > 0 else 0.0
        if tell(k, frame.out(point.w), point.value, ratio, _share(ratio, stop.tol)):
            del points[k + 1 :], norms[k + 1 :]
            return True
    return False


def _at_returned(p: Problem, frame: Frame, w: Array, size: float, wanted: float) -> float:
    """The norm of the gradient at w, which was ``size`` before w left the frame's variables.

    A centre far from 0 makes the intercept a sum of large numbers, which is rounded. The bound on
    what rounding adds is added to the norm; the gradient is computed anew where the bound matters
    for the tolerance, or a pass costs nothing.
    """
    if not frame.centre.any():
        return size
    coef, intercept = np.abs(w[: p.d]), np.abs(w[p.d :])
    moved = EPS * float(np.max(np.abs(frame.centre) @ coef + intercept.sum(axis=0)))
    curvature = math.inf if p.loss.curvature is None else p.loss.curvature
    bound = curvature * moved * math.hypot(1.0, norm(frame.centre)) if moved > 0.0 else 0.0
    if bound <= 0.1 * max(size, wanted):
        return size + bound
    with np.errstate(over="ignore", invalid="ignore"):
        return norm(p.gradient(w))


def judged(outcome: FitOutcome, inner: Problem, frame: Frame, w: Array) -> FitOutcome:
    """The same run, judged at w: what is left of it after rounding."""
    at, first = frame.into(np.asarray(w, dtype=np.float64)), outcome.first
    size = _by_sums(inner, frame, at)
    if size is None:
        size = norm(frame.gradient_out(inner.gradient(at)))
    return replace(outcome, ratio=size / first if first > 0 else 0.0)


def _by_sums(inner: Problem, frame: Frame, at: Array) -> float | None:
    """The norm of the gradient, from sums over the rows that are known; None where they are not, or
    do not say it to one per cent."""
    sums = inner.known("sums")
    if sums is None or not sums.sound:
        return None
    size = norm(frame.gradient_out(sums.gradient(at) + inner.penalty_gradient(at)))
    return size if norm(frame.error_out(sums.error(at))) <= 0.01 * size else None


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


def _separated(inner: Problem, frame: Frame, w: Array) -> bool:
    """Are all rows on their side where no l2 keeps w from growing?"""
    if inner.l2 > 0.0 or not (inner.loss.Plain.margin or inner.loss.multi_output):
        return False
    z = inner.predict(frame.into(w))
    if inner.loss.multi_output:
        z = z - z[np.arange(inner.n), inner.y][:, None]
        return bool((np.count_nonzero(z >= 0.0, axis=1) == 1).all())
    return bool((inner.y.real * (z + inner.y.imag) > 0.0).all())
