"""``tol="auto"``: a fit stops when its coefficients are certain.

The bound of ``bocce.inference`` is computed where a run ends, and the run goes on with a smaller
tolerance until no coefficient is farther from the minimiser than a hundredth of its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from .. import separation
from ..inference import MOST_VARIABLES, infer
from ..problems import Frame, Problem
from ..rows import Array
from .coefficients import escape_words, variable_names
from .request import FIRST_TOL, CheckedRequest
from .result import Result
from .solve import join_stages, solve
from .stop import Stop

T = TypeVar("T")
SHARE = 0.01  # A coefficient may be wrong by this share of its standard error.
# An error below this share of the coefficient is rounding, whatever the noise.
ROUNDED_COEFFICIENT = 1e-10
ROUNDS = 6  # The most runs, each with a smaller tolerance.


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


def until_certain(
    go: Callable[[float, T | None], tuple[T, bool]], judge: Callable[[T], Certainty]
) -> tuple[T, Certainty]:
    """Run on until the error is at most a hundredth: the last run and its ``Certainty``.

    ``go`` runs to a tolerance, from the run before or (None) from the start, and returns the run
    and whether it met the tolerance; ``judge`` is the ``certainty`` of a run.
    """
    tol = FIRST_TOL
    run = None
    for _ in range(ROUNDS):
        run, met = go(tol, run)
        found = judge(run)
        if found.error <= SHARE or not met:
            break
        tol = max(1e-15, tol * min(0.1, 0.5 * SHARE / found.error))
    assert run is not None
    return run, found


def solve_as_asked(p: Problem, request: CheckedRequest) -> Result:
    """Run a request that was checked: once, or with ``tol="auto"`` until it is certain."""
    if not request.certain:
        return _with_escape(p, request, solve(p, request))
    if not affordable(p):
        result = solve(p, request)
        why = f" tol='auto' needs at most {MOST_VARIABLES:,} variables in memory or in parts: "
        return replace(result, message=f"{result.message}{why}{FIRST_TOL:g} was used.")
    frame = Frame.of(p)
    inner = frame.problem(p)

    def go(tol: float, before: Result | None) -> tuple[Result, bool]:
        asked = replace(request, tol=tol)
        stop = None
        if before is not None:
            asked = replace(asked, w0=_variables(p, before))
            stop = Stop(tol, frame, first=float(before.history["grad_norm"][0]))
        result = solve(p, asked, stop, frame, inner)
        met = result.status == "converged"
        if before is None:
            return result, met
        ends = [run.history["grad_norm"][-1] for run in (before, result)]
        if not met and ends[1] > ends[0]:
            return before, False  # near infinity, rounding may lead a run away from where it began
        return _joined(before, result), met

    result, found = until_certain(go, lambda run: certainty(p, _variables(p, run)))
    return _judged(p, result, found)


def _judged(p: Problem, result: Result, found: Certainty) -> Result:
    """The result of ``tol="auto"``, with what is certain about it."""
    within = f"within {SHARE:g} standard errors of the minimiser"
    if found.escape is not None:
        said = f" {escape_words(variable_names(p), found.escape)}"
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


def _variables(p: Problem, run: Result) -> Array:
    return p.join_intercept(run.w, run.intercept)


def _with_escape(p: Problem, request: CheckedRequest, result: Result) -> Result:
    """The result, whose message says so where f has no minimiser."""
    if request.tol == 0.0 or result.status == "diverged" or not separation.may_escape(p):
        return result
    if p.in_parts or p.rows.foreign:
        return result
    frame = Frame.of(p)
    passes = float(result.history["gradient_evaluations"][-1]) / p.n
    w = _variables(p, result)
    found = separation.after_run(p, frame, frame.problem(p), w, passes)
    if found is None:
        return result
    said = escape_words(variable_names(p), found)
    return replace(result, message=f"{result.message} {said}")


def _joined(first: Result, then: Result) -> Result:
    """One run after the other, as one."""
    counted = ("k", "gradient_evaluations")
    history = {
        name: np.concatenate([old, then.history[name][1:] + (old[-1] if name in counted else 0)])
        for name, old in first.history.items()
    }
    return replace(
        then,
        history=history,
        n_iter=first.n_iter + then.n_iter,
        stages=join_stages([*first.stages, *then.stages]),
    )
