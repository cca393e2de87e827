"""Does f end above its start by more than the noise of the batches explains?

Let f_0 be the objective where a run begins and f_T where it ends. The run has diverged when

    f_T - f_0 > slack + noise    and    f_T - f_0 > slack + transient,

    slack     = 1e-6 |f_0| + 1e-12 |f(0)|: rounding, and rises that nobody would notice;
    noise     = 100 s zeta0^2 V, s the longest alpha_k/(1 - beta_k), V = mean ||grad f_i||^2 near
                the minimiser;
    transient = (G - 1) |f_0|, G the largest factor by which the table multiplies a squared error
                on all rows, over the curvatures of the problem; 0 where a step is too long for all
                rows.

Constant parameters with alpha lam <= 1 + beta leave a gap of at most s zeta0^2 tr(S)/2 if the noise
of the gradients has the covariance zeta0^2 S everywhere, and tr(S) <= V: a stable run from a
minimiser stays below the noise term by a factor 200. V is looked up where the run began first, and
nearer to the minimiser only if it would explain the rise there. See docs/reliability.md.
"""

from __future__ import annotations

import math

import numpy as np

from ..control import Policy
from ..control.base import Steps
from ..engines import Recorder, State
from ..plane import PlaneEngine
from ..problems import Problem
from ..rows import Array
from ..schedules import Schedule
from ..schedules.adaptive import sampling_noise

RELATIVE = 1e-6  # A rise by this share of f_0 is not called divergence.
ROUNDING = 1e-12  # A rise by this share of f(0) may be rounding.
NOISE_FACTOR = 100.0  # Noise explains this many times s zeta0^2 V.
# Tables with more steps are past their transient: it lasts about sqrt(kappa) steps.
TRANSIENT_STEPS = 10_000
NEARER_STEPS = 20  # So many steps on all rows lead to a point near the minimiser.
CURVATURES = 400  # The transient is looked for at this many curvatures between 0 and L.


def diverged(
    problem: Problem, start: Array, steps: Steps, batch: int, ends: tuple[float, float]
) -> bool:
    """Has a run of these steps from ``start`` diverged? ``ends``: f at the start and at the end."""
    first, last = ends
    rise = last - first
    if rise <= RELATIVE * abs(first):
        return False
    rise -= RELATIVE * abs(first) + ROUNDING * abs(problem.value(np.zeros(problem.shape)))
    if rise <= transient(problem, steps) * abs(first):
        return False
    if rise > explained(problem, start, steps, batch):
        return True
    nearer = State.at_rest(start)
    nobody = Recorder(np.zeros(0, dtype=np.int64))
    PlaneEngine(problem, memory=5).advance(nearer, None, NEARER_STEPS, nobody)
    return rise > explained(problem, nearer.w, steps, batch)


def explained(problem: Problem, at: Array, steps: Steps, batch: int) -> float:
    """By how much the noise that batches have at a point may lift f, with a factor 100 of room."""
    zeta2 = sampling_noise("minimize", problem.units, problem.units_in(batch))
    if zeta2 == 0.0:
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        V = problem.row_gradient_mean2(at)
    return NOISE_FACTOR * longest_step(steps) * zeta2 * V


def longest_step(steps: Steps) -> float:
    """The largest alpha_k/(1 - beta_k): how far one gradient moves w in the end."""
    if isinstance(steps, Schedule):
        return float(np.max(steps.alpha / (1.0 - steps.beta)))
    return steps.longest_step if isinstance(steps, Policy) else math.inf


def transient(problem: Problem, steps: Steps) -> float:
    """G - 1, where G is the largest growth of a squared error in these steps on all rows."""
    known = problem.loss.curvature is not None
    if not known or not isinstance(steps, Schedule) or steps.T > TRANSIENT_STEPS:
        return 0.0
    L = problem.constants().L
    limits = 2.0 * (1.0 + steps.beta) / (1.0 + 2.0 * steps.theta)
    if not np.all(steps.alpha * L < limits):
        return 0.0
    lam = L * np.unique(
        np.r_[np.linspace(0.0, 1.0, CURVATURES // 2), np.geomspace(1e-8, 1.0, CURVATURES // 2)]
    )
    error, velocity = np.ones_like(lam), np.zeros_like(lam)
    for alpha, beta, theta in zip(steps.alpha, steps.beta, steps.theta):
        velocity = beta * velocity - alpha * lam * (error + theta * velocity)
        error = error + velocity
    growth = float(np.max(error**2))
    return max(0.0, growth - 1.0) if math.isfinite(growth) else 0.0
