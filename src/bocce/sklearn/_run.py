"""One output's run: what an estimator asks of the driver, and what it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .. import separation
from ..control import Guarded, Limits
from ..problems import NotFinite
from ..rows import Array
from ..run.controllers import usual_passes
from ..run.prepare import OVERFLOW, PreparedRun, reaches_tol
from ..run.request import CheckedRequest
from ..run.result import Progress, Result, StageRun
from ..run.solve import join_stages
from ..run.stop import Stop

Tell = Callable[[int, Array, float, float, float], bool]


def asked(
    method: str, batch_size: int | None, max_iter: int | None, tol: float, seed: int
) -> CheckedRequest:
    """What an estimator, which has checked its parameters, asks of a run; the start is not known
    yet. A named method with a schedule is run under the guard."""
    passes = max_iter or usual_passes(tol if reaches_tol(method) else 0.0, Limits())
    return CheckedRequest(
        method if reaches_tol(method) else Guarded(method),
        batch_size=batch_size,
        seed=seed,
        w0=np.zeros(0),
        tol=float(tol),
        sampling="reshuffle",
        record_every="auto",
        passes=passes,
    )


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
            history[name] = np.concatenate([before, values[1:]])
        return replace(more, history=history, stages=join_stages(self.stages + more.stages))

    def judged(self, size: float) -> FitOutcome:
        """The same run, whose gradient has this norm after the coefficients were rounded."""
        return replace(self, ratio=_ratio(size, self.first))


@dataclass
class Watch:
    """A callback of the driver that tells an estimator's listener of each step."""

    run: PreparedRun
    stop: Stop
    tell: Tell
    stopped: bool = False  # Did the listener stop the run?

    def __call__(self, now: Progress) -> bool:
        w = self.run.p.join_intercept(now.w, now.intercept)
        ratio = _ratio(now.grad_norm, self.stop.first)
        self.stopped = self.tell(now.k, w, now.value, ratio, _share(ratio, self.stop.tol))
        return self.stopped


def descend(run: PreparedRun, tell: Tell | None = None) -> FitOutcome:
    """Run until the gradient, in the caller's variables, is tol times the first."""
    p = run.p
    stop = run.stop()
    watch = None if tell is None else Watch(run, stop, tell)
    try:  # an estimator has checked its parameters
        result = run.go(stop, watch)
    except NotFinite as error:
        raise ValueError(OVERFLOW) from error
    w = p.join_intercept(result.w, result.intercept)
    history = _columns(result, p.n)
    return FitOutcome(
        w,
        history,
        result.stages,
        stopped=watch is not None and watch.stopped,
        ratio=_ratio(float(history["gradient_norm"][-1]), stop.first),
        escape=separation.after_run(p, run.frame, run.inner, w, float(history["passes"][-1])),
        first=stop.first,
    )


def _ratio(size: float, first: float) -> float:
    if first > 0.0:
        return size / first
    return 0.0


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
