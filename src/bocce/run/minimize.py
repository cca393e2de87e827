"""``minimize``: from a problem and the name of a method to a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._threads import one_thread
from ..control import Controller, Fixed, GuardedRun
from ..problems import Frame, Problem
from ..problems.frame import identity as own_variables
from ..rows import digest
from . import words
from .checkpoint_file import fingerprint
from .controllers import controller_of
from .driver import Run
from .request import Request
from .result import Progress, Result, StageRun
from .stop import Stop


def minimize(
    p: Problem,
    method: Any = "auto",
    T: int | None = None,
    batch_size: float | None = None,
    seed: int = 0,
    w0: Any = None,
    tol: float = 0.0,
    sampling: str = "independent",
    record_every: int | str = 1,
    engine: Any = "compiled",
    callback: Callable[[Progress], Any] | None = None,
    checkpoint: Any = None,
    passes: float | None = None,
    memory: int = 5,
) -> Result:
    """Minimise ``p`` by stochastic heavy ball (or a relative of it).

    Parameters
    ----------
    p : a ``Problem``, or what ``LeastSquares`` and ``Logistic`` make.
    method : a registry name (``bocce methods``), a Schedule, or a policy.
    T : number of steps. None: "auto" and "plane" need none, they run until ``tol``, or for at most
        ``passes`` over the data; other methods take 100 passes, at least 1,000 steps.
    batch_size : int = rows, float in (0, 1] = share of n, None = chosen: with a schedule the
        smallest batch at which the accelerated rate is certified. With "auto" and no T a batch
        that is given is the first: it grows when noise keeps the run from ``tol``.
    seed : decides every batch, together with the step.
    w0 : where to begin (zeros); with an intercept, d + 1 numbers (with softmax, d + 1 rows).
    tol : stop when the full gradient's norm is at most tol times the first (0 = never).
    sampling : "independent" (a fresh batch at each step) or "reshuffle" (one permutation an epoch).
    record_every : measure the full gradient every so many steps, or "auto" (about once an epoch).
    engine : "compiled", "reference", or an engine of your own (docs/extend/engine.md).
    callback : called with a Progress at each recorded step; returning True stops the run.
    checkpoint : a path; a run found there goes on bit for bit.
    passes : what to spend at most where T is not given, in passes over the data: 10,000 with a
        tolerance and 100 without unless given.
    memory : with "plane" and with "auto" without T: how many displacements are remembered, 1 to 10.

    "auto" has the divergence guard on (``policies.guard``). Without T it takes batches for as long
    as they pay and ends on ``plane``; columns are centred and scaled inside, ``tol`` and the
    history are in the variables of ``p``; the history holds the best point so far where the run
    looks, and every step on all rows.

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
    )
    return solve(p, request.checked(p))


@one_thread()
def solve(
    p: Problem,
    request: Request,
    stop: Stop | None = None,
    frame: Frame | None = None,
    inner: Problem | None = None,
) -> Result:
    """Run a checked request.

    Parameters
    ----------
    p, request : the problem, and what ``Request.checked`` gave for it.
    stop : when the run is over, where that is not the usual rule.
    frame, inner : the variables to run in, and the problem in those variables, where they are
        known already.
    """
    if frame is None:
        frame = Frame.of(p) if request.open_ended else own_variables(p)
    inner = inner or frame.problem(p)
    start = frame.into(request.w0) if request.w0.any() else np.zeros(inner.shape)
    controller = controller_of(inner, request, start)
    identity = _identity(p, request, controller)
    run = Run(inner, frame, start, controller, stop or Stop(request.tol, frame), request, identity)
    verdict = run.go()
    return _result(p, run, request, verdict)


def _identity(p: Problem, request: Request, controller: Controller) -> Callable[[], dict[str, Any]]:
    """What a checkpoint must agree with; computed only where there is one."""
    steps: Any = f"{request.method!r} without T, memory {request.memory}"
    if isinstance(controller, Fixed):
        steps = controller.steps
    elif isinstance(controller, GuardedRun):
        steps = controller.first_table

    def identity() -> dict[str, Any]:
        engine = request.engine
        if not isinstance(engine, str):
            engine = getattr(engine, "__name__", "own")
        settings = {
            "seed": request.seed,
            "batch_size": request.batch_size,
            "sampling": request.sampling,
            "tol": request.tol,
            "engine": engine,
            "record_every": request.record_every,
            "w0": digest(request.w0),
        }
        return fingerprint(p, steps, settings)

    return identity


def _result(p: Problem, run: Run, request: Request, verdict: str) -> Result:
    u = run.frame.out(run.answer(verdict))
    w, intercept = p.parted(u)
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
        p.loss,
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
