"""``minimize``: from a problem and the name of a method to a result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _checks, engines, sampling
from .._threads import one_thread
from ..control import (
    GUARDED,
    POLICIES,
    Controller,
    Fixed,
    Guarded,
    GuardedRun,
    Levels,
    Limits,
    Plane,
    Recipe,
    plane,
    registry,
)
from ..control.anytime import accelerating_batch
from ..problems import Frame, Problem
from ..problems.frame import identity as own_variables
from ..rows import Array, digest
from ..schedules import Schedule
from ..schedules.adaptive import sampling_noise
from . import words
from .anytime import anytime, check_curvature, usual_passes
from .checkpoint import fingerprint, writable
from .driver import Run, Settings
from .result import Progress, Result, StageRun
from .stop import Stop

ROUNDING = 1e-12  # of the rows' gradients: smaller full gradients are not judged
FLAT = 1e-13  # of f: smaller differences are rounding
LIMITS = Limits()


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
    asked = Asked.checked(
        p,
        method,
        T=T,
        batch_size=batch_size,
        seed=seed,
        w0=w0,
        tol=tol,
        mode=sampling,
        record_every=record_every,
        engine=engine,
        callback=callback,
        checkpoint=checkpoint,
        passes=passes,
        memory=memory,
    )
    return go(p, asked)


@dataclass(frozen=True)
class Asked:
    """The arguments of ``minimize``, checked before any work is done."""

    method: Any
    T: int | None
    b: int | None
    start: Array
    tol: float
    passes: float | None
    memory: int
    settings: Settings

    @classmethod
    def checked(cls, p: Any, method: Any, **given: Any) -> Asked:
        where = "minimize"
        if not isinstance(p, Problem):
            raise TypeError(
                f"{where}: p={type(p).__name__} must be a problem; build one with "
                "bocce.LeastSquares(X, y) or bocce.Logistic(X, y)."
            )
        callback, every = given["callback"], given["record_every"]
        if callback is not None and not callable(callback):
            raise TypeError(
                f"{where}: callback={callback!r} must be a function of one Progress; or None."
            )
        if every != "auto":
            every = _checks.integer(
                where, "record_every", every, remedy='give a number of steps, or "auto"'
            )
        settings = Settings(
            sampling.check_seed(where, given["seed"]),
            _checks.choice(where, "sampling", given["mode"], sampling.MODES),
            engines.check_engine(where, given["engine"]),
            every,
            callback,
            None if given["checkpoint"] is None else writable(given["checkpoint"]),
            limits=LIMITS,
        )
        tol = given["tol"]
        tol = _checks.real(where, "tol", tol, least=0.0, below=1.0, remedy="0 never stops early")
        memory = _checks.integer(
            where, "memory", given["memory"], least=1, most=10, remedy="5 is usual"
        )
        b = given["batch_size"]
        if b is not None:
            b = p.whole_batch(sampling.batch_rows(where, b, p.n))
        start = _start(where, p, given["w0"])
        T, passes = _horizon(where, given["T"], given["passes"])
        return cls(_known(where, p, method), T, b, start, tol, passes, memory, settings)


def _start(where: str, p: Problem, w0: Any) -> Array:
    start = np.zeros(p.shape) if w0 is None else p.point(w0, "w0").copy()
    if not np.isfinite(start).all():
        raise ValueError(f"{where}: w0 has NaN or infinity, must be finite; start from zeros.")
    return start


def _horizon(where: str, T: Any, passes: Any) -> tuple[int | None, float | None]:
    if T is not None:
        remedy = "give the number of steps; to go on, start from w0=result.w"
        T = _checks.integer(where, "T", T, most=LIMITS.most_steps, remedy=remedy)
    if passes is not None:
        passes = _checks.real(where, "passes", passes, above=0.0, remedy="give a number of passes")
        if T is not None:
            raise ValueError(f"{where}: passes={passes} must be left out where T={T} is given.")
    return T, passes


def _known(where: str, p: Problem, method: Any) -> Any:
    """A method that is known, and that can be run on the problem's rows."""
    if isinstance(method, str):
        _checks.choice(where, "method", method, registry())
    elif not isinstance(method, (Schedule, Guarded, Plane)) and not hasattr(method, "decide"):
        raise TypeError(
            f"{where}: method={method!r} must be a registry name (`bocce methods` lists them), a "
            "Schedule or a policy."
        )
    looks = method in POLICIES if isinstance(method, str) else hasattr(method, "decide")
    if p.in_parts and looks and method != "plane":
        raise ValueError(
            f"{where}: method={getattr(method, 'name', method)!r} looks at each batch before it "
            'steps, must be a schedule for data in parts; use method "auto".'
        )
    return method


@one_thread()
def go(
    p: Problem,
    asked: Asked,
    stop: Stop | None = None,
    frame: Frame | None = None,
    inner: Problem | None = None,
) -> Result:
    """Run what was asked for. ``stop``, ``frame``, and ``inner`` (the problem in the frame's
    variables): other than the usual ones, or known already."""
    method, open_ended = asked.method, asked.method in ("plane", *GUARDED) and asked.T is None
    if isinstance(method, Plane):
        method, open_ended = "plane", True
    if frame is None:
        frame = Frame.of(p) if open_ended else own_variables(p)
    inner = inner or frame.problem(p)
    start = frame.into(asked.start) if asked.start.any() else np.zeros(inner.shape)
    controller = controller_of(inner, asked, method, start)
    run = Run(
        inner,
        frame,
        start,
        controller,
        stop or Stop(asked.tol, frame),
        _with_identity(p, asked, controller),
    )
    verdict = run.go()
    return _result(p, run, asked, verdict)


def controller_of(p: Problem, asked: Asked, method: Any, start: Array) -> Controller:
    if method == "plane":
        steps = plane(None, asked.memory) if isinstance(asked.method, str) else asked.method
        T = asked.T or math.ceil(asked.passes or usual_passes(asked.tol, asked.settings.limits))
        inner = steps.inner and asked.T is None
        return Fixed(Plane(steps.memory, min(T, steps.T), inner=inner), p.n)
    if isinstance(method, str) and method in GUARDED and asked.T is None:
        return anytime(
            p,
            method,
            asked.b,
            tol=asked.tol,
            passes=asked.passes,
            memory=asked.memory,
            limits=asked.settings.limits,
        )
    guarded = isinstance(method, Guarded) or (isinstance(method, str) and method in GUARDED)
    method = method.method if isinstance(method, Guarded) else method
    steps, b, recipe = _resolve(p, method, asked)
    name = steps.name if hasattr(steps, "name") else ""
    if not guarded:
        return Fixed(steps, b, name)
    levels = guard_levels(p, b, start)
    return GuardedRun(steps, b, name or "schedule", levels, recipe, asked.settings.limits)


def guard_levels(p: Problem, b: int, start: Array) -> Levels:
    """What the guard takes for rounding and for noise, from the gradients of the rows."""
    zero = np.zeros(p.shape)
    points = [zero, start] if start.any() else [zero]
    with np.errstate(over="ignore", invalid="ignore"):
        scale = math.sqrt(max(p.row_gradient_mean2(w) for w in points))
        slack = FLAT * max(abs(p.value(w)) for w in points)
    noise = math.sqrt(sampling_noise("minimize", p.n, b))
    levels = Levels(ROUNDING * scale, noise * scale, slack)
    if p.has_gram:
        return levels
    return levels._replace(gap=max(levels.gap, -(-p.n // b)))  # a look costs a pass


def _resolve(p: Problem, method: Any, asked: Asked) -> tuple[Any, int, Recipe | None]:
    """The schedule or policy, the batch in rows, and how a named method was built."""
    T, b = asked.T, asked.b
    if not isinstance(method, str):
        if T is not None and T != method.T:
            raise ValueError(
                f"minimize: T={T} must equal the schedule's T={method.T}; leave T out, or build "
                "the schedule with that T."
            )
        return method, accelerating_rows(p) if b is None else b, None
    recipe, T, b = recipe_of(p, method, T, b, asked.passes)
    return recipe.build(T), b, recipe


def recipe_of(
    p: Problem, name: str, T: int | None, b: int | None, passes: float | None
) -> tuple[Recipe, int, int]:
    """How a named method is built for the problem; its number of steps and its batch."""
    if p.loss.curvature is not None:
        check_curvature(p, p.constants().L)
    if b is None:
        b = accelerating_rows(p)
    if T is None:
        T = math.ceil((passes or LIMITS.passes) * p.n / b)
        T = T if passes else max(1000, T)
    method = registry()[name]
    if p.loss.curvature is None and set(method.needs) <= {"mu"}:
        return Recipe(method, {"mu": float(np.min(p.ridge))}), T, b
    values = method.values(p.constants(), n=p.n, b=b, T=T, quadratic=p.loss.quadratic)
    return Recipe(method, values), T, b


def accelerating_rows(p: Problem) -> int:
    """The smallest batch that accelerates fully, certified; half of the rows where none does."""
    if p.loss.curvature is not None and (c := p.constants()).mu > 0:
        return p.whole_batch(accelerating_batch(p.n, c.L, c.mu, c.L_max))
    return p.whole_batch(max(1, p.n // 2))


def _with_identity(p: Problem, asked: Asked, controller: Controller) -> Settings:
    """What a checkpoint must agree with; read only where one is wanted."""
    s = asked.settings
    steps = controller.steps if isinstance(controller, Fixed) else None
    if isinstance(controller, GuardedRun):
        steps = controller.first_table
    open_ended = f"{asked.method!r} without T, memory {asked.memory}"

    def identity() -> dict[str, Any]:
        engine = s.engine if isinstance(s.engine, str) else getattr(s.engine, "__name__", "own")
        wanted = {
            "seed": s.seed,
            "batch_size": asked.b,
            "sampling": s.sampling,
            "tol": asked.tol,
            "engine": engine,
            "record_every": s.record_every,
            "w0": digest(asked.start),
        }
        return fingerprint(p, open_ended if steps is None else steps, wanted)

    fields = {**vars(s), "identity": identity}
    return Settings(**fields)


def _result(p: Problem, run: Run, asked: Asked, verdict: str) -> Result:
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
        asked.settings.seed,
        run.stages[0].batch if run.stages else controller.current().batch,
        words.message(run, verdict, asked.tol),
        intercept,
        _joined(run.stages),
    )


def _joined(stages: list[StageRun]) -> list[StageRun]:
    """Stages of the same method and batch, one after the other, are one."""
    joined: list[StageRun] = []
    for stage in stages:
        if joined and joined[-1][::2] == stage[::2]:
            stage = stage._replace(steps=joined.pop().steps + stage.steps)
        joined.append(stage)
    return [stage for stage in joined if stage.steps]
