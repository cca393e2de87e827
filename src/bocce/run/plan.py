"""``plan``: what a run will do, which batch, which parameters, how many steps, and why."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .. import _checks, _html, _pictures, exact, theory
from .._pictures import Axes
from ..control import Stage
from ..control.anytime import accelerating_batch
from ..problems import Constants, Problem
from ..schedules import Schedule, shb
from . import forecast, plan_words
from .controllers import controller_of, frame_of
from .forecast import Expectation, PlanFacts, PlannedStage, affordable, expectation
from .request import Request

# If even the cheapest batch size costs more passes over the data than this, none is recommended.
MOST_PASSES = 10_000
# The knee is the smallest batch whose steps are at most this many times the steps on all rows.
KNEE = 1.5
# The recommended batch costs at most this many times the fewest gradient evaluations.
FLAT = 1.5


@dataclass(frozen=True)
class Point:
    """The cost of one batch size.

    Attributes
    ----------
    batch_size, steps, evaluations : int
        The batch size in rows; the number of steps to the accuracy; the number of gradients of
        rows.
    """

    batch_size: int
    steps: int
    evaluations: int


@dataclass(frozen=True)
class Plan:
    """The result of ``plan``; ``str`` gives a page for a terminal, ``to_dict`` plain values.

    A number that does not exist for the problem is None. On a loss without a bound on its curvature
    these are all numbers except the stages.

    Attributes
    ----------
    problem, how, words : str
        The problem in words; how the constants were computed; the plan in words.
    n, d : int
        The number of rows; the number of columns.
    constants : Constants or None
        The curvature constants of the problem.
    mu : float or None
        The curvature that the plan assumes: mu, or where mu is 0, the curvature found by a trial.
    chi2 : float
        The gradient noise at the minimiser.
    method : str
        The name of the method.
    stages : tuple of PlannedStage
        The stages that ``minimize`` will run.
    passes : float or None
        The expected passes over the data; None where they are unknown before the run.
    batch_size : int
        The batch size of the first stage, in rows.
    alpha, beta, theta : float or None
        Step size, momentum and lookahead where alpha/(1 - beta) is largest; on all rows, those of
        ``auto``.
    steps : int or None
        The expected number of steps; with T or a batch given, the number that the method needs at
        that batch.
    T : int or None
        The number of steps that was given.
    tol, accuracy : float
        The tolerance; the accuracy that the costs of batch sizes refer to.
    sweep : tuple of Point
        The cost of each batch size.
    knee, cheapest, recommended : int or None
        The batch size above which few steps are saved; the batch size with the fewest gradient
        evaluations; the recommended batch size.
    accelerating : int or None
        The batch size from which heavy ball is certified to be fully accelerated.
    paper_batch, certified_batch, exact_batch, certified_error : float or None
        The batch size b* of Theorem 2; the batch size from which Theorem S certifies stability; the
        exact critical batch size; the certified root-mean-square error after T steps.
    expectation : Expectation or None
        What is known of the method's table before the run.
    """

    problem: str
    n: int
    d: int
    constants: Constants | None
    how: str
    mu: float | None
    chi2: float
    method: str
    stages: tuple[PlannedStage, ...]
    passes: float | None
    batch_size: int
    alpha: float | None
    beta: float | None
    theta: float | None
    steps: int | None
    T: int | None
    tol: float
    accuracy: float
    sweep: tuple[Point, ...] = ()
    knee: int | None = None
    cheapest: int | None = None
    recommended: int | None = None
    accelerating: int | None = None
    paper_batch: float | None = None
    certified_batch: float | None = None
    exact_batch: float | None = None
    certified_error: float | None = None
    expectation: Expectation | None = None
    words: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for a program.

        Returns
        -------
        dict
            All fields by name.
        """
        return asdict(self)

    def __str__(self) -> str:
        return plan_words.page(self)

    def _repr_html_(self) -> str:
        return _html.plan(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what batch sizes cost: steps on the left, passes over the data on the right.

        Parameters
        ----------
        ax : two matplotlib Axes, optional
            Where to draw; by default a new figure is made.

        Returns
        -------
        array of two matplotlib Axes
            The axes that were drawn on.

        Examples
        --------
        >>> import bocce
        >>> X, y, _ = bocce.data.regression(n=200, d=5, kappa=10.0)
        >>> [ax.get_ylabel() for ax in bocce.plan(bocce.LeastSquares(X, y)).plot()]
        ['steps', 'passes over the data']
        """
        return _pictures.plan(self, ax)


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
    tol, passes : float, optional
        As for ``minimize``; tol is by default 1e-6, and 0 where T is given.
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
    if not isinstance(method, str):
        raise TypeError(f"plan: method={method!r} must be a registry name, such as 'auto'.")
    tol = usual_tol(T) if tol is None else tol
    request = Request(method, T, batch_size, tol=tol, passes=passes, memory=memory)
    request = request.checked(p, "plan")
    inner = frame_of(p, request).problem(p)
    controller = controller_of(inner, request, np.zeros(inner.shape))
    first = controller.next(None)
    assert isinstance(first, Stage)
    facts = PlanFacts.of(p, forecast.trial(p, request.tol, request.memory), accuracy)
    stages = forecast.stages(p, controller, first, facts.trial)
    outlook, error = None, None
    if isinstance(first.steps, Schedule) and not controller.open_ended:
        if not request.facts.guarded:
            outlook = expectation(p, first.steps, first.batch, facts.trial.w, accuracy)
        if p.loss.quadratic and not p.in_parts and p.gram_fits:
            bound = theory.certify_run(p, first.steps, first.batch)
            error = math.sqrt(bound.total) if bound.valid else None
    alpha, beta, theta = stages[0].alpha, stages[0].beta, stages[0].theta
    if alpha is None and facts.design is not None:
        alpha, beta, theta = facts.at(first.batch).parameters()
    found = Plan(
        problem=plan_words.problem(p),
        n=p.n,
        d=p.d,
        constants=facts.constants,
        how=plan_words.how(facts.constants),
        mu=None if facts.design is None else facts.design.mu,
        chi2=facts.chi2,
        method=method,
        stages=tuple(stages),
        passes=forecast.passes(stages, p.n),
        batch_size=first.batch,
        alpha=alpha,
        beta=beta,
        theta=theta,
        steps=_steps(stages, facts, request) if outlook is None else outlook.steps,
        T=request.T,
        tol=request.tol,
        accuracy=accuracy,
        **_batch_sizes(p, facts),
        certified_error=error,
        expectation=outlook,
    )
    return replace(found, words=" ".join(plan_words.reasons(found, p, request, facts)))


def usual_tol(T: int | None) -> float:
    """The default tolerance: a caller who gives a number of steps wants all of them taken."""
    return 1e-6 if T is None else 0.0


def _steps(stages: list[PlannedStage], facts: PlanFacts, request: Request) -> int | None:
    given = request.T is not None or request.rows is not None
    if given and facts.design is not None:
        return facts.steps(stages[0].batch)
    counts = [stage.steps for stage in stages]
    return None if None in counts else sum(filter(None, counts))


def _batch_sizes(p: Problem, facts: PlanFacts) -> dict[str, Any]:
    """The cost of batch sizes, those that stand out, and when the paper's heavy ball is stable."""
    if facts.design is None or facts.constants is None:
        return {}
    grid = sorted({1, p.n, *np.geomspace(1, p.n, 25).round().astype(int).tolist()})
    sweep = tuple(Point(b, facts.steps(b), b * facts.steps(b)) for b in grid)
    fewest = min(point.evaluations for point in sweep)
    L, mu, L_max = facts.design.L, facts.design.mu, max(facts.constants.L_max, facts.design.L)
    table = shb(1, L, min(mu, L))
    step = float(table.alpha[0]), float(table.beta[0])
    plain = p.loss.quadratic and not p.in_parts and p.penalty is None and p.weight is None
    computed = plain and affordable(p.n, p.d) and facts.constants.L > 0
    cheap = [x.batch_size for x in sweep if x.evaluations <= FLAT * fewest]
    return {
        "sweep": sweep,
        "knee": next(x.batch_size for x in sweep if x.steps <= KNEE * sweep[-1].steps),
        "cheapest": next(x.batch_size for x in sweep if x.evaluations == fewest),
        "recommended": max(cheap) if fewest <= MOST_PASSES * p.n else None,
        "accelerating": accelerating_batch(p.n, L, mu, L_max),
        "paper_batch": theory.batch_threshold(p.n, L_max / mu),
        "certified_batch": theory.certified_batch_size(p.n, *step, L_max, mu, L),
        "exact_batch": exact.critical_batch_size(p, *step) if computed else None,
    }
