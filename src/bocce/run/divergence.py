"""Does f end above its start, and does the noise of the batches explain that?

Let f_0 be the objective where a run begins, f_T where it ends, f* the minimum. A run that ends with
f_T - f_0 above

    slack     = 1e-6 |f_0| + 1e-12 |f(0)|: rounding, and rises that nobody would notice

has diverged, unless its rise f_T - f_0 - slack is at most

    noise     = 10 s zeta0^2 V, s the longest alpha_k/(1 - beta_k), V = mean ||grad f_i||^2 where
                the run began;
    transient = (G - 1) |f_0|, G the largest factor by which the table multiplies a squared error
                on all rows, over the curvatures of the problem; 0 where a step is too long for all
                rows.

Neither excuses a gap above twice the first one, f_T - f* > 2 (f_0 - f*): such a run has diverged. A
start near the minimiser is the one exception: where noise explains the rise and f_T is not above
f(0), the run is "noisy", which is said in a warning.

The first gap is at least f_0 - f_k for every recorded step k, and at least ||grad f(w_0)||^2/(2 L).
Constant parameters with alpha lam <= 1 + beta leave a gap of at most s zeta0^2 tr(S)/2 if the noise
of the gradients has the covariance zeta0^2 S everywhere, and tr(S) <= V: a stable run from a
minimiser stays below the noise term by a factor 20. See docs/reliability.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..control import Policy, RunVerdict
from ..control.base import Steps
from ..problems import Problem
from ..rows import Array
from ..schedules import Schedule
from ..schedules.accelerated import sampling_noise

RELATIVE = 1e-6  # A rise by this share of f_0 is not called divergence.
ROUNDED_RISE = 1e-12  # A rise by this share of f(0) may be rounding.
NOISE_FACTOR = 10.0  # Noise explains this many times s zeta0^2 V.
# Tables with more steps are past their transient: it lasts about sqrt(kappa) steps.
TRANSIENT_STEPS = 10_000
CURVATURES = 400  # The transient is looked for at this many curvatures between 0 and L.


class Ends(NamedTuple):
    """What is known of a run whose steps are taken.

    ``first``, ``last``, ``lowest``: f where the run began, where it ended, and the lowest that was
    recorded. ``norm``, ``row_noise``: of the gradient, and V, where the run began.
    """

    start: Array
    first: float
    last: float
    lowest: float
    norm: float
    row_noise: float


def judge(problem: Problem, steps: Steps, batch: int, ends: Ends) -> RunVerdict:
    """DIVERGED, NOISY, or RUNNING where nothing is wrong; looks at all rows at most once."""
    rise = ends.last - ends.first - RELATIVE * abs(ends.first)
    if rise <= 0.0:
        return RunVerdict.RUNNING
    null = ends.first
    if ends.start.any():
        null = problem.value(np.zeros(problem.shape))
    rise -= ROUNDED_RISE * abs(null)
    L = largest_curvature(problem)
    by_noise = rise <= explained(problem, steps, batch, ends.row_noise)
    if rise <= least_gap(ends, L):
        excused = by_noise or rise <= transient(steps, L) * abs(ends.first)
        return RunVerdict.RUNNING if excused else RunVerdict.DIVERGED
    if by_noise and ends.last <= null:
        return RunVerdict.NOISY
    return RunVerdict.DIVERGED


def largest_curvature(problem: Problem) -> float:
    """L where it was computed, or else the bound tr(A) >= L, which costs no pass over the data;
    infinite where the loss has no bound."""
    known = problem.known("_constants")
    if known is not None:
        return float(known.L)
    if problem.loss.curvature is None:
        return math.inf
    return problem.loss.curvature * problem.mean_row2 + float(np.max(problem.ridge))


def least_gap(ends: Ends, L: float) -> float:
    """The start is at least this far above the minimum."""
    return max(ends.first - ends.lowest, ends.norm * (ends.norm / (2.0 * L)) if L > 0.0 else 0.0)


def explained(problem: Problem, steps: Steps, batch: int, row_noise: float) -> float:
    """By how much the noise of batches may lift f, with a factor 20 of room."""
    zeta2 = sampling_noise("minimize", problem.units, problem.units_in(batch))
    if zeta2 == 0.0:
        return 0.0
    return NOISE_FACTOR * longest_step(steps) * zeta2 * row_noise


def longest_step(steps: Steps) -> float:
    """The largest alpha_k/(1 - beta_k): how far one gradient moves w in the end."""
    if isinstance(steps, Schedule):
        return float(np.max(steps.alpha / (1.0 - steps.beta)))
    if isinstance(steps, Policy):
        return steps.longest_step
    return math.inf


def transient(steps: Steps, L: float) -> float:
    """G - 1, where G is the largest growth of a squared error in these steps on all rows."""
    if not isinstance(steps, Schedule) or steps.T > TRANSIENT_STEPS:
        return 0.0
    limits = 2.0 * (1.0 + steps.beta) / (1.0 + 2.0 * steps.theta)
    if not np.all(steps.alpha * L < limits):
        return 0.0
    lam = L * np.unique(
        np.r_[np.linspace(0.0, 1.0, CURVATURES // 2), np.geomspace(1e-8, 1.0, CURVATURES // 2)]
    )
    error = np.ones_like(lam)
    velocity = np.zeros_like(lam)
    for alpha, beta, theta in zip(steps.alpha, steps.beta, steps.theta):
        velocity = beta * velocity - alpha * lam * (error + theta * velocity)
        error = error + velocity
    growth = float(np.max(error**2))
    if math.isfinite(growth):
        return max(0.0, growth - 1.0)
    return 0.0
