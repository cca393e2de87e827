"""The words of a plan: a page for a terminal, for a reader who has data and not the theory."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..problems import Constants, Problem
from .forecast import Expectation, PlanFacts, PlannedStage
from .request import Request

if TYPE_CHECKING:
    from .plan import Plan

WIDTH = 78
# With more columns than this, nobody would form the matrix of all pairs of columns.
DIRECT_COLUMNS = 4096
# A row whose curvature is more than this many times the mean dominates the others.
DOMINATED = 100.0
MARKS = {"cheapest": "fewest passes", "recommended": "recommended", "knee": "full speed"}


def problem(p: Problem) -> str:
    intercept = ", an intercept" if p.intercept else ""
    return f"{p.loss.description}: {p.n:,} rows, {p.d:,} columns{intercept}, l2 = {p.l2:g}"


def how(c: Constants | None) -> str:
    """How the curvature constants were computed."""
    if c is None:
        return "not known: this loss has no bound on its curvature"
    kind = "exact" if c.exact else "estimated from above (Lanczos); the smallest is l2"
    return f"{kind}; the data were read {c.reads} times"


# ---------------------------------------------------------------- the page


def page(plan: Plan) -> str:
    parts = [plan.problem, "\n".join(_run(plan)), _filled(plan.words)]
    if _diverges(plan):
        parts[1:] = parts[:0:-1]  # the words, which begin with the divergence, come first
    if plan.recommended is not None:
        parts.append("\n".join(_costs(plan)))
    elif plan.sweep:
        parts.append(_filled(_too_dear(plan)))
    if plan.constants is not None and plan.mu is not None:
        parts.append("\n".join(_data(plan, plan.constants, plan.mu)))
    return "\n\n".join(parts)


def _diverges(plan: Plan) -> bool:
    """Is it known that the run diverges?"""
    outlook = plan.expectation
    return outlook is not None and outlook.diverges(plan.batch_size, plan.n)


def _filled(text: str, first: str = "", then: str = "") -> str:
    """A paragraph with ``first`` before its first line and ``then`` before each other line."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=then)


def _run(plan: Plan) -> Iterator[str]:
    """The stages, one a line, and how far they lead."""
    yield "What a run with these arguments does:"
    for place, stage in enumerate(plan.stages, 1):
        yield _filled(f"{place}. {_stage(stage, plan)}", "  ", "     ")
    spent = "the number of passes over the data is not known in advance"
    if plan.passes is not None:
        amount = _count(plan.passes)
        spent = f"{_nearly(plan)}{amount} pass{'es' * (amount != '1')} over the data"
    stops = f"It stops when the gradient's norm is {plan.tol:g} times the first: "
    yield _filled(f"{stops if plan.tol > 0 else 'In all '}{spent}.", "  ", "  ")
    if plan.certified_error is not None and not _diverges(plan):
        certified = (
            f"Certified: after {plan.T or plan.stages[0].steps:,} steps at b = "
            f"{plan.batch_size:,} the error is at most {plan.certified_error:.2g} in root mean "
            "square."
        )
        yield _filled(certified, "  ", "  ")


def _stage(stage: PlannedStage, plan: Plan) -> str:
    count = "steps" if stage.steps is None else f"{stage.steps:,} step{'s' * (stage.steps != 1)}"
    if stage.on_all_rows:
        count = count if stage.steps is None else _nearly(plan) + count
        return f"plane: {count} on all {plan.n:,} rows, each with the best step size and momentum"
    rows = f"all {plan.n:,} rows" if stage.batch == plan.n else f"batches of {stage.batch:,} rows"
    more = " or more" if not stage.certain and len(plan.stages) > 1 else ""
    line = f"{stage.method}: {count}{more} in {rows}"
    if stage.alpha is not None:
        line += f"; step {stage.alpha:.3g}, momentum {stage.beta:.4g}"
        line += f", lookahead {stage.theta:.4g}" if stage.theta else ""
    return line


def _nearly(plan: Plan) -> str:
    """How sure the forecast is; a trial from zero takes longer than from where batches led."""
    if len(plan.stages) > 1:
        return "up to about "
    return "" if plan.stages[0].certain else "about "


def _too_dear(plan: Plan) -> str:
    cheapest = next(x for x in plan.sweep if x.batch_size == plan.cheapest)
    return (
        "No batch size is recommended: with T or a batch size given, steps are taken in the "
        f"columns as they are, and even the cheapest batch ({plan.cheapest:,} rows) would need "
        f"{_count(cheapest.evaluations / plan.n)} passes to relative error {plan.accuracy:g}. "
        "Columns of very different size, or columns that nearly depend on one another, are the "
        "cause: standardise the columns first, or leave T and the batch size out."
    )


def _costs(plan: Plan) -> Iterator[str]:
    """The sweep, thinned to the sizes that stand out and a few between."""
    yield _filled(
        f"Cost of a fixed batch size with auto: steps and passes to relative error "
        f"{plan.accuracy:g} (recommended: few passes, and then few steps; full speed: larger "
        "batches save few steps):"
    )
    yield f"  {'rows':>11}  {'steps':>11}  {'passes':>8}"
    chosen = {plan.sweep[-1].batch_size, plan.cheapest, plan.recommended, plan.knee}
    chosen |= {point.batch_size for point in plan.sweep[:: max(1, len(plan.sweep) // 7)]}
    for x in plan.sweep:
        if x.batch_size in chosen:
            marks = [mark for name, mark in MARKS.items() if getattr(plan, name) == x.batch_size]
            passes = _count(x.evaluations / plan.n)
            line = f"  {x.batch_size:>11,}  {_count(x.steps):>11}  {passes:>8}  {', '.join(marks)}"
            yield line.rstrip()


def _count(number: float) -> str:
    """>>> _count(12345), _count(0.25), _count(3.5e9)
    ('12,345', '0.25', '3.5e+09')
    """
    return f"{number:,.0f}" if 9.95 <= number < 1e9 else f"{number:.2g}"


def _data(plan: Plan, c: Constants, mu: float) -> Iterator[str]:
    """The constants of the data, and from which batch on the paper's method is stable."""
    least = f"{mu:.3g}{'' if c.mu > 0 else ' (assumed)'}"
    sizes = {
        "exactly": plan.exact_batch,
        "certified": plan.certified_batch,
        "by the paper's theorem": plan.paper_batch,
    }
    stable = ", ".join(
        f"{'no batch' if b > plan.n else f'{math.ceil(round(b, 6)):,} rows'} {who}"
        for who, b in sizes.items()
        if b is not None
    )
    yield "The data:"
    for name, text in {
        "curvature": f"largest {c.L:.4g}, smallest {least}: ratio {c.L / mu:.4g} ({plan.how})",
        "steepest row": f"{_steepest(c):.3g} times as curved as the mean of all rows",
        "noise": f"norm of a single row's gradient at the minimum: {math.sqrt(plan.chi2):.3g}",
        "heavy ball": f"the paper's shb is stable from {stable}",
    }.items():
        yield textwrap.indent(_filled(f"{name:<14}{text}", then=" " * 14), "  ")


def _steepest(c: Constants) -> float:
    return c.L_max / c.L if c.L > 0 else 1.0


# ---------------------------------------------------------------- the reasons


def reasons(plan: Plan, p: Problem, request: Request, facts: PlanFacts) -> Iterator[str]:
    """The sentences of the plan: what to expect, why, and what is odd about the data."""
    c, first, trial = facts.constants, plan.stages[0], facts.trial
    if c is not None and c.L <= 0.0:
        yield "Every row is zero and l2 = 0: f does not depend on w."
        return
    if plan.expectation is not None and first.steps is not None:
        yield from expected(
            plan.expectation, first.method, first.batch, p.n, first.steps, plan.accuracy
        )
    yield from _why(plan, p, request)
    if not (trial.whole or all(stage.certain for stage in plan.stages)):
        yield f"The number of steps comes from a trial on {trial.problem.n:,} of the rows."
    if p.n == 1:
        yield "There is one row only, so every batch is the full batch."
    if c is not None and c.mu <= 0.0:
        yield _singular(p, facts)
    if c is not None and _steepest(c) > DOMINATED:
        yield (
            f"The steepest row is {_steepest(c):.3g} times as curved as the mean: a few rows "
            "dominate, which small batches often miss. Scaling rows or columns would help more "
            "than any method."
        )
    if plan.sweep and plan.expectation is None:
        yield from _about_auto(plan, request, facts)
    if not trial.met:
        yield (
            "The trial did not reach its tolerance: there may be no finite minimum (classes that a "
            f"plane separates, without l2), or columns that depend on one another; {_more_l2(p)} "
            "would help."
        )
    if _direct_is_faster(plan, p):
        name = "the normal equations" if p.loss.quadratic else "Newton's method"
        yield f"With {p.d:,} columns a direct solver would be faster: {name}."
    if not (p.loss.quadratic or first.on_all_rows):
        guard = ", and a guard goes back when f grows" if plan.expectation is None else ""
        yield (
            f"For the {p.loss.name} loss nothing is proved for batches: steps are chosen as for "
            f"least squares of the same curvature{guard}."
        )


def expected(
    found: Expectation, name: str, b: int, n: int, T: int, accuracy: float
) -> Iterator[str]:
    """What is expected of the table of a method, stability first."""
    if found.by == "none":
        yield f"What {name} will do with batches of {b:,} rows is not known beforehand."
        return
    where = " near the minimum" if found.by == "local" else ""
    rows, critical = found.certified_rows, found.critical
    if critical == math.inf:
        yield f"{name} diverges{where} at every batch size: its step is too long for all rows."
    elif critical is not None:
        least = min(n, math.floor(critical) + 1)
        if least == 1:
            yield f"{name} is stable{where} at every batch size."
        elif b >= least:
            yield f"{name} diverges{where} below {least:,} rows; b = {b:,} is stable."
        else:
            yield (
                f"{name} diverges{where} below {least:,} rows, and b = {b:,}: take at least "
                f"{least:,} rows, or the method auto."
            )
    elif rows is not None and rows > n:
        yield f"Nothing is certified of {name}'s longest step."
    elif rows is not None and rows > b:
        yield f"{name}'s longest step is certified to be stable from {math.ceil(rows):,} rows on."
    gap, certified = found.gap, found.by == "certified"
    if gap is None or (gap > 1.0 and certified):
        return
    if gap > 1.0:
        size = "beyond what a double holds" if math.isinf(gap) else f"{gap:.2g} times"
        yield f"In expectation f - f* grows {size} in {T:,} steps."
        return
    so = "is certified to be at most" if certified else "is expected to be"
    text = f"After {T:,} steps f - f* {so} {gap:.2g} of what it is at the start"
    if found.steps is not None:
        yield f"{text}; T = {T} is enough: {accuracy:g} is reached after {found.steps:,} steps."
    elif gap <= accuracy:
        yield f"{text}; T = {T} is enough."
    else:
        less = " the batch" if b < n else " l2"
        yield f"{text}, above the {accuracy:g} asked for; raise T or{less}."


def _why(plan: Plan, p: Problem, request: Request) -> Iterator[str]:
    """Why the run has these stages and this batch."""
    b, c = plan.batch_size, plan.constants
    given = request.rows is not None
    if not request.open_ended or request.facts.all_rows:
        if given or b == p.n:
            return
        if p.loss.curvature is None or (c is not None and c.mu == 0.0):
            yield "A batch has half of the rows, because the curvature of f is not known."
        else:
            yield (
                f"Batches of {b:,} rows are the smallest at which the full speed of momentum is "
                "certified."
            )
    elif given and b < p.n:
        yield (
            f"The run begins with the given batch of {b:,} rows, enlarges the batch when noise "
            "prevents progress, and ends with all rows."
        )
    elif not plan.stages[0].on_all_rows:
        yield (
            f"The data do not fit into memory, so one pass is made in batches of {b:,} rows, the "
            "smallest at which momentum works at full speed. Then full-batch steps follow, with "
            "the best step and momentum computed instead of chosen."
        )
    elif p.loss.curvature is None:
        yield (
            f"The {p.loss.name} loss has no bound on its curvature, so no fixed step size is safe: "
            "all rows are used, and the best step is computed each time."
        )
    elif p.has_gram:
        yield (
            "The products of all pairs of columns are computed once, after which all rows cost no "
            "more than a few: batches would save nothing."
        )
    else:
        yield "The data fit into memory, where full-batch steps end sooner than batches would."


def _more_l2(p: Problem) -> str:
    return "a little l2" if p.l2 == 0.0 else f"more l2 than {p.l2:g}"


def _singular(p: Problem, facts: PlanFacts) -> str:
    """What the table of costs assumes where some direction may have no curvature."""
    assert facts.design is not None
    mu = facts.design.mu
    if mu > facts.accuracy * facts.design.L:
        return (
            f"Without a penalty on every variable the {p.loss.name} loss may have less "
            f"curvature elsewhere than at its minimum; the table uses {mu:.3g}, the "
            "curvature at the minimum."
        )
    if p.loss.multi_output and p.intercept and p.l2 > 0.0:
        return (
            "Only differences of intercepts matter, so f does not change along their sum, and "
            f"no run moves it; the table is for curvatures above {mu:.3g}."
        )
    return (
        "The problem looks singular (columns that depend on one another, fewer rows than columns, "
        "or no l2): f converges, but w may not, and the table ignores curvatures below "
        f"{mu:.3g}. {_more_l2(p).capitalize()} would help."
    )


def _about_auto(plan: Plan, request: Request, facts: PlanFacts) -> Iterator[str]:
    """What the given batch, or the batch for T steps, means for auto, and whether T is enough."""
    b, knee, T = plan.batch_size, plan.knee, plan.T
    if (T is not None or request.rows is not None) and knee is not None:
        if b == plan.n:
            yield "With all rows in each batch there is no sampling noise."
        elif facts.noise_steps(b) > facts.bias_steps(b):
            yield (
                f"At {b:,} rows the noise of the data dominates: the error falls as 1/T with every "
                "method, and a batch twice as large takes half the steps."
            )
        elif b >= knee:
            yield f"At {b:,} rows momentum is at full speed: larger batches save few steps."
        else:
            yield (
                f"At {b:,} rows the noise of a batch limits momentum: up to {knee:,} rows a larger "
                "batch saves steps."
            )
    if T is None or plan.stages[0].on_all_rows or plan.steps is None:
        return
    if plan.steps <= T:
        yield f"T = {T} is enough: about {plan.steps:,} steps are needed."
    else:
        yield (
            f"T = {T} is too small: about {plan.steps:,} steps are needed for a relative "
            f"error of {plan.accuracy:g}; raise T, l2 or the batch size, or accept a larger error."
        )


def _direct_is_faster(plan: Plan, p: Problem) -> bool:
    """Would it be cheaper to form a d x d matrix and solve with it?"""
    many = p.d > DIRECT_COLUMNS or p.loss.multi_output  # of several outputs, a matrix of (d K)^2
    in_batches = not plan.stages[0].on_all_rows and len(plan.stages) == 1
    at_once = p.has_gram and not in_batches  # the run solves directly
    if many or at_once or p.loss.curvature is None or plan.passes is None:
        return False
    touched = (plan.steps or 0) * plan.batch_size if in_batches else plan.passes * p.n
    solves = 1.0 if p.loss.quadratic else 10.0
    return solves * (p.n * p.d**2 + p.d**3 / 3.0) <= 4.0 * touched * p.d
