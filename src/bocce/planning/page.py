"""The page of a plan for a terminal, for a reader who has data and not the theory."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import messages
from ..messages import said
from ..problems import Constants, Problem
from .forecast import PlannedStage
from .reasons import steepest

if TYPE_CHECKING:
    from .plan import Plan

WIDTH = 78
MARKS = {"cheapest": "fewest passes", "recommended": "recommended", "knee": "full speed"}


def problem(p: Problem) -> str:
    intercept = ", an intercept" if p.intercept else ""
    return f"{p.loss.description}: {p.n:,} rows, {p.d:,} columns{intercept}, l2 = {p.l2:g}"


def how(c: Constants | None) -> str:
    """How the curvature constants were computed."""
    if c is None:
        return "not known: this loss has no bound on its curvature"
    if c.exact:
        kind = "exact"
    else:
        kind = "estimated from above (Lanczos); the smallest is l2"
    return f"{kind}; the data were read {c.reads} times"


# ---------------------------------------------------------------- the page


def page(plan: Plan) -> str:
    parts = [plan.problem, "\n".join(_run(plan)), _filled(plan.words)]
    if _diverges(plan):
        parts[1:] = parts[:0:-1]  # the words, which begin with the divergence, come first
    if plan.recommended is not None:
        parts.append("\n".join(_costs(plan)))
    elif plan.sweep:
        parts.append(_filled(messages.NO_BATCH.format(f=PageFacts(plan))))
    if plan.useful is not None:
        parts.append(_filled(str(plan.useful)))
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
    facts = PageFacts(plan)
    for sentence in said(messages.PROSPECTS, facts):
        yield _filled(sentence, "  ", "  ")


class PageFacts:
    """The facts of the sentences on the page of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tol = plan.tol
        self.accuracy = plan.accuracy
        self.batch_size = plan.batch_size
        self.cheapest = plan.cheapest
        self.error = plan.certified_error
        self.certified = plan.certified_error is not None and not _diverges(plan)
        self.T = plan.T or plan.stages[0].steps

    @property
    def spent(self) -> str:
        """The passes of the run."""
        if self.plan.passes is None:
            return "the number of passes over the data is not known in advance"
        amount = _count(self.plan.passes)
        return f"{_nearly(self.plan)}{amount} pass{'es' * (amount != '1')} over the data"

    @property
    def cheapest_passes(self) -> str:
        """The passes that the cheapest batch size needs."""
        evaluations = {point.batch_size: point.evaluations for point in self.plan.sweep}
        return _count(evaluations[self.cheapest] / self.plan.n)


def _stage(stage: PlannedStage, plan: Plan) -> str:
    count = "steps"
    if stage.steps is not None:
        count = f"{stage.steps:,} step{'s' * (stage.steps != 1)}"
    if stage.on_all_rows:
        about = "" if stage.steps is None else _nearly(plan)
        rows = f"all {plan.n:,} rows, each with the best step size and momentum"
        return f"plane: {about}{count} on {rows}"
    rows = f"all {plan.n:,} rows" if stage.batch == plan.n else f"batches of {stage.batch:,} rows"
    if not stage.certain and len(plan.stages) > 1:
        count += " or more"
    line = f"{stage.method}: {count} in {rows}"
    if stage.alpha is not None:
        line += f"; step {stage.alpha:.3g}, momentum {stage.beta:.4g}"
    if stage.theta:
        line += f", lookahead {stage.theta:.4g}"
    return line


def _nearly(plan: Plan) -> str:
    """How sure the forecast is; a trial from zero takes longer than from where batches led."""
    if len(plan.stages) > 1:
        return "up to about "
    if plan.stages[0].certain:
        return ""
    return "about "


def _costs(plan: Plan) -> Iterator[str]:
    """The sweep, thinned to the sizes that stand out and a few between."""
    yield _filled(messages.COSTS.format(f=PageFacts(plan)))
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
    if 9.95 <= number < 1e9:
        return f"{number:,.0f}"
    return f"{number:.2g}"


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
        "steepest row": f"{steepest(c):.3g} times as curved as the mean of all rows",
        "noise": f"norm of a single row's gradient at the minimum: {math.sqrt(plan.chi2):.3g}",
        "heavy ball": f"the paper's shb is stable from {stable}",
    }.items():
        yield textwrap.indent(_filled(f"{name:<14}{text}", then=" " * 14), "  ")
