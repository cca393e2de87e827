"""One output's run: what an estimator wants of it, and what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..control import Guarded, Limits, open_ended_names
from ..rows import Array
from ..run.certain import Certainty
from ..run.controllers import usual_passes
from ..run.descend import Descent
from ..run.prepare import PreparedRun
from ..run.request import FIRST_TOL, CheckedRequest
from ..run.result import Progress, Result, StageRun
from ..run.stop import Stop
from ._report import Reporter

OVERFLOW = (
    "fit: the objective or its first gradient overflows, must be finite; scale y, or leave out "
    "columns of huge values."
)


def fit_request(
    method: str,
    batch_size: int | None,
    max_iter: int | None,
    tol: float | str,
    seed: int,
    w0: Array | None,
) -> CheckedRequest:
    """The request of an estimator, which has checked its parameters; it begins at w0, or where the
    run chooses to. A named method with a schedule is run under the guard."""
    certain = tol == "auto"
    goal = FIRST_TOL if certain else float(tol)
    to_tol = method in open_ended_names()
    return CheckedRequest(
        method if to_tol else Guarded(method),
        batch_size=batch_size,
        seed=seed,
        w0=w0,
        tol=goal,
        sampling="reshuffle",
        record_every="auto",
        passes=max_iter or usual_passes(goal if to_tol else 0.0, Limits()),
        certain=certain,
    )


@dataclass(frozen=True)
class FitOutcome:
    """A run that is over, without its data."""

    w: Array  # and then the intercept, where there is one
    history: dict[str, Array]
    stages: list[StageRun]
    passes: float
    ratio: float  # the gradient's norm over the first, in the caller's variables
    stopped: bool  # by a callback
    escape: Array | None  # the direction along which f has no minimiser, if any
    certainty: Certainty | None

    @classmethod
    def of(cls, done: Descent, rounded: Array | None = None) -> FitOutcome:
        """``rounded``: the point that is judged, where coefficients were rounded."""
        norm = done.norm if rounded is None else done.run.norm_at(rounded)
        return cls(
            w=done.w,
            history=_columns(done.result, done.run.p.n),
            stages=done.result.stages,
            passes=done.passes,
            ratio=_ratio(norm, done.first),
            stopped=done.stopped,
            escape=done.escape,
            certainty=done.certainty,
        )


@dataclass(frozen=True)
class Watcher:
    """Reports each record of a run to those who watch the fit."""

    report: Reporter
    run: PreparedRun
    attributes: Callable[[Array], dict[str, Any]]  # of the estimator, if the run ended at w

    def __call__(self, now: Progress, stop: Stop) -> bool:
        ratio = _ratio(now.grad_norm, stop.first)
        w = self.run.p.join_intercept(now.w, now.intercept)
        share = _share(ratio, stop.tol)
        return self.report.step(now.k, now.value, ratio, share, lambda: self.attributes(w))


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
