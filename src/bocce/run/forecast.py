"""What a run would do, said before it is run: its stages, and how many steps they take.

The stages come from the very controller that ``minimize`` would ask; how many steps the last one
takes is tried out on some of the rows (on all of them where they are few).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..control import PLANE, Anytime, Controller, Plane, Stage, takes_all_rows
from ..problems import Frame, Problem
from ..problems.frame import identity as own_variables
from ..rows import Array
from ..schedules import Schedule
from .controllers import controller_of
from .minimize import minimize
from .request import Request
from .result import Result

TRIAL_NUMBERS = 1 << 20  # of X in a trial
TRIAL_ROWS_A_COLUMN = 5
TRIAL_STEPS = 1000
TIGHT = 1e-6  # the trial's point is taken for the minimiser: at least so near


@dataclass(frozen=True)
class PlannedStage:
    """A stage of a run, as expected: steps of one method with batches of one size.

    Attributes
    ----------
    method : str
        The name of the method.
    steps : int or None
        The number of steps; None where it is unknown before the run.
    batch : int
        The batch size in rows.
    certain : bool
        Whether the number of steps is exact, unless the tolerance is met before.
    alpha : float, optional
        The step size where the momentum is largest; None where each step finds its own.
    beta, theta : float, optional
        The momentum there; the lookahead there.
    inner : int, default 0
        Further passes over the data that the steps make, beside one a step.
    """

    method: str
    steps: int | None
    batch: int
    certain: bool
    alpha: float | None = None
    beta: float | None = None
    theta: float | None = None
    inner: int = 0

    @property
    def on_all_rows(self) -> bool:
        """Is each step on all rows, with the best step and momentum?"""
        return takes_all_rows(self.method)


class Trial(NamedTuple):
    """A run on all rows of ``problem``, a sample of the data (or the data, if ``whole``)."""

    problem: Problem
    whole: bool
    w: Array  # the variables where it ended
    steps: int  # taken until the tolerance was met
    met: bool  # was it? Or, without one, did the run end by itself?
    inner: int = 0  # passes within the steps


def trial(p: Problem, tol: float, memory: int) -> Trial:
    """``plane`` on a sample of the rows."""
    sample = _sample(p)
    run = partial(minimize, sample, PLANE.name, passes=TRIAL_STEPS, memory=memory)
    result = run(tol=tol)
    met = result.status == "converged" or (tol == 0 and result.n_iter < TRIAL_STEPS)
    w = _variables(p, result)
    if tol > TIGHT:
        w = _variables(p, run(tol=TIGHT, w0=w))
    inner = int(result.history["gradient_evaluations"][-1]) // sample.n - result.n_iter
    return Trial(sample, sample is p, w, result.n_iter, met, inner)


def _variables(p: Problem, result: Result) -> Array:
    if not p.intercept:
        return result.w
    return np.concatenate([result.w, np.asarray(result.intercept)[None]])


def _sample(p: Problem) -> Problem:
    if p.in_parts:
        numbers = float(p.n) * p.d
    else:
        numbers = float(p.rows.cost)
    rows = math.ceil(p.n * min(1.0, TRIAL_NUMBERS / max(numbers, 1.0)))
    rows = max(rows, TRIAL_ROWS_A_COLUMN * p.width)
    if rows >= p.n:
        return p
    chosen = np.sort(np.random.default_rng(0).choice(p.n, rows, replace=False))
    return Problem.of(
        p.given.take(chosen),
        p.y[chosen],
        p.loss,
        p.l2,
        weight=None if p.weight is None else p.weight[chosen],
        penalty=p.penalty,
        classes=p.classes,
        intercept=p.intercept,
        has_column=p.has_column,
    )


def first_stage(p: Problem, request: Request) -> tuple[Controller, Stage]:
    """Who would decide, and what it would decide first."""
    frame = Frame.of(p) if request.open_ended else own_variables(p)
    inner = frame.problem(p)
    controller = controller_of(inner, request, np.zeros(inner.shape))
    stage = controller.next(None)
    assert isinstance(stage, Stage)
    return controller, stage


def stages(p: Problem, controller: Controller, first: Stage, tried: Trial) -> list[PlannedStage]:
    """What the run would be made of."""
    if isinstance(first.steps, Plane):
        if tried.inner and not first.steps.inner:  # plain steps were not tried
            return [PlannedStage(PLANE.name, first.count, p.n, False)]
        return [_plane(p, first.count, tried, tried.whole)]
    if not isinstance(controller, Anytime):
        return [_in_batches(first, first.steps.T, True)]
    in_batches = _in_batches(first, controller.place.length, controller.brief)
    if not controller.brief and not controller.wants_tol:
        # batches of this size to the end of what may be spent
        return [_in_batches(first, max(1, controller.budget // first.batch), False)]
    return [in_batches, _plane(p, max(1, controller.budget // p.n), tried, False)]


def _plane(p: Problem, most: int, tried: Trial, certain: bool) -> PlannedStage:
    if not tried.met:
        return PlannedStage(PLANE.name, most if most < TRIAL_STEPS else None, p.n, False)
    return PlannedStage(PLANE.name, min(most, tried.steps), p.n, certain, inner=tried.inner)


def _in_batches(stage: Stage, steps: int, certain: bool) -> PlannedStage:
    table = stage.steps
    if not isinstance(table, Schedule):
        return PlannedStage(stage.name, steps, stage.batch, certain)
    k = int(np.argmax(table.alpha / (1.0 - table.beta)))  # where steps reach furthest
    alpha, beta, theta = (float(a[k]) for a in (table.alpha, table.beta, table.theta))
    return PlannedStage(stage.name, steps, stage.batch, certain, alpha, beta, theta)


def passes(run: list[PlannedStage], n: int) -> float | None:
    """Over the data, in all; None where that cannot be said before the run."""
    open_end = len(run) > 1 and not run[0].certain  # batches for as long as they help
    if open_end or any(stage.steps is None for stage in run):
        return None
    return sum(((stage.steps or 0) + stage.inner) * stage.batch for stage in run) / n
