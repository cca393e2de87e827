"""``tol="auto"``: a fit stops when its coefficients are certain.

The bound of ``bocce.inference`` is computed where a run ends, and the run goes on with a smaller
tolerance until no coefficient is farther from the minimiser than a hundredth of its standard error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..inference import MOST_VARIABLES, infer
from ..problems import Problem
from ..rows import Array
from .coefficients import escape_words, variable_names
from .descend import Descent, descend
from .result import Result

SHARE = 0.01  # A coefficient may be wrong by this share of its standard error.
# An error below this share of the coefficient is rounding, whatever the noise.
ROUNDED_COEFFICIENT = 1e-10
ROUNDS = 6  # The most runs, each with a smaller tolerance.
LEAST_TOL = 1e-15  # A smaller tolerance is below rounding.


def affordable(p: Problem) -> bool:
    """Is there room for a matrix of all pairs of variables, on this machine?"""
    return math.prod(p.shape) <= MOST_VARIABLES and not p.rows.foreign


@dataclass(frozen=True)
class Certainty:
    """How sure the coefficients of a fit are.

    ``error`` is the largest proved distance of a coefficient from the minimiser, in standard
    errors. Coefficients that the data and the penalty do not determine have no minimiser to be
    near to, and do not count. ``proved`` is the number of the others. ``escape`` is the direction
    along which f has no minimiser, if any.
    """

    error: float
    proved: int
    escape: Array | None


def certainty(p: Problem, w: Array, count: float | None = None) -> Certainty:
    """The certainty of a fit, by the bound of ``bocce.inference``."""
    found = infer(p, w, "sandwich" if p.loss.model == "none" else "model", count)
    proved = np.isfinite(found.error)
    if not proved.any() and (found.escape is None or found.determined.any()):
        return Certainty(math.inf, 0, found.escape)
    error = np.where(found.error <= ROUNDED_COEFFICIENT * np.abs(w), 0.0, found.error)[proved]
    # the penalty may determine what the data alone do not
    penalised = np.sqrt(found.covariance.diagonal().clip(0.0)).reshape(w.shape)
    noise = np.where(found.determined, found.standard_errors, penalised)[proved]
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = float(np.nan_to_num(error / noise, nan=0.0).max(initial=0.0))
    return Certainty(largest, int(proved.sum()), found.escape)


def until_certain(done: Descent) -> Descent:
    """Run on from where a run ended until no coefficient's error is above a hundredth of its
    standard error, where that was asked for and can be told."""
    run = done.run
    if not (run.request.certain and affordable(run.p)):
        return done
    tol = run.request.tol
    for left in reversed(range(ROUNDS)):
        found = certainty(run.p, done.w, run.count)
        done = replace(done, certainty=found)
        if found.error <= SHARE or not done.met or not left:
            break
        tol = max(LEAST_TOL, tol * min(0.1, 0.5 * SHARE / found.error))
        more = descend(run.from_end(done.w, tol, done.first))
        if not more.met and not more.stopped and more.norm > done.norm:
            break  # near infinity, rounding may lead a run away from where it began
        done = done.then(more)
    return done


def worded(done: Descent) -> Result:
    """The result of a run, whose message says what is certain, and where f has no minimiser."""
    result = done.result
    request = done.run.request
    if not request.certain:
        result = _with_escape(done)
    elif done.certainty is None:
        why = f" tol='auto' needs at most {MOST_VARIABLES:,} variables in memory or in parts: "
        result = replace(result, message=f"{result.message}{why}{request.tol:g} was used.")
    else:
        result = _judged(done, done.certainty)
    if done.run.p.adapts:
        result = replace(result, message=f"{result.message} {result.loss!r} suits the residuals.")
    return result


def _with_escape(done: Descent) -> Result:
    result = done.result
    if done.run.request.tol == 0.0 or result.status == "diverged" or done.escape is None:
        return result
    return replace(result, message=f"{result.message} {_escape_said(done, done.escape)}")


def _judged(done: Descent, found: Certainty) -> Result:
    """The result of ``tol="auto"``, with what is certain about it."""
    result = done.result
    within = f"within {SHARE:g} standard errors of the minimiser"
    if found.escape is not None:
        said = f" {_escape_said(done, found.escape)}"
        if found.proved and found.error <= SHARE:
            said += f" Every coefficient that the data determine is {within} of the rows that stay"
            said += " (proved)."
        return replace(result, status="finished", message=result.message + said)
    if result.status != "converged":
        return result
    if found.error <= SHARE:
        return replace(result, message=f"{result.message} Every coefficient is {within} (proved).")
    said = (
        f" tol='auto' could not show that every coefficient is {within} (the bound is "
        f"{found.error:.3g}): raise l2, or leave out columns that depend on one another."
    )
    return replace(result, status="finished", message=result.message + said)


def _escape_said(done: Descent, direction: Array) -> str:
    columns = done.run.columns
    names = None if columns is None else [f"x{j}" for j in columns]
    return escape_words(variable_names(done.run.p, names), direction)
