"""What a fit says: ``plan_``, and the warning where ``tol`` was not reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problems import GRAM_COLUMNS, Constants, LeastSquares, LinearProblem
from ..problems.frame import Frame
from ..solve import GUARDED
from ._run import Ask, Outcome

SHOWN = 3  # outputs that are told one by one


def plan(
    estimator: Any,
    frame: Frame,
    problem: LinearProblem,
    outcomes: list[Outcome],
    ask: Ask,
    labels: list[str],
) -> str:
    """The paragraph for a practitioner."""
    c = problem.at_hand()
    said = [
        f"{_loss(problem)}: {problem.n} rows, {frame.scale.size} columns, l2 = {problem.l2:g}.",
        _scaling(frame),
        _conditioning(problem, c, ask),
    ]
    slowest = sorted(range(len(outcomes)), key=lambda j: -outcomes[j].passes)[:SHOWN]
    if len(outcomes) > 1:
        what = "Each output was a run of its own"
        if hasattr(estimator, "classes_"):
            what = "Each class was fitted against the rest"
        said.append(f"{what}: {len(outcomes)} runs that share the constants of X.")
    if len(outcomes) > SHOWN:
        said.append(f"The {SHOWN} that took most passes:")
    for j in sorted(slowest):
        label = f"[{labels[j]}] " if len(outcomes) > 1 else ""
        said.append(f"{label}{_course(problem, c, outcomes[j], ask)}")
    said.append(_direct(problem, c, sum(o.passes for o in outcomes)))
    return " ".join(text for text in said if text)


def _loss(problem: LinearProblem) -> str:
    return "Least squares" if isinstance(problem, LeastSquares) else "Logistic regression"


def _scaling(frame: Frame) -> str:
    low, high = frame.scale.min(), frame.scale.max()
    done = ["centred"] if frame.centre.any() else []
    if not low == high == 1.0:
        done.append(f"multiplied by {low:.3g} to {high:.3g}")
    if not done:
        return "The columns were taken as they are."
    return (
        f"The columns were {' and '.join(done)} inside, and the coefficients brought back; the "
        "objective is unchanged."
    )


def _conditioning(problem: LinearProblem, c: Constants, ask: Ask) -> str:
    if c.L <= 0.0:
        return "The objective does not depend on the coefficients: X is zero."
    how = "" if c.exact else " (an estimate)"
    text = f"There, the largest curvature is L = {c.L:.3g}{how}, of a row L_max = {c.L_max:.3g}"
    if c.mu > 0.0:
        return f"{text}, the least mu = {c.mu:.3g}: condition number {c.kappa:.3g}."
    if isinstance(problem, LeastSquares):
        why = (
            "columns depend on one another, or there are fewer rows than columns"
            if c.exact
            else "for all that is certain without the Gram matrix"
        )
        return (
            f"{text}, and mu = 0, {why}: the objective still converges, coef_ to one of its "
            "minimisers."
        )
    if problem.l2 == 0.0:
        return (
            f"{text}, and mu = 0, for l2 = 0: the objective converges, coef_ only if a minimiser "
            "exists."
        )
    assumed = "none is assumed" if ask.method in GUARDED else "L/T^2 is assumed, for T steps"
    return (
        f"{text}; no curvature is certain along the intercept, which l2 leaves alone, and "
        f"{assumed}."
    )


def _course(problem: LinearProblem, c: Constants, outcome: Outcome, ask: Ask) -> str:
    """What the run did, and how near it came."""
    steps, passes = int(outcome.history["iteration"][-1]), outcome.passes
    text = f"Method {ask.method!r} took {steps} steps, {passes:.3g} passes over the data"
    text += f"{_batches(problem, outcome, ask)} (and {c.reads} reads for the constants); "
    text += f"the gradient's norm fell to {outcome.ratio:.2g} of the first"
    text += f" (tol = {ask.tol:g})." if ask.tol > 0 else "."
    return text + (" It was stopped by a callback." if outcome.stopped else "")


def _batches(problem: LinearProblem, outcome: Outcome, ask: Ask) -> str:
    """The batch sizes between records, first and last, and how the last steps were taken."""
    rows = np.diff(outcome.history["passes"]) * problem.n
    steps = np.diff(outcome.history["iteration"])
    if not steps.size:
        return ""
    sizes = np.rint(rows / np.maximum(steps, 1)).astype(int)
    text = f", batches of {sizes[0]}"
    text += " rows" if sizes[0] == sizes[-1] else f" to {sizes[-1]} rows"
    whitened = ask.method in GUARDED and ask.tol > 0 and problem.d <= GRAM_COLUMNS
    if whitened and sizes[-1] == problem.n:
        text += ", those on all rows in variables in which the Hessian is about the identity"
    return text


def _direct(problem: LinearProblem, c: Constants, passes: float) -> str:
    """By how much the normal equations would have been cheaper, where their matrix is formed."""
    if not (isinstance(problem, LeastSquares) and problem.gram_fits) or passes == 0.0:
        return ""
    n, d = problem.n, problem.d
    matrix = n * d**2 + d**3 / 3.0
    solver = f'Ridge(alpha={n * problem.l2:g}, solver="cholesky")' if c.mu else "LinearRegression()"
    return (
        f"With {d} columns a direct solver is better: {solver} does about "
        f"1/{1.0 + 4.0 * n * d * passes / matrix:.2g} of the arithmetic, for the matrix that it "
        "solves with was formed here too, besides these passes."
    )


def trouble(
    estimator: Any,
    problem: Any,
    outcomes: list[Outcome],
    ask: Ask,
    labels: list[str],
) -> str:
    """Why ``tol`` was not reached and what to do, or that there is no minimiser; else ""."""
    name = type(estimator).__name__
    apart = [label for label, o in zip(labels, outcomes) if o.separated]
    if apart:
        return (
            f"{name}: l2=0 and the classes are separated by a hyperplane ({', '.join(apart)}), so "
            "no finite minimiser exists: the objective falls to 0 as coef_ grows without end, and "
            "probabilities tend to 0 and 1. Set l2 > 0, for example 1e-4."
        )
    missed = [j for j, o in enumerate(outcomes) if not (o.ratio <= ask.tol or o.stopped)]
    if ask.tol == 0.0 or not missed:
        return ""
    worst = max(missed, key=lambda j: outcomes[j].ratio)
    o = outcomes[worst]
    which = "" if len(outcomes) == 1 else f" for {len(missed)} of {len(outcomes)} runs"
    return (
        f"{name}: the gradient's norm is {o.ratio:.2g} of the first{which} after "
        f"{o.passes:.3g} passes, not tol={ask.tol:g}; {_remedy(problem, o, ask)}"
    )


def _remedy(problem: LinearProblem, outcome: Outcome, ask: Ask) -> str:
    if ask.method not in GUARDED:
        return f"method {ask.method!r} has a fixed schedule: raise max_iter, or use 'auto'."
    if outcome.passes <= ask.passes - 1.0:  # not even all of them were of use
        return (
            "no further progress can be measured in this precision: raise tol, scale y, or give X "
            "as float64."
        )
    curvature = "" if problem.at_hand().mu > 0 else " (some direction has no curvature)"
    return f"raise max_iter (now {ask.passes}), tol or l2{curvature}."
