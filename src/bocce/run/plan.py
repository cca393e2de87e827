"""``plan``: what a run will do, which batch, which parameters, how many steps, and why."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import _checks, exact, theory
from ..control.anytime import Design, accelerating_batch
from ..control.base import Steps
from ..problems import Constants, Problem
from ..rows import Array
from ..schedules import Schedule, shb
from ..schedules.adaptive import DECAY_START
from . import forecast, plan_words
from .anytime import usable
from .expectation import EXACT_COLUMNS, EXACT_FLOPS, expectation
from .forecast import PlannedStage, Trial
from .planned import Plan, Point
from .request import Request

# If even the cheapest batch size costs more passes than this, none is recommended.
MOST_PASSES = 10_000
DECAY_LOSS = 4.0  # the decay's final error over the statistical limit
KNEE = 1.5  # steps, over those of the full batch
FLAT = 1.5  # gradient evaluations, over the fewest
LEAST_BEND = 1e-3  # of its bound: where fewer rows bend, the noise is not known so well
FLATTEST = 1e-12  # of L: a smaller curvature at the trial's end is rounding


def plan(
    p: Problem,
    batch_size: float | None = None,
    T: int | None = None,
    accuracy: float = 1e-6,
    *,
    method: str = "auto",
    tol: float | None = None,
    passes: float | None = None,
    memory: int = 5,
) -> Plan:
    """What ``minimize`` with the same arguments will do, what batch sizes cost, and why, in words.

    The stages are those that the run would begin with. How many steps it takes on all rows is
    tried out on a sample of the rows, or on all of them where they are few: then it is what the
    run will do. What a method with a table of steps does is computed from its own table
    (``Plan.expectation``): by exact moments for least squares with few columns, by certificates
    with many, and near the minimiser for other losses.

    What a batch size b would cost, if it were given with a number of steps: ``auto`` has a time
    constant tau(b), so the part before its decay needs tau ln(1/accuracy)/2 steps. The noise, S its
    covariance at the minimiser, needs T = 4 zeta0^2 tr(A^-1 S)/(2 accuracy (f(0) - f*)). The number
    of steps is the larger of the first over 0.4 (the share of that part), and of the second.
    ``knee`` is the smallest batch within 1.5 times the steps of b = n, ``recommended`` the largest
    within 1.5 times the fewest gradient evaluations.

    Guarantee: for the squared loss the parameters of ``auto`` are certified and the steps are an
    estimate; for other losses both are.

    Parameters
    ----------
    p : Problem
        Any problem, also one without a minimiser.
    batch_size : int or float, optional
        As for ``minimize``: rows, or a share of n.
    T : int, optional
        The number of steps that you can afford; the plan says whether they are enough.
    accuracy : float, default 1e-06
        The target for (f - f*)/(f(0) - f*), for the cost of batch sizes.
    method : str, default "auto"
        The name of a method.
    tol : float, optional
        As for ``minimize``; by default 1e-6, and 0 where T is given.
    passes : float, optional
        As for ``minimize``.
    memory : int, default 5
        As for ``minimize``.

    Returns
    -------
    Plan
        The stages, the cost of batch sizes and the reasons, in words.

    Raises
    ------
    TypeError, ValueError
        If ``method`` is not the name of a method, or an argument is out of its range.

    Examples
    --------
    >>> import bocce
    >>> X, y, _ = bocce.data.regression(n=1000, d=5, kappa=100.0)
    >>> p = bocce.LeastSquares(X, y)
    >>> plan = bocce.plan(p, tol=1e-6)
    >>> [(s.method, s.steps, s.batch) for s in plan.stages] == [
    ...     tuple(stage) for stage in bocce.minimize(p, tol=1e-6).stages
    ... ]
    True
    >>> plan.recommended <= 100, plan.accelerating
    (True, 103)
    """
    accuracy = _checks.real("plan", "accuracy", accuracy, above=0.0, below=1.0, remedy="try 1e-6")
    tol = usual_tol(T) if tol is None else tol
    if not isinstance(method, str):
        raise TypeError(f"plan: method={method!r} must be a registry name, such as 'auto'.")
    request = Request(method, T, batch_size, tol=tol, passes=passes, memory=memory)
    request = request.checked(p, "plan")
    controller, first = forecast.first_stage(p, request)
    tried = forecast.trial(p, request.tol, request.memory)
    stages = forecast.stages(p, controller, first, tried)
    known = _Known.of(p, tried, accuracy)
    outlook = None
    if isinstance(first.steps, Schedule) and not request.facts.guarded:
        outlook = expectation(p, first.steps, first.batch, tried.w, accuracy)
    found = {
        "problem": plan_words.problem(p),
        "n": p.n,
        "d": p.d,
        "constants": known.constants,
        "how": plan_words.how(known.constants),
        "mu": known.mu,
        "chi2": known.chi2,
        "method": request.method,
        "stages": tuple(stages),
        "passes": forecast.passes(stages, p.n),
        "batch_size": first.batch,
        **_parameters(stages[0], known),
        "steps": _steps(stages, known, request) if outlook is None else outlook.steps,
        **{"T": request.T, "tol": request.tol, "accuracy": accuracy},
        **_sizes(p, known),
        **_thresholds(p, known),
        "certified_error": None
        if controller.open_ended
        else _certified_error(p, first.steps, first.batch),
        "expectation": outlook,
    }
    return Plan(**found, words=plan_words.paragraph(p, request, controller, known, tried, found))


def usual_tol(T: int | None) -> float:
    """Who names a number of steps wants them taken; others want a result."""
    return 1e-6 if T is None else 0.0


class _Known(NamedTuple):
    """What is known of a problem before a run; ``constants`` are None where the loss has none."""

    n: int
    constants: Constants | None
    mu: float | None
    chi2: float
    floor: float  # zeta0^2 times this is how many steps the noise needs
    accuracy: float
    rows: tuple[float, float | None]  # what a run takes for L_max and kappa~

    @classmethod
    def of(cls, p: Problem, tried: Trial, accuracy: float) -> _Known:
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


def _parameters(first: PlannedStage, known: _Known) -> dict[str, float | None]:
    three: tuple[float | None, ...] = (first.alpha, first.beta, first.theta)
    if first.alpha is None and known.constants is not None:
        three = known.design(first.batch).parameters()
    return dict(zip(("alpha", "beta", "theta"), three))


def _steps(stages: list[PlannedStage], known: _Known, request: Request) -> int | None:
    given = request.T is not None or request.rows is not None
    if given and known.constants is not None:
        return known.steps(stages[0].batch)
    if any(stage.steps is None for stage in stages):
        return None
    return sum(stage.steps or 0 for stage in stages)


def _sizes(p: Problem, known: _Known) -> dict[str, Any]:
    """What batch sizes cost, and those that stand out."""
    names = ("knee", "cheapest", "recommended", "accelerating")
    if known.constants is None or known.mu is None:
        return {"sweep": (), **dict.fromkeys(names)}
    grid = sorted({1, p.n, *np.geomspace(1, p.n, 25).round().astype(int).tolist()})
    sweep = tuple(Point(b, known.steps(b), b * known.steps(b)) for b in grid)
    fewest = min(point.evaluations for point in sweep)
    worth = fewest <= MOST_PASSES * p.n
    sizes = (
        next(x.batch_size for x in sweep if x.steps <= KNEE * sweep[-1].steps),
        next(x.batch_size for x in sweep if x.evaluations == fewest),
        max(x.batch_size for x in sweep if x.evaluations <= FLAT * fewest) if worth else None,
        accelerating_batch(p.n, known.L, known.mu, known.L_max),
    )
    return {"sweep": sweep, **dict(zip(names, sizes))}


def _thresholds(p: Problem, known: _Known) -> dict[str, float | None]:
    """From which batch on the paper's heavy ball is stable."""
    if known.constants is None or known.mu is None:
        return dict.fromkeys(("paper_batch", "certified_batch", "exact_batch"))
    mu, L, L_max = known.mu, known.L, known.L_max
    table = shb(1, L, min(mu, L))
    step, momentum = float(table.alpha[0]), float(table.beta[0])
    return {
        "paper_batch": theory.batch_threshold(p.n, L_max / mu),
        "certified_batch": theory.certified_batch_size(p.n, step, momentum, L_max, mu, L),
        "exact_batch": _exact(p, step, momentum),
    }


def _plain(p: Problem) -> bool:
    """Least squares with one l2 on all variables: what exact analysis is about."""
    return p.loss.quadratic and not p.in_parts and p.penalty is None and p.weight is None


def _exact(p: Problem, alpha: float, beta: float) -> float | None:
    small = p.d <= EXACT_COLUMNS and p.n * float(p.d) ** 4 <= EXACT_FLOPS
    if not _plain(p) or not small or p.constants().L <= 0:
        return None
    return exact.critical_batch_size(p, alpha, beta)


def _certified_error(p: Problem, steps: Steps, b: int) -> float | None:
    """A bound on the root mean square of ||w_T - w*||, where the theory has one."""
    known = p.loss.quadratic and not p.in_parts and p.gram_fits
    if not isinstance(steps, Schedule) or not known:
        return None
    bound = theory.certify_run(p, steps, b)
    return math.sqrt(bound.total) if bound.valid else None
