"""What a fit says: ``plan_``, and the warning where ``tol`` was not reached."""

from __future__ import annotations

from typing import Any

from ..control import takes_all_rows
from ..inference import MOST_VARIABLES
from ..problems import Frame, Problem
from ..run.certain import SHARE, affordable
from ..run.coefficients import escape_words, variable_names
from ..run.prepare import reaches_tol
from ..run.request import CheckedRequest
from ._run import FitOutcome

SHOWN = 3  # outputs that are named one by one


def plan(
    estimator: Any,
    problem: Problem,
    frame: Frame,
    outcomes: list[FitOutcome],
    request: CheckedRequest,
    labels: list[str],
) -> str:
    """The paragraph for a practitioner."""
    if not any(outcome.stages for outcome in outcomes):
        return "The objective does not depend on the coefficients, or is least where it began."
    d = estimator.n_features_in_
    used = frame.scale.size
    if used == d:
        columns = f"{d} columns"
    else:
        columns = f"{d} columns ({used} with entries)"
    said = [
        f"{problem.loss.description}: {problem.n} rows, {columns}, l2 = {problem.l2:g}.",
        _scaling(frame),
    ]
    slowest = sorted(range(len(outcomes)), key=lambda j: -outcomes[j].passes)[:SHOWN]
    if len(outcomes) > 1:
        what = "Each output was a run of its own"
        if hasattr(estimator, "classes_"):
            what = "Each class was fitted against the rest"
        said.append(f"{what}: {len(outcomes)} runs that share what is known of X.")
    if len(outcomes) > SHOWN:
        said.append(f"The {SHOWN} that took most passes:")
    for j in sorted(slowest):
        label = f"[{labels[j]}] " if len(outcomes) > 1 else ""
        said.append(f"{label}{_course(outcomes[j], request)}")
    if estimator.tol == "auto" and not affordable(problem):
        most = f"{MOST_VARIABLES:,} variables, and NumPy's or SciPy's arrays"
        said.append(f'tol="auto" needs at most {most}: {request.tol:g} was used.')
    said.append(_direct(problem, outcomes))
    return " ".join(text for text in said if text)


def _scaling(frame: Frame) -> str:
    low = frame.scale.min()
    high = frame.scale.max()
    done = ["centred"] if frame.centre.any() else []
    if not low == high == 1.0:
        done.append(f"multiplied by {low:.3g} to {high:.3g}")
    if not done:
        return "The columns were taken as they are."
    return (
        f"The columns were {' and '.join(done)} inside, and the coefficients brought back; the "
        "objective is unchanged."
    )


def _course(outcome: FitOutcome, request: CheckedRequest) -> str:
    """What the run did, and how near it came."""
    parts = []
    for stage in outcome.stages:
        how = f"of batches of {stage.batch}"
        if takes_all_rows(stage.method):
            how = "on all rows, each the best on the plane of gradient and momentum"
        parts.append(f"{stage.steps} step{'s' * (stage.steps != 1)} {how}")
    if request.tol > 0:
        tol = f" (tol = {request.tol:g})"
    else:
        tol = ""
    if outcome.stopped:
        stopped = " It was stopped by a callback."
    else:
        stopped = ""
    return (
        f"Method {request.facts.name!r} took {', then '.join(parts) or 'no step'}: "
        f"{outcome.passes:.3g} passes over the data; the gradient's norm fell to "
        f"{outcome.ratio:.2g} of the first{tol}.{stopped}"
    )


def _direct(problem: Problem, outcomes: list[FitOutcome]) -> str:
    """Where a direct solver does the same in one go, say so."""
    if not problem.has_gram or sum(o.passes for o in outcomes) == 0.0:
        return ""
    solver = "LinearRegression()"
    if problem.l2 > 0:
        solver = f'Ridge(alpha={problem.n * problem.l2:g}, solver="cholesky")'
    return (
        f"With {problem.d} columns the matrix of a direct solver can be formed: {solver} gives the "
        "same coefficients."
    )


def doubt(outcomes: list[FitOutcome]) -> str:
    """That ``tol="auto"`` could not show what it promises; else ""."""
    for outcome in outcomes:
        found = outcome.certainty
        if found is not None and found.error > SHARE and not outcome.stopped:
            return (
                f"fit: tol='auto' could not show that every coefficient is within {SHARE} standard "
                f"errors of the minimiser (the bound is {found.error:.3g}); raise l2, or leave out "
                "columns that depend on one another."
            )
    return ""


def trouble(
    estimator: Any, outcomes: list[FitOutcome], request: CheckedRequest, labels: list[str]
) -> str:
    """Why ``tol`` was not reached and what to do, or that there is no minimiser; else ""."""
    name = type(estimator).__name__
    for j, outcome in enumerate(outcomes):
        if outcome.escape is not None:
            names = variable_names(estimator._seen.problems[j], estimator._column_names())
            which = f" [{labels[j]}]" if len(outcomes) > 1 else ""
            return f"{name}{which}: {escape_words(names, outcome.escape)}"
    missed = [j for j, o in enumerate(outcomes) if not (o.ratio <= request.tol or o.stopped)]
    if request.tol == 0.0 or not missed:
        return ""
    worst = max(missed, key=lambda j: outcomes[j].ratio)
    o = outcomes[worst]
    if len(outcomes) == 1:
        which = ""
    else:
        which = f" for {len(missed)} of {len(outcomes)} runs"
    return (
        f"{name}: the gradient's norm is {o.ratio:.2g} of the first{which} after "
        f"{o.passes:.3g} passes, not tol={request.tol:g}; {_remedy(o, request)}"
    )


def _remedy(outcome: FitOutcome, request: CheckedRequest) -> str:
    if not reaches_tol(request):
        return f"method {request.facts.name!r} has a fixed schedule: raise max_iter, or use 'auto'."
    if outcome.passes <= request.passes - 1.0:  # not even all of them were of use
        return (
            "no further progress can be measured in this precision: raise tol, scale y, centre "
            "columns that lie far from 0, or give X as float64."
        )
    return f"raise max_iter (now {request.passes}), tol or l2."
