"""``solve``: a request that was checked becomes a run, and the run a result."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType

import numpy as np

from .._threads import one_thread
from ..control import Controller, Fixed, GuardedRun, RunVerdict
from ..control.base import Steps
from ..losses.offset import without_offset
from ..problems import Frame, Problem
from ..problems.frame import identity as own_variables
from ..rows import digest
from . import words
from .checkpoint_file import Identity, fingerprint
from .controllers import controller_of
from .driver import Driver
from .request import Request
from .result import Result, StageRun
from .stop import Stop


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

    Parameters
    ----------
    p : Problem
        The problem.
    request : Request
        The result of ``Request.checked`` for the problem.
    stop : Stop, optional
        The rule that ends the run; by default the usual one.
    frame : Frame, optional
        The variables to run in, where they are known already.
    inner : Problem, optional
        The problem in those variables.

    Returns
    -------
    Result
        The weights, the status and the history of the run.
    """
    if frame is None:
        frame = Frame.of(p) if request.open_ended else own_variables(p)
    inner = inner or frame.problem(p)
    start = frame.into(request.start) if request.start.any() else np.zeros(inner.shape)
    controller = controller_of(inner, request, start)
    identity = _identity(p, request, controller)
    run = Driver(
        inner, frame, start, controller, stop or Stop(request.tol, frame), request, identity
    )
    verdict = run.go()
    return _result(p, run, request, verdict)


def _identity(p: Problem, request: Request, controller: Controller) -> Callable[[], Identity]:
    """What a checkpoint must agree with; computed only where there is one."""
    steps: Steps | str = f"{request.method!r} without T, memory {request.memory}"
    if isinstance(controller, Fixed):
        steps = controller.steps
    elif isinstance(controller, GuardedRun):
        steps = controller.first_table

    def identity() -> Identity:
        settings: Identity = {
            "seed": request.seed,
            "batch_size": request.batch_size,
            "sampling": request.sampling,
            "tol": request.tol,
            "engine": _name(request.engine),
            "record_every": request.record_every,
            "metric": _name(request.metric),
            "w0": digest(request.start),
        }
        return fingerprint(p, steps, settings)

    return identity


def _name(chosen: str | Callable[..., object]) -> str:
    """The name of an engine or a metric, also of a caller's own."""
    if isinstance(chosen, (FunctionType, MethodType, type)):
        return chosen.__name__
    return chosen if isinstance(chosen, str) else "own"


def _result(p: Problem, run: Driver, request: Request, verdict: RunVerdict) -> Result:
    u = run.frame.out(run.answer(verdict))
    w, intercept = p.split_intercept(u)
    columns = run.history.table().T
    history = {
        "k": columns[0].astype(np.int64),
        "grad_norm": columns[2],
        "value": columns[1],
        "gradient_evaluations": columns[3].astype(np.int64),
    }
    controller = run.controller
    schedule = None
    if isinstance(controller, Fixed):
        schedule = controller.steps
    elif isinstance(controller, GuardedRun):
        schedule = controller.table
    over = verdict in (RunVerdict.CONVERGED, RunVerdict.DIVERGED)
    status = str(verdict) if over else "finished"
    return Result(
        w,
        status,
        run.state.k,
        history,
        schedule,
        request.seed,
        run.stages[0].batch if run.stages else controller.current().batch,
        words.message(run, verdict, request.tol),
        intercept,
        join_stages(run.stages),
        without_offset(p.loss),
        p.classes,
    )


def join_stages(stages: list[StageRun]) -> list[StageRun]:
    """Stages of the same method and batch, one after the other, are one."""
    joined: list[StageRun] = []
    for stage in stages:
        if joined and joined[-1][::2] == stage[::2]:
            stage = stage._replace(steps=joined.pop().steps + stage.steps)
        joined.append(stage)
    return [stage for stage in joined if stage.steps]
