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

from .. import theory
from ..control import PLANE, Anytime, Controller, PlaneSteps, Stage, takes_all_rows
from ..control.anytime import Design
from ..problems import Constants, Problem
from ..rows import Array
from ..schedules import Schedule
from ..schedules.adaptive import DECAY_START
from .anytime import usable
from .controllers import controller_of, frame_of
from .expectation import longest
from .minimize import minimize
from .request import Request

TRIAL_NUMBERS = 1 << 20  # of X in a trial
TRIAL_ROWS_A_COLUMN = 5
TRIAL_STEPS = 1000
TIGHT = 1e-6  # the trial's point is taken for the minimiser: at least so near
DECAY_LOSS = 4.0  # the decay's final error over the statistical limit
LEAST_BEND = 1e-3  # of its bound: where fewer rows bend, the noise is not known so well
FLATTEST = 1e-12  # of L: a smaller curvature at the trial's end is rounding


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
    alpha, beta, theta : float, optional
        Step size, momentum and lookahead where steps reach furthest; None where each step finds
        its own.
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
    w = p.join_intercept(result.w, result.intercept)
    if tol > TIGHT:
        nearer = run(tol=TIGHT, w0=w)
        w = p.join_intercept(nearer.w, nearer.intercept)
    inner = int(result.history["gradient_evaluations"][-1]) // sample.n - result.n_iter
    return Trial(sample, sample is p, w, result.n_iter, met, inner)


def _sample(p: Problem) -> Problem:
    numbers = float(p.n) * p.d if p.in_parts else float(p.rows.cost)
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
    inner = frame_of(p, request).problem(p)
    controller = controller_of(inner, request, np.zeros(inner.shape))
    stage = controller.next(None)
    assert isinstance(stage, Stage)
    return controller, stage


def stages(p: Problem, controller: Controller, first: Stage, tried: Trial) -> list[PlannedStage]:
    """What the run would be made of."""
    if isinstance(first.steps, PlaneSteps):
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
    return PlannedStage(stage.name, steps, stage.batch, certain, *longest(table))


def passes(run: list[PlannedStage], n: int) -> float | None:
    """Over the data, in all; None where that cannot be said before the run."""
    open_end = len(run) > 1 and not run[0].certain  # batches for as long as they help
    if open_end or any(stage.steps is None for stage in run):
        return None
    return sum(((stage.steps or 0) + stage.inner) * stage.batch for stage in run) / n


# ---------------------------------------------------------------- what batch sizes cost


class PlanFacts(NamedTuple):
    """What is known of a problem before a run; ``constants`` are None where the loss has none."""

    n: int
    constants: Constants | None
    mu: float | None
    chi2: float
    floor: float  # zeta0^2 times this is how many steps the noise needs
    accuracy: float
    rows: tuple[float, float | None]  # what a run takes for L_max and kappa~

    @classmethod
    def of(cls, p: Problem, tried: Trial, accuracy: float) -> PlanFacts:
        c = None if p.loss.curvature is None else p.constants()
        if c is not None and not (usable(c.L) or c.L == 0.0):
            c = None  # no step can be computed from them: only runs on all rows are planned
        sample, w = tried.problem, tried.w
        chi2 = sample.row_gradient_mean2(w)
        start, value = sample.value(np.zeros_like(w)), sample.value(w)
        noise = _noise(sample, w) if chi2 > 1e-20 * max(start, 1e-300) else 0.0
        gap = start - value
        floor = max(0.0, DECAY_LOSS * noise / (2.0 * accuracy * gap)) if gap > 0 else 0.0
        mu = None if c is None else _mu(c, tried, accuracy)
        rows: tuple[float, float | None] = (0.0, None)
        if c is not None:
            rows = c.sharpest if p.loss.quadratic else (c.L_max, None)
        return cls(p.n, c, mu, chi2, floor, accuracy, rows)

    @property
    def L(self) -> float:
        assert self.constants is not None
        return self.constants.L if self.constants.L > 0 else 1.0

    @property
    def L_max(self) -> float:
        assert self.constants is not None
        return max(self.constants.L_max, self.L)

    def design(self, b: int) -> Design:
        assert self.mu is not None
        L_max, tilde = self.rows
        return Design(self.n, self.L, max(L_max, self.L), tilde, self.mu, self.mu, b)

    def bias_steps(self, b: int) -> float:
        """Until the start is forgotten."""
        return self.design(b).time_constant() * math.log(1.0 / self.accuracy) / (2 * DECAY_START)

    def noise_steps(self, b: int) -> float:
        return theory.zeta2(self.n, b) * self.floor

    def steps(self, b: int) -> int:
        return math.ceil(max(self.bias_steps(b), self.noise_steps(b), 1.0))


def _noise(p: Problem, w: Array) -> float:
    """tr(A^-1 S) at w, about: as if slope and bend of a row did not depend on its size."""
    z = p.predict(w)
    bend = max(float(np.mean(p.bends(z))), LEAST_BEND * (p.loss.curvature or 1.0))
    mean = bend * p.mean_row2 / p.width  # the mean eigenvalue of A without l2
    freedom = p.width * mean / (mean + p.l2) if mean > 0 else 0.0
    return freedom * float(np.mean(np.square(p.slopes(z)))) / bend


def _mu(c: Constants, tried: Trial, accuracy: float) -> float:
    """The curvature to plan for: the bound, or where that is 0, the least at the trial's end."""
    L = c.L if c.L > 0 else 1.0
    if c.mu > 0:
        return c.mu
    if c.L > 0 and tried.w.ndim == 1 and tried.problem.gram_fits:
        H = tried.problem.hessian(tried.w) + np.diag(tried.problem.ridges)
        least = float(np.linalg.eigvalsh(H)[0])
        if least > FLATTEST * L:
            return min(least, L)
    return accuracy * L
