"""``solve``: a request that was checked becomes a run, and the run a result with a message."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType, MethodType

import numpy as np

from .._threads import one_thread
from ..control import Controller, Fixed, GuardedRun, PlaneSteps, RunVerdict
from ..control.base import Steps
from ..engines import DIVERGENCE_FACTOR
from ..problems import Frame, Problem
from ..rows import digest
from ..schedules import Schedule
from .checkpoint import FORMAT, Identity
from .controllers import controller_of, frame_of
from .driver import Driver
from .request import Request
from .result import Result, StageRun
from .stop import Stop

STACK = 6  # A warning names the line that called ``minimize``.


@one_thread()
@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a run sees what is not finite
def solve(
    p: Problem,
    request: Request,
    stop: Stop | None = None,
    frame: Frame | None = None,
    inner: Problem | None = None,
) -> Result:
    """Run a request that was checked.

    ``stop`` is the rule that ends the run, by default the usual one. ``frame`` and ``inner`` are
    the variables to run in and the problem in those variables, where they are known already.
    """
    frame = frame or frame_of(p, request)
    inner = inner or frame.problem(p)
    if request.start.any():
        start = frame.into(request.start)
    else:
        start = np.zeros(inner.shape)
    controller = controller_of(inner, request, start)
    first = _table(controller)  # before the run changes it
    stop = stop or Stop(request.tol, frame)
    stop.judges(p)
    run = Driver(
        *(inner, frame, start, controller, stop, request),
        identity=lambda: _identity(p, request, first),
    )
    verdict = run.go()
    w, intercept = p.split_intercept(frame.out(run.answer(verdict)))
    k, value, grad_norm, evaluations = run.history.view().copy().T
    over = verdict in (RunVerdict.CONVERGED, RunVerdict.DIVERGED)
    said = message(run, verdict, request.tol)
    if verdict == RunVerdict.NOISY:
        warnings.warn(f"minimize: {said}", RuntimeWarning, stacklevel=STACK)
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
        schedule=_table(controller),
        seed=request.seed,
        batch_size=run.stages[0].batch if run.stages else controller.current().batch,
        message=said,
        intercept=intercept,
        stages=join_stages(run.stages),
        loss=p.loss,
        classes=p.classes,
    )


def _table(controller: Controller) -> Steps | None:
    """The schedule or policy of a run, where it has one from beginning to end."""
    if isinstance(controller, Fixed):
        return controller.steps
    if isinstance(controller, GuardedRun):
        return controller.table
    return None


def _identity(p: Problem, request: Request, first: Steps | None) -> Identity:
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
        "w0": digest(request.start),
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


# ---------------------------------------------------------------- the message


def message(run: Driver, verdict: RunVerdict, tol: float) -> str:
    """What happened, with a remedy where the run failed."""
    without_table = run.controller.open_ended or isinstance(_table(run.controller), PlaneSteps)
    text = (_without_table if without_table else _with_table)(run, verdict, tol)
    if not (count := run.controller.retreats):
        return text
    times = f"{count} time{'s' * (count > 1)}"
    shorter = f"the steps are now {2**count} times shorter"
    return f"{text} The guard returned to the best point {times}: {shorter}."


def _with_table(run: Driver, verdict: RunVerdict, tol: float) -> str:
    k = run.state.k
    stage = run.controller.current()
    first = run.history.first
    last = run.history.last
    if stage.name == "schedule":
        name = "the schedule"
    else:
        name = stage.name
    if verdict == RunVerdict.CONVERGED:
        return f"{name}: gradient norm at most {tol:g} times the first at step {k}."
    if verdict == RunVerdict.STOPPED:
        return f"{name}: stopped by the callback at step {k}."
    rise = f"f is {last.value:.3g} after {k} steps and was {first.value:.3g} at the start"
    if verdict == RunVerdict.NOISY:
        return (
            f"{name}: {rise}, which was so near to the minimum that the noise of batches explains "
            f"the rise; use a larger batch than batch_size={stage.batch}, or a "
            "method whose steps shrink."
        )
    if verdict != RunVerdict.DIVERGED:
        return f"{name}: all {k} steps taken."
    how = (
        f"{name} diverged at step {k}: the gradient norm passed {DIVERGENCE_FACTOR:g} times its "
        "start or overflowed."
    )
    if last.k == k and last.value > first.value:
        how = f"{name} diverged: {rise}."
    return (
        f"{how} The step is too long for batch_size={stage.batch} of n={run.problem.n} (or L is "
        "under-estimated): use the method auto, a larger batch, or a shorter step."
    )


def _without_table(run: Driver, verdict: RunVerdict, tol: float) -> str:
    name = run.controller.name
    n = run.problem.n
    first = run.stop.first
    steps = run.state.k
    passes = f"{run.evaluations / n:.3g}"
    spent = f"{steps} step{'s' * (steps != 1)}, {passes} pass{'es' * (passes != '1')}"
    if sizes := [stage.batch for stage in run.stages if stage.steps]:
        if sizes[0] == sizes[-1]:
            ends = f"{sizes[0]}"
        else:
            ends = f"{sizes[0]} to {sizes[-1]}"
        if set(sizes) == {n}:
            spent += f" of all n={n} rows"
        else:
            spent += f", batches of {ends} of n={n}"
    if verdict == RunVerdict.CONVERGED:
        if first == 0.0:
            return f"{name}: the gradient is zero where the run begins."
        return f"{name}: gradient norm at most {tol:g} times the first after {spent}."
    if verdict == RunVerdict.STOPPED:
        return f"{name}: stopped by the callback after {spent}."
    if verdict == RunVerdict.DIVERGED:
        return f"{name}: diverged after {spent}: check the data for rows of very different size."
    if first > 0:
        reached = run.history.last.norm / first
    else:
        reached = 0.0
    missed = f" The gradient norm is {reached:.3g} times the first"
    missed += f", not tol={tol:g}" if tol > 0 else ""
    if verdict == RunVerdict.UNBOUNDED:
        return (
            f"{name}: f falls while w grows without limit, after {spent}: there is no finite "
            f"minimiser (separable classes, and l2 = {run.problem.l2:g}).{missed}: "
            "set l2 > 0, for example 1e-4."
        )
    if verdict == RunVerdict.STALLED:
        if tol > 0:
            remedy = ": raise tol, or scale the data"
        else:
            remedy = ""
        return f"{name}: no further fall of f can be measured after {spent}.{missed}{remedy}."
    if tol > 0:
        remedy = ": raise passes, tol or l2, or start another run with w0=result.w"
    else:
        remedy = ""
    return f"{name}: all allowed passes are used: {spent}.{missed}{remedy}."
