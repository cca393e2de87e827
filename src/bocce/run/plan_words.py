"""A plan in words: a page for a terminal, for somebody who has data and not the theory."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from ..control import Controller
from ..problems import Constants, Problem
from . import expectation
from .forecast import PlanFacts, PlannedStage, Trial
from .request import Request

if TYPE_CHECKING:
    from .plan import Plan

WIDTH = 78
DIRECT_COLUMNS = 4096  # beyond, nobody would form a matrix of all pairs of columns
DOMINATED = 100.0  # the steepest row over the mean
MARKS = {"cheapest": "fewest passes", "recommended": "recommended", "knee": "full speed"}


def problem(p: Problem) -> str:
    intercept = ", an intercept" if p.intercept else ""
    return f"{p.loss.description}: {p.n:,} rows, {p.d:,} columns{intercept}, l2 = {p.l2:g}"


def how(c: Constants | None) -> str:
    if c is None:
        return "not known: this loss has no bound on its curvature"
    kind = "exact" if c.exact else "estimated from above (Lanczos); the smallest is l2"
    return f"{kind}; the data were read {c.reads} times"


# ---------------------------------------------------------------- the page


def page(plan: Plan) -> str:
    parts = [plan.problem, _what(plan), _filled(plan.words)]
    if _hopeless(plan):
        parts[1:] = parts[:0:-1]  # that the run diverges is said first
    if plan.sweep:
        parts += [_costs(plan), _data(plan)]
    return "\n\n".join(parts)


def _hopeless(plan: Plan) -> bool:
    """Is it known that the run diverges?"""
    outlook = plan.expectation
    return outlook is not None and outlook.diverges(plan.batch_size, plan.n)


def _filled(text: str, first: str = "", then: str = "") -> str:
    """A paragraph, its first line and its other lines indented by these."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=then)


def _what(plan: Plan) -> str:
    """The stages, one a line, and how far they lead."""
    lines = ["What a run with these arguments does:"]
    for place, stage in enumerate(plan.stages, 1):
        lines.append(_filled(f"{place}. {_stage(stage, plan)}", "  ", "     "))
    lines.append(_filled(f"{_goal(plan)}.", "  ", "  "))
    if plan.certified_error is not None and not _hopeless(plan):
        told = (
            f"Certified: after {plan.T or plan.stages[0].steps:,} steps at b = "
            f"{plan.batch_size:,} the error is at most {plan.certified_error:.2g} in root mean "
            "square."
        )
        lines.append(_filled(told, "  ", "  "))
    return "\n".join(lines)


def _stage(stage: PlannedStage, plan: Plan) -> str:
    count = "steps" if stage.steps is None else f"{stage.steps:,} step{'s' * (stage.steps != 1)}"
    if stage.on_all_rows:
        count = "steps" if stage.steps is None else _nearly(plan) + count
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


def _goal(plan: Plan) -> str:
    spent = "the number of passes over the data is not known in advance"
    if plan.passes is not None:
        amount = f"{plan.passes:,.0f}" if plan.passes >= 9.95 else f"{plan.passes:.2g}"
        spent = f"{_nearly(plan)}{amount} pass{'es' * (amount != '1')} over the data"
    if plan.tol > 0:
        return f"It stops when the gradient's norm is {plan.tol:g} times the first: {spent}"
    return f"In all {spent}"


def _costs(plan: Plan) -> str:
    """The sweep, thinned to the sizes that stand out and a few between."""
    if plan.recommended is None:
        cheapest = next(x for x in plan.sweep if x.batch_size == plan.cheapest)
        return _filled(
            "No batch size is recommended: with T or a batch size given, steps are taken in the "
            f"columns as they are, and even the cheapest batch ({plan.cheapest:,} rows) would need "
            f"{_count(cheapest.evaluations / plan.n)} passes to relative error {plan.accuracy:g}. "
            "Columns of very different size, or columns that nearly depend on one another, are the "
            "cause: standardise the columns first, or leave T and the batch size out."
        )
    chosen = {plan.sweep[-1].batch_size, plan.cheapest, plan.recommended, plan.knee}
    chosen |= {point.batch_size for point in plan.sweep[:: max(1, len(plan.sweep) // 7)]}
    head = (
        f"Cost of a fixed batch size with auto: steps and passes to relative error "
        f"{plan.accuracy:g} (recommended: few passes, and then few steps; full speed: larger "
        "batches save few steps):"
    )
    lines = [_filled(head), f"  {'rows':>11}  {'steps':>11}  {'passes':>8}"]
    for x in plan.sweep:
        if x.batch_size in chosen:
            marks = [mark for name, mark in MARKS.items() if getattr(plan, name) == x.batch_size]
            cells = (
                f"{x.batch_size:>11,}  {_count(x.steps):>11}  {_count(x.evaluations / plan.n):>8}"
            )
            lines.append(f"  {cells}  {', '.join(marks)}".rstrip())
    return "\n".join(lines)


def _count(number: float) -> str:
    """>>> _count(12345), _count(0.25), _count(3.5e9)
    ('12,345', '0.25', '3.5e+09')
    """
    return f"{number:,.0f}" if 9.95 <= number < 1e9 else f"{number:.2g}"


def _data(plan: Plan) -> str:
    c = plan.constants
    assert c is not None
    assert plan.mu is not None
    least = f"{plan.mu:.3g}" if c.mu > 0 else f"{plan.mu:.3g} (assumed)"
    rows = {
        "curvature": f"largest {c.L:.4g}, smallest {least}: ratio {c.L / plan.mu:.4g} ({plan.how})",
        "steepest row": f"{_ratio(c):.3g} times as curved as the mean of all rows",
        "noise": f"norm of a single row's gradient at the minimum: {math.sqrt(plan.chi2):.3g}",
        "heavy ball": _stable(plan),
    }
    lines = (
        textwrap.fill(f"{k:<14}{v}", WIDTH, subsequent_indent=" " * 14) for k, v in rows.items()
    )
    return "\n".join(["The data:", *(textwrap.indent(line, "  ") for line in lines)])


def _stable(plan: Plan) -> str:
    """From which batch on the paper's method does not diverge, by three authorities."""
    told = {
        "exactly": plan.exact_batch,
        "certified": plan.certified_batch,
        "by the paper's theorem": plan.paper_batch,
    }
    rows = {
        who: "no batch" if math.isinf(b) or b > plan.n else f"{math.ceil(round(b, 6)):,} rows"
        for who, b in told.items()
        if b is not None
    }
    return f"the paper's shb is stable from {', '.join(f'{b} {who}' for who, b in rows.items())}"


def _ratio(c: Constants) -> float:
    return c.L_max / c.L if c.L > 0 else 1.0


# ---------------------------------------------------------------- the paragraph


def paragraph(
    plan: Plan, p: Problem, request: Request, controller: Controller, known: PlanFacts, tried: Trial
) -> str:
    """Why, and what is odd about the data."""
    c = known.constants
    if c is not None and c.L <= 0.0:
        return "Every row is zero and l2 = 0: f does not depend on w."
    said = [_expected(plan, controller), _why(plan, p, request, controller)]
    if not (tried.whole or all(stage.certain for stage in plan.stages)):
        said.append(f"The number of steps comes from a trial on {tried.problem.n:,} of the rows.")
    if p.n == 1:
        said.append("There is one row only, so every batch is the full batch.")
    if c is not None:
        said += [_flat(p, c, known), _dominated(c)]
        if plan.expectation is None:  # what follows is about auto
            said += [_regime(plan, request, known), _enough(plan)]
    if not tried.met:
        said.append(
            "The trial did not reach its tolerance: there may be no finite minimum (classes that a "
            f"plane separates, without l2), or columns that depend on one another; {_more_l2(p)} "
            "would help."
        )
    said += [_direct(plan, p), _not_proved(plan, p)]
    return " ".join(text for text in said if text)


def _more_l2(p: Problem) -> str:
    return "a little l2" if p.l2 == 0.0 else f"more l2 than {p.l2:g}"


def _expected(plan: Plan, controller: Controller) -> str:
    """What the method's own table does."""
    if plan.expectation is None:
        return ""
    stage = controller.current()
    sizes = (stage.batch, plan.n, stage.steps.T, plan.accuracy)
    return expectation.words(plan.expectation, stage.name, *sizes)


def _why(plan: Plan, p: Problem, request: Request, controller: Controller) -> str:
    b, c = plan.batch_size, plan.constants
    if not controller.open_ended:
        if request.rows is not None or b == p.n:
            return ""
        if p.loss.curvature is None or (c is not None and c.mu == 0.0):
            return "A batch has half of the rows, because the curvature of f is not known."
        return (
            f"Batches of {b:,} rows are the smallest at which the full speed of momentum is "
            "certified."
        )
    if request.rows is not None and b < p.n:
        return (
            f"The run begins with the given batch of {b:,} rows, enlarges the batch when noise "
            "prevents progress, and ends with all rows."
        )
    if not plan.stages[0].on_all_rows:
        return (
            f"The data do not fit into memory, so one pass is made in batches of {b:,} rows, the "
            "smallest at which momentum works at full speed. Then full-batch steps follow, with "
            "the best step and momentum computed instead of chosen."
        )
    if p.loss.curvature is None:
        return (
            f"The {p.loss.name} loss has no bound on its curvature, so no fixed step size is safe: "
            "all rows are used, and the best step is computed each time."
        )
    if p.has_gram:
        return (
            "The products of all pairs of columns are computed once, after which all rows cost no "
            "more than a few: batches would save nothing."
        )
    return "The data fit into memory, where full-batch steps end sooner than batches would."


def _flat(p: Problem, c: Constants, known: PlanFacts) -> str:
    """What the table assumes where some direction may have no curvature."""
    if c.mu > 0.0 or known.mu is None:
        return ""
    if known.mu > known.accuracy * known.L:
        return (
            f"Without a penalty on every variable the {p.loss.name} loss may have less "
            f"curvature elsewhere than at its minimum; the table uses {known.mu:.3g}, the "
            "curvature at the minimum."
        )
    if p.loss.multi_output and p.intercept and p.l2 > 0.0:
        return (
            "Only differences of intercepts matter, so f does not change along their sum, and "
            f"no run moves it; the table is for curvatures above {known.mu:.3g}."
        )
    return (
        "The problem looks singular (columns that depend on one another, fewer rows than columns, "
        "or no l2): f converges, but w may not, and the table ignores curvatures below "
        f"{known.mu:.3g}. {_more_l2(p).capitalize()} would help."
    )


def _dominated(c: Constants) -> str:
    if _ratio(c) <= DOMINATED:
        return ""
    return (
        f"The steepest row is {_ratio(c):.3g} times as curved as the mean: a few rows dominate, "
        "which small batches often miss. Scaling rows or columns would help more than any method."
    )


def _regime(plan: Plan, request: Request, known: PlanFacts) -> str:
    """What the batch that was given, or is taken for T steps, means."""
    b, knee = plan.batch_size, plan.knee
    if (request.T is None and request.rows is None) or knee is None:
        return ""
    if b == known.n:
        return "With all rows in each batch there is no sampling noise."
    if known.noise_steps(b) > known.bias_steps(b):
        return (
            f"At {b:,} rows the noise of the data dominates: the error falls as 1/T with every "
            "method, and a batch twice as large takes half the steps."
        )
    if b >= knee:
        return f"At {b:,} rows momentum is at full speed: larger batches save few steps."
    return (
        f"At {b:,} rows the noise of a batch limits momentum: up to {knee:,} rows a larger "
        "batch saves steps."
    )


def _enough(plan: Plan) -> str:
    if plan.T is None or plan.stages[0].on_all_rows or plan.steps is None:
        return ""
    if plan.steps <= plan.T:
        return f"T = {plan.T} is enough: about {plan.steps:,} steps are needed."
    return (
        f"T = {plan.T} is too small: about {plan.steps:,} steps are needed for a relative "
        f"error of {plan.accuracy:g}; raise T, l2 or the batch size, or accept a larger error."
    )


def _direct(plan: Plan, p: Problem) -> str:
    """Would forming a d x d matrix and solving be cheaper?"""
    many = p.d > DIRECT_COLUMNS or p.loss.multi_output  # of several outputs, a matrix of (d K)^2
    if many or p.loss.curvature is None or plan.passes is None:
        return ""
    in_batches = not plan.stages[0].on_all_rows and len(plan.stages) == 1
    if p.has_gram and not in_batches:
        return ""  # that is what the run does
    touched = (plan.steps or 0) * plan.batch_size if in_batches else plan.passes * p.n
    solves = 1.0 if p.loss.quadratic else 10.0
    if solves * (p.n * p.d**2 + p.d**3 / 3.0) > 4.0 * touched * p.d:
        return ""
    name = "the normal equations" if p.loss.quadratic else "Newton's method"
    return f"With {p.d:,} columns a direct solver would be faster: {name}."


def _not_proved(plan: Plan, p: Problem) -> str:
    if p.loss.quadratic or plan.stages[0].on_all_rows:
        return ""
    guard = ", and a guard goes back when f grows" if plan.expectation is None else ""
    return (
        f"For the {p.loss.name} loss nothing is proved for batches: steps are chosen as for least "
        f"squares of the same curvature{guard}."
    )
