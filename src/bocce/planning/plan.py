"""``plan``: what a run will do, which batch, which parameters, how many steps, and why."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

from .. import _checks, _html, _pictures, theory
from .._pictures import Axes
from ..problems import Problem
from ..run.controllers import controller_of
from ..run.prepare import prepare
from ..run.request import CheckedRequest, Request
from ..schedules import Schedule
from . import forecast, page
from .batch_sizes import batch_sizes
from .course import Course
from .forecast import PlanFacts, PlannedStage, expectation
from .reasons import Grounds
from .records import BatchSizes, Outlook, PlannedData, PlannedRun


@dataclass(frozen=True)
class Plan:
    """The result of ``plan``; ``str`` gives a page for a terminal, ``to_dict`` plain values.

    A field of a record is an attribute of the plan, too: ``plan.steps`` is ``plan.run.steps``. A
    number that does not exist for the problem is None. On a loss without a bound on its curvature
    these are all numbers except the stages.

    Attributes
    ----------
    run : PlannedRun
        What ``minimize`` will do: method, stages, passes, batch_size, alpha, beta, theta, steps, T,
        tol.
    batches : BatchSizes
        What batch sizes cost, and which stand out: accuracy, sweep, knee, cheapest, recommended,
        accelerating, paper_batch, certified_batch, exact_batch, useful.
    data : PlannedData
        What is known of the data: problem, n, d, constants, how, mu, chi2.
    outlook : Outlook
        What is known of the result: certified_error, expectation.
    words : str
        The plan in words.
    schedule : Schedule or None
        The table of the first stage; ``plan.plot()`` draws it, and ``plan.schedule.plot()``.
    """

    run: PlannedRun
    batches: BatchSizes
    data: PlannedData
    outlook: Outlook
    words: str = ""
    schedule: Schedule | None = None

    problem = property(attrgetter("data.problem"))
    n = property(attrgetter("data.n"))
    d = property(attrgetter("data.d"))
    constants = property(attrgetter("data.constants"))
    how = property(attrgetter("data.how"))
    mu = property(attrgetter("data.mu"))
    chi2 = property(attrgetter("data.chi2"))
    method = property(attrgetter("run.method"))
    stages = property(attrgetter("run.stages"))
    passes = property(attrgetter("run.passes"))
    batch_size = property(attrgetter("run.batch_size"))
    alpha = property(attrgetter("run.alpha"))
    beta = property(attrgetter("run.beta"))
    theta = property(attrgetter("run.theta"))
    steps = property(attrgetter("run.steps"))
    T = property(attrgetter("run.T"))
    tol = property(attrgetter("run.tol"))
    accuracy = property(attrgetter("batches.accuracy"))
    sweep = property(attrgetter("batches.sweep"))
    knee = property(attrgetter("batches.knee"))
    cheapest = property(attrgetter("batches.cheapest"))
    recommended = property(attrgetter("batches.recommended"))
    accelerating = property(attrgetter("batches.accelerating"))
    paper_batch = property(attrgetter("batches.paper_batch"))
    certified_batch = property(attrgetter("batches.certified_batch"))
    exact_batch = property(attrgetter("batches.exact_batch"))
    useful = property(attrgetter("batches.useful"))
    certified_error = property(attrgetter("outlook.certified_error"))
    expectation = property(attrgetter("outlook.expectation"))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for a program.

        Returns
        -------
        dict
            The fields of all records by name, and the words.
        """
        records = (self.data, self.run, self.batches, self.outlook)
        found = {name: value for record in records for name, value in asdict(record).items()}
        return {**found, "words": self.words}

    def __str__(self) -> str:
        return page.page(self)

    def _repr_html_(self) -> str:
        return _html.plan(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what batch sizes cost, and below it the table of the first stage, where it has one.

        Above: steps on the left, passes over the data on the right. Below: step size, momentum and
        lookahead at each step; 1 - beta in place of beta where momentum comes near 1.

        Parameters
        ----------
        ax : two or five matplotlib Axes, optional
            Where to draw; by default a new figure is made. On two, the table is not drawn.

        Returns
        -------
        array of two or five matplotlib Axes
            The axes that were drawn on.

        Examples
        --------
        >>> import bocce
        >>> X, y, _ = bocce.data.regression(n=200, d=5, kappa=10.0)
        >>> p = bocce.LeastSquares(X, y)
        >>> [ax.get_ylabel() for ax in bocce.plan(p).plot()]
        ['steps', 'passes over the data']
        >>> len(bocce.plan(p, batch_size=20, T=50).plot())
        5
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
    wanted = Request(method, T, batch_size, tol=tol, passes=passes, memory=memory)
    ready = prepare(p, wanted.checked(p, "plan"))
    request = ready.request
    controller = controller_of(ready.inner, request, ready.start)
    controller.next(None)
    first = controller.current()
    facts = PlanFacts.of(p, forecast.trial(p, request.tol, request.memory), accuracy)
    stages = forecast.stages(p, controller, first, facts.trial)
    table = first.table
    outlook = Outlook()
    if table is not None and not controller.open_ended:
        outlook = _outlook(p, request, table, first.batch, facts)
    run = _run(method, stages, request, facts, outlook, p.n)
    data = _data(p, facts)
    batches = batch_sizes(p, facts)
    words = Grounds(run, batches, data, outlook, p, request, facts).words()
    if table is not None and request.facts.guarded:
        words = f"{Course(table).sentence()} {words}"
    return Plan(run, batches, data, outlook, words, table)


def _data(p: Problem, facts: PlanFacts) -> PlannedData:
    return PlannedData(
        problem=page.problem(p),
        n=p.n,
        d=p.d,
        constants=facts.constants,
        how=page.how(facts.constants),
        mu=facts.mu,
        chi2=facts.chi2,
    )


def _outlook(
    p: Problem, request: CheckedRequest, table: Schedule, b: int, facts: PlanFacts
) -> Outlook:
    """What the table of steps leads to."""
    expected = None
    error = None
    if not request.facts.guarded:
        expected = expectation(p, table, b, facts.trial.w, facts.accuracy)
    if p.loss.quadratic and not p.in_parts and p.gram_fits:
        bound = theory.certify_run(p, table, b)
        if bound.valid:
            error = math.sqrt(bound.total)
    return Outlook(error, expected)


def _run(
    method: str,
    stages: list[PlannedStage],
    request: CheckedRequest,
    facts: PlanFacts,
    outlook: Outlook,
    n: int,
) -> PlannedRun:
    first = stages[0]
    three = (first.alpha, first.beta, first.theta)
    if first.alpha is None and facts.design is not None:
        three = facts.at(first.batch).parameters()
    if outlook.expectation is None:
        steps = _steps(stages, facts, request)
    else:
        steps = outlook.expectation.steps
    return PlannedRun(
        method=method,
        stages=tuple(stages),
        passes=forecast.passes(stages, n),
        batch_size=first.batch,
        alpha=three[0],
        beta=three[1],
        theta=three[2],
        steps=steps,
        T=request.T,
        tol=request.tol,
    )


def usual_tol(T: int | None) -> float:
    """The default tolerance: a caller who gives a number of steps wants all of them taken."""
    return 1e-6 if T is None else 0.0


def _steps(stages: list[PlannedStage], facts: PlanFacts, request: CheckedRequest) -> int | None:
    given = request.T is not None or request.batch_size is not None
    if given and facts.design is not None:
        return facts.steps(stages[0].batch)
    counts = [stage.steps for stage in stages]
    if None in counts:
        return None
    return sum(filter(None, counts))
