"""What a run would do, computed before the run: stages, numbers of steps, and what they lead to.

The stages come from the controller that ``minimize`` would ask. How many steps the last stage takes
is tried out on a sample of the rows (on all rows where they are few).

What the table of a method does is computed from the table. Least squares with few columns: exact
moments (``bocce.exact``). Least squares with many columns: certificates (``bocce.theory``). Another
loss: exact stability of the quadratic that f is near its minimiser, f_i(w*) + g_i . (w - w*) +
c_i (x_i . (w - w*))^2 / 2, a least-squares problem with rows sqrt(c_i) x_i. There the penalty falls
on the intercept, too, which moves a critical batch size by about l2 over the intercept's curvature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .. import exact, theory
from ..control import PLANE, Controller, Doubling, PlaneSteps, Stage, takes_all_rows
from ..problems import Constants, LeastSquares, Problem
from ..rows import Array
from ..run.controllers import usable
from ..run.minimize import minimize
from ..schedules import Schedule
from ..schedules.accelerated import design as steps_for

TRIAL_NUMBERS = 1 << 20  # A trial reads about this many numbers of X.
TRIAL_ROWS_A_COLUMN = 5  # A trial has at least this many rows for each column.
TRIAL_STEPS = 1000  # A trial takes at most this many steps.
TIGHT = 1e-6  # A trial stops at this tolerance or a smaller one: its end stands for the minimiser.
FIRST_PART = 0.4  # The share of T in which the start is forgotten.
DECAY_LOSS = 4.0  # The final error of the decay is this many times the statistical limit.
# The mean curvature of the rows counts as at least this share of its bound.
LEAST_BEND = 1e-3
FLATTEST_END = 1e-12  # A curvature at the end of the trial below this share of L is rounding.
EXACT_COLUMNS = 40  # With more columns exact moments take minutes.
EXACT_FLOPS = 8e9  # n d^4 for a critical batch size, T d^4/4 for a curve: seconds.
# Rows of the quadratic near a minimiser count as at least this share of the most curved row.
LEAST_ROOT = 1e-6


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
    """A run on all rows of ``problem``, a sample of the data (or the data, if ``all_rows``)."""

    problem: Problem
    all_rows: bool
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
    if p.in_parts:
        numbers = float(p.n) * p.d
    else:
        numbers = float(p.rows.cost)
    rows = math.ceil(p.n * min(1.0, TRIAL_NUMBERS / max(numbers, 1.0)))
    rows = max(rows, TRIAL_ROWS_A_COLUMN * p.width)
    if rows >= p.n:
        return p
    return p.on(np.sort(np.random.default_rng(0).choice(p.n, rows, replace=False)))


def stages(p: Problem, controller: Controller, first: Stage, tried: Trial) -> list[PlannedStage]:
    """What the run would be made of, beginning with the stage ``first``."""
    steps = first.steps
    if isinstance(steps, PlaneSteps):
        if tried.inner and not steps.inner:  # plain steps were not tried
            return [PlannedStage(PLANE.name, first.count, p.n, False)]
        return [_plane(p, first.count, tried, tried.all_rows)]
    three = () if first.table is None else longest(first.table)
    if not isinstance(controller, Doubling):
        return [PlannedStage(first.name, steps.T, first.batch, True, *three)]
    if not (controller.brief or controller.wants_tol):  # batches until all that may be is spent
        most = max(1, controller.budget // first.batch)
        return [PlannedStage(first.name, most, first.batch, False, *three)]
    length = controller.place.length
    brief = controller.brief
    last = _plane(p, max(1, controller.budget // p.n), tried, False)
    return [PlannedStage(first.name, length, first.batch, brief, *three), last]


def _plane(p: Problem, most: int, tried: Trial, certain: bool) -> PlannedStage:
    if not tried.met:
        return PlannedStage(PLANE.name, most if most < TRIAL_STEPS else None, p.n, False)
    return PlannedStage(PLANE.name, min(most, tried.steps), p.n, certain, inner=tried.inner)


def passes(run: list[PlannedStage], n: int) -> float | None:
    """Over the data, in all; None where that cannot be said before the run."""
    open_end = len(run) > 1 and not run[0].certain  # batches for as long as they help
    if open_end or any(stage.steps is None for stage in run):
        return None
    return sum(((stage.steps or 0) + stage.inner) * stage.batch for stage in run) / n


# ---------------------------------------------------------------- what batch sizes cost


@dataclass(frozen=True)
class Design:
    """Constants, a batch, and constant steps that are certified for them."""

    n: int
    L: float
    L_max: float
    kappa_tilde: float | None
    mu: float
    b: int

    def parameters(self) -> tuple[float, float, float]:
        """(alpha, beta, theta), certified on least squares."""
        zeta2 = theory.zeta2(self.n, self.b)
        return steps_for(self.L, self.mu, self.L_max, self.kappa_tilde, zeta2)

    def time_constant(self) -> float:
        """Steps that a direction of curvature mu takes to shrink by e, about: 1/(1 - |z|), z the
        slower root. (Where roots meet, rounding decides whether they are real: the two cases must
        agree there.)"""
        mu = self.mu
        alpha, beta, theta = self.parameters()
        # the slower root of z^2 - (1 + beta - alpha mu (1+theta)) z + beta - alpha mu theta
        trace = 1.0 + beta - alpha * mu * (1.0 + theta)
        product = beta - alpha * mu * theta
        spread = trace * trace - 4.0 * product
        gap = alpha * mu  # (1 - z1)(1 - z2)
        if spread <= 0.0:
            if product > 0.0:
                return 1.0 / (1.0 - math.sqrt(product))
            return 1.0
        other = 1.0 - 0.5 * (trace - math.sqrt(spread))
        return max(1.0, other / gap)


@dataclass(frozen=True)
class PlanFacts:
    """What is known of a problem before a run."""

    trial: Trial
    accuracy: float
    constants: Constants | None  # None where no step can be computed from them
    design: Design | None  # the steps of auto on all rows; None where there are no constants
    chi2: float
    floor: float  # zeta0^2 times this is how many steps the noise needs

    @classmethod
    def of(cls, p: Problem, tried: Trial, accuracy: float) -> PlanFacts:
        sample = tried.problem
        w = tried.w
        design = None
        if p.loss.curvature is None:
            c = None
        else:
            c = p.constants()
        if c is not None and (usable(c.L) or c.L == 0.0):
            R2, tilde = c.sharpest if p.loss.quadratic else (c.L_max, None)
            L = c.L if c.L > 0 else 1.0
            mu = _mu(c, tried, accuracy)
            design = Design(p.n, L, max(R2, L), tilde, mu, p.n)
        chi2 = sample.row_gradient_mean2(w)
        start = sample.value(np.zeros_like(w))
        if chi2 > 1e-20 * max(start, 1e-300):
            noise = _noise(sample, w)
        else:
            noise = 0.0
        gap = start - sample.value(w)
        if gap > 0:
            floor = max(0.0, DECAY_LOSS * noise / (2.0 * accuracy * gap))
        else:
            floor = 0.0
        return cls(tried, accuracy, None if design is None else c, design, chi2, floor)

    @property
    def mu(self) -> float | None:
        """The curvature that the steps of auto are made for."""
        return None if self.design is None else self.design.mu

    def at(self, b: int) -> Design:
        """The steps of auto in batches of b rows."""
        assert self.design is not None
        return replace(self.design, b=b)

    def bias_steps(self, b: int) -> float:
        """The number of steps until the start is forgotten."""
        return self.at(b).time_constant() * math.log(1.0 / self.accuracy) / (2 * FIRST_PART)

    def noise_steps(self, b: int) -> float:
        return theory.zeta2(self.at(b).n, b) * self.floor

    def steps(self, b: int) -> int:
        return math.ceil(max(self.bias_steps(b), self.noise_steps(b), 1.0))


def _noise(p: Problem, w: Array) -> float:
    """tr(A^-1 S) at w, about: as if slope and bend of a row did not depend on its size."""
    z = p.predict(w)
    bend = max(float(np.mean(p.bends(z))), LEAST_BEND * (p.loss.curvature or 1.0))
    mean = bend * p.mean_row2 / p.width  # the mean eigenvalue of A without l2
    if mean > 0:
        freedom = p.width * mean / (mean + p.l2)
    else:
        freedom = 0.0
    return freedom * float(np.mean(np.square(p.slopes(z)))) / bend


def _mu(c: Constants, tried: Trial, accuracy: float) -> float:
    """The curvature to plan for: the bound, or where that is 0, the least at the trial's end."""
    L = c.L if c.L > 0 else 1.0
    if c.mu > 0:
        return c.mu
    if c.L > 0 and tried.w.ndim == 1 and tried.problem.gram_fits:
        H = tried.problem.hessian(tried.w) + np.diag(tried.problem.ridges)
        least = float(np.linalg.eigvalsh(H)[0])
        if least > FLATTEST_END * L:
            return min(least, L)
    return accuracy * L


# ---------------------------------------------------------------- what a table of steps does


@dataclass(frozen=True)
class Expectation:
    """What is known of a method's table before it is run.

    ``by``: "exact" (expectations, computed), "certified" (upper bounds), "local" (exact for the
    quadratic near the minimiser), or "none". ``gap`` is E f(w_T) - f* over f(w_0) - f*, or a bound
    on it. ``critical`` is the real number b_c of the longest step: batches of at most so many rows
    diverge; infinite where all rows diverge. ``certified_rows``: from so many rows on the longest
    step is certified to be stable. ``steps``: the first k from which on the gap is at most the
    accuracy, None if there is none up to T. What is not known is None.
    """

    by: str
    gap: float | None = None
    critical: float | None = None
    certified_rows: float | None = None
    steps: int | None = None

    def diverges(self, b: int, n: int) -> bool:
        """Is it known that batches of b rows diverge?"""
        if self.critical is not None and b < n:
            return b <= self.critical
        return self.critical == math.inf or (self.by == "exact" and (self.gap or 0.0) > 1.0)


def affordable(n: int, d: int) -> bool:
    """Does an exact critical batch size take seconds, and not minutes?"""
    return d <= EXACT_COLUMNS and n * float(d) ** 4 <= EXACT_FLOPS


def longest(table: Schedule) -> tuple[float, float, float]:
    """(alpha, beta, theta) of the step that reaches furthest."""
    k = int(np.argmax(table.alpha / (1.0 - table.beta)))
    return float(table.alpha[k]), float(table.beta[k]), float(table.theta[k])


def expectation(
    p: Problem, table: Schedule, b: int, near: Array | None, accuracy: float
) -> Expectation:
    """What ``table`` does in batches of b rows, from zero, until the gap is ``accuracy`` of that at
    the start; losses that are not quadratic need a point ``near`` their minimiser."""
    alpha, beta, theta = longest(table)
    model = None
    if affordable(p.n, p.width):
        model = least_squares_model(p, near)
    if model is None:
        return _certified(p, table, b, (alpha, beta, theta))
    too_long = alpha * model.constants().L >= 2.0 * (1.0 + beta) / (1.0 + 2.0 * theta)
    if too_long:
        critical = math.inf
    else:
        critical = exact.critical_batch_size(model, alpha, beta, theta)
    if not p.loss.quadratic or table.T * float(model.d) ** 4 > 4 * EXACT_FLOPS:
        return Expectation("local" if not p.loss.quadratic else "exact", critical=critical)
    curve = exact.expected(model, table, b)
    if curve.gap[0] > 0.0:
        gap = curve.gap / curve.gap[0]
    else:
        gap = np.zeros(table.T + 1)
    above = np.flatnonzero(~(gap <= accuracy))
    first = int(above[-1]) + 1 if above.size else 0
    return Expectation("exact", float(gap[-1]), critical, steps=first if first <= table.T else None)


def least_squares_model(p: Problem, near: Array | None) -> Problem | None:
    """The least-squares problem that stands for p in exact analysis, if there is one: an intercept
    is a column of ones; losses that are not quadratic need a point ``near`` their minimiser."""
    one_l2 = bool(np.all(p.ridges[: p.d] == p.l2))
    plain = one_l2 and p.weight is None and not p.in_parts and not p.rows.foreign
    known = p.loss.quadratic or (near is not None and not p.loss.multi_output)
    if not (plain and known) or p.loss.curvature is None or p.constants().L <= 0.0:
        return None
    if p.loss.quadratic and not p.intercept:
        return p
    X = p.X
    y = p.y
    if p.intercept:
        column = np.ones((p.n, 1))
        if sp.issparse(X):
            X = sp.hstack([X, column], format="csr")
        else:
            X = np.hstack([X, column])
    if not p.loss.quadratic:
        assert near is not None
        z = p.predict(near)
        bend = p.bends(z)
        root = np.sqrt(np.maximum(bend, LEAST_ROOT * bend.max(initial=0.0)))
        if not root.all():
            return None
        if sp.issparse(X):
            X = X.multiply(root[:, None]).tocsr()
        else:
            X = X * root[:, None]
        y = root * z - p.slopes(z) / root
    return LeastSquares(X, y, l2=p.l2)


def _certified(
    p: Problem, table: Schedule, b: int, step: tuple[float, float, float]
) -> Expectation:
    """Bounds from certificates, for least squares."""
    if not p.loss.quadratic or p.in_parts or (c := p.constants()).mu <= 0.0:
        return Expectation("none")
    alpha, beta, theta = step
    rows = None
    if theta == 0.0:
        rows = theory.certified_batch_size(p.n, alpha, beta, max(c.L_max, c.L), c.mu, c.L)
    if not c.exact and table.T > theory.finite.MOST_STEPS_WITHOUT_SPECTRUM:
        return Expectation("certified", certified_rows=rows)
    start = p.value(np.zeros(p.shape)) - p.value(p.minimiser())
    bound = theory.certify_run(p, table, b, of="gap")
    if bound.valid and start > 0.0:
        gap = bound.total / start
    else:
        gap = None
    return Expectation("certified", gap, certified_rows=rows)
