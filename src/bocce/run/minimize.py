"""``minimize``: from a problem and the name of a method to a result."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FunctionType, MethodType

import numpy as np

from .._threads import one_thread
from .._types import Vector
from ..control import Controller, Fixed, Given, GuardedRun, MetricChoice
from ..control.base import Steps
from ..losses.offset import without_offset
from ..problems import Frame, Problem
from ..problems.frame import identity as own_variables
from ..rows import digest
from . import words
from .checkpoint_file import Identity, fingerprint
from .controllers import controller_of
from .driver import Driver
from .request import Callback, EngineChoice, Request
from .result import Result, StageRun
from .stop import Stop


def minimize(
    p: Problem,
    method: Given = "auto",
    T: int | None = None,
    batch_size: float | None = None,
    seed: int = 0,
    w0: Vector | None = None,
    tol: float = 0.0,
    sampling: str = "independent",
    record_every: int | str = 1,
    engine: EngineChoice = "compiled",
    callback: Callback | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    passes: float | None = None,
    memory: int = 5,
    metric: MetricChoice = "auto",
) -> Result:
    """Minimise ``p`` by stochastic heavy ball (or a relative of it).

    "auto" has the divergence guard on (``policies.guard``). Without T it uses mini-batches while
    they help and ends on all rows with ``plane``. Columns are centred and scaled internally;
    ``tol`` and the history are in the variables of ``p``. The history holds the best point so far
    at each record, and every step on all rows.

    Parameters
    ----------
    p : Problem
        A problem of ``Problem``, ``LeastSquares`` or ``Logistic``.
    method : str, Schedule or Policy, default "auto"
        The name of a method (``bocce methods`` lists them), a schedule or a policy.
    T : int, optional
        The number of steps. Without it "auto" and "plane" run until ``tol``, or for at most
        ``passes`` over the data; other methods take 100 passes, at least 1,000 steps.
    batch_size : int or float, optional
        Rows of a batch (int), or a share of n (float in (0, 1]). By default it is chosen: with a
        schedule, the smallest batch at which the accelerated rate is certified. With "auto" and no
        T a given batch is the first one; it grows when noise keeps the run from ``tol``.
    seed : int, default 0
        The seed; with the number of the step it decides every batch.
    w0 : array-like, optional
        The start; by default zeros. With an intercept it has d + 1 numbers (with softmax, d + 1
        rows).
    tol : float, default 0.0
        Stop when the norm of the full gradient is at most tol times the first one; 0 never stops.
    sampling : {"independent", "reshuffle"}, default "independent"
        A fresh batch at each step, or one permutation of the rows an epoch.
    record_every : int or "auto", default 1
        Measure the full gradient every so many steps; "auto" measures about once an epoch.
    engine : {"compiled", "reference"} or engine, default "compiled"
        The engine that takes the steps, or your own (docs/extend/engine.md).
    callback : callable, optional
        Called with a ``Progress`` at each recorded step. The run stops when it returns True.
    checkpoint : path, optional
        A file for the state of the run. A run found there is resumed, bit for bit.
    passes : float, optional
        The most passes over the data where T is not given; by default 10,000 with a tolerance and
        100 without.
    memory : int, default 5
        The number of earlier displacements that "plane", and "auto" without T, remember, 1 to 10.
    metric : str or callable, default "auto"
        The metric in which "plane", and "auto" without T, find a direction: "auto", a name of
        ``bocce.plane.METRICS``, or a policy of your own (docs/extend/metric.md).

    Returns
    -------
    Result
        The weights, the status and the history of the run.

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule. The message names the argument, the rule, the value and a
        remedy.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> p = bocce.LeastSquares(X, X @ np.array([1.0, -1.0]))
    >>> r = bocce.minimize(p, "shb", T=200, batch_size=3, tol=1e-9)
    >>> r.status, r.w.round(6)
    ('converged', array([ 1., -1.]))
    >>> bocce.minimize(p, tol=1e-9).w.round(6)
    array([ 1., -1.])
    """
    request = Request(
        method,
        T,
        batch_size,
        seed,
        w0,
        tol,
        sampling,
        record_every,
        engine,
        callback,
        checkpoint,
        passes,
        memory,
        metric,
    )
    return solve(p, request.checked(p))


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


def _result(p: Problem, run: Driver, request: Request, verdict: str) -> Result:
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
    status = verdict if verdict in ("diverged", "converged") else "finished"
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
        _joined(run.stages),
        without_offset(p.loss),
        p.classes,
    )


def _joined(stages: list[StageRun]) -> list[StageRun]:
    """Stages of the same method and batch, one after the other, are one."""
    joined: list[StageRun] = []
    for stage in stages:
        if joined and joined[-1][::2] == stage[::2]:
            stage = stage._replace(steps=joined.pop().steps + stage.steps)
        joined.append(stage)
    return [stage for stage in joined if stage.steps]
