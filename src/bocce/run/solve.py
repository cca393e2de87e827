"""``solve``: a request that was checked becomes a run, and the run a result with a message."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType, MethodType

import numpy as np

from .._threads import one_thread
from ..control import Controller, Fixed, GuardedRun, RunVerdict
from ..control.base import Steps
from ..problems import Frame, Problem
from ..rows import Array, digest
from ..schedules import Schedule
from .checkpoint import FORMAT, Identity
from .controllers import controller_of, frame_of
from .driver import Driver
from .facts import message
from .request import CheckedRequest
from .result import Result, StageRun
from .stop import Stop

STACK = 6  # A warning names the line that called ``minimize``.


def solve(
    p: Problem,
    request: CheckedRequest,
    stop: Stop | None = None,
    frame: Frame | None = None,
    inner: Problem | None = None,
) -> Result:
    """Run a request that was checked.

    ``stop`` is the rule that ends the run, by default the usual one. ``frame`` and ``inner`` are
    the variables to run in and the problem in those variables, where they are known already.
    """
    frame = frame or frame_of(p, request)
    run, verdict = _run(p, request, stop or Stop(request.tol, frame), frame, inner)
    result = _result(p, run, verdict)
    if verdict == RunVerdict.NOISY:
        warnings.warn(f"minimize: {result.message}", RuntimeWarning, stacklevel=STACK)
    return result


def end(p: Problem, request: CheckedRequest, stop: Stop, frame: Frame, inner: Problem) -> Array:
    """The variables where the run ends that ``solve`` would make, and nothing else of it."""
    run, verdict = _run(p, request, stop, frame, inner)
    return run.frame.out(run.answer(verdict))


@one_thread()
@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a run sees what is not finite
def _run(
    p: Problem, request: CheckedRequest, stop: Stop, frame: Frame, inner: Problem | None
) -> tuple[Driver, RunVerdict]:
    """A run from beginning to end, and how it ended."""
    inner = inner or frame.problem(p)
    if request.w0 is None or not request.w0.any():
        start = np.zeros(inner.shape)
    else:
        start = frame.into(request.w0)
    controller = controller_of(inner, request, start)
    first = table_of(controller)  # before the run changes it
    stop.judges(p)
    run = Driver(
        problem=inner,
        frame=frame,
        start=start,
        controller=controller,
        stop=stop,
        settings=request,
        identity=lambda: _identity(p, request, first),
    )
    return run, _settled(run, run.go())


def _settled(run: Driver, verdict: RunVerdict) -> RunVerdict:
    """The verdict for the caller: a run that went on beyond the caller's tolerance has met it,
    whatever ended the run."""
    stop = run.stop
    if stop.required == 0.0 or verdict in (RunVerdict.CONVERGED, RunVerdict.DIVERGED):
        return verdict
    last = run.history.last
    if last.k < run.state.k:
        return verdict
    if stop.norm_returned(run.frame.out(run.state.w), last.norm) <= stop.required_goal:
        return RunVerdict.CONVERGED
    return verdict


def _result(p: Problem, run: Driver, verdict: RunVerdict) -> Result:
    """What the caller gets of a run of the problem ``p`` that is over."""
    controller = run.controller
    w, intercept = p.split_intercept(run.frame.out(run.answer(verdict)))
    k, value, grad_norm, evaluations = run.history.view().copy().T
    over = verdict in (RunVerdict.CONVERGED, RunVerdict.DIVERGED)
    table = table_of(controller)
    return Result(
        w,
        status=str(verdict) if over else "finished",
        n_iter=run.state.k,
        history={
            "k": k.astype(np.int64),
            "grad_norm": grad_norm,
            "value": value,
            "gradient_evaluations": evaluations.astype(np.int64),
        },
        schedule=table,
        seed=run.settings.seed,
        batch_size=run.stages[0].batch if run.stages else controller.current().batch,
        message=message(run, verdict, table),
        intercept=intercept,
        stages=join_stages(run.stages),
        loss=p.loss,
        classes=p.classes,
    )


def table_of(controller: Controller) -> Steps | None:
    """The schedule or policy of a run, where it has one from beginning to end."""
    if isinstance(controller, Fixed):
        return controller.steps
    if isinstance(controller, GuardedRun):
        return controller.table
    return None


def _identity(p: Problem, request: CheckedRequest, first: Steps | None) -> Identity:
    """What a checkpoint must agree with to be resumed."""
    steps = repr(first)
    if first is None:
        steps = repr(f"{request.method!r} without T, memory {request.memory}")
    elif isinstance(first, Schedule):
        steps = digest(first.alpha, first.beta, first.theta)
    return {
        "format": FORMAT,
        "problem": p.fingerprint(),
        "schedule": steps,
        "seed": request.seed,
        "batch_size": request.batch_size,
        "sampling": request.sampling,
        "tol": request.tol,
        "engine": _name(request.engine),
        "record_every": request.record_every,
        "metric": _name(request.metric),
        "w0": digest(request.w0) if request.w0 is not None else "",
    }


def _name(chosen: str | Callable[..., object]) -> str:
    """The name of an engine or a metric, also of a caller's own."""
    if isinstance(chosen, (FunctionType, MethodType, type)):
        return chosen.__name__
    if isinstance(chosen, str):
        return chosen
    return "own"


def join_stages(stages: list[StageRun]) -> list[StageRun]:
    """Stages of the same method and batch, one after the other, are one."""
    joined: list[StageRun] = []
    for stage in stages:
        if joined and joined[-1][::2] == stage[::2]:
            stage = stage._replace(steps=joined.pop().steps + stage.steps)
        joined.append(stage)
    return [stage for stage in joined if stage.steps]
