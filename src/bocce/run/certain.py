"""``tol="auto"``: a fit stops when its coefficients are certain.

The bound of ``bocce.inference`` is computed where a run ends, and the run goes on with a smaller
tolerance until no coefficient is farther from the minimiser than a hundredth of its standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ..inference import MOST_VARIABLES, infer
from ..problems import Frame, Problem
from ..rows import Array
from .request import FIRST_TOL, Request
from .result import Result
from .solve import join_stages, solve
from .stop import Stop

T = TypeVar("T")
SHARE = 0.01  # A coefficient may be wrong by this share of its standard error.
EXACT = 1e-10  # An error below this share of the coefficient is rounding, whatever the noise.
ROUNDS = 6  # The most runs, each with a smaller tolerance.


def affordable(p: Problem) -> bool:
    """Is there room for a matrix of all pairs of variables, on this machine?"""
    return math.prod(p.shape) <= MOST_VARIABLES and not p.rows.foreign


def optimisation_error(p: Problem, w: Array, count: float | None = None) -> float:
    """The largest proved distance of a coefficient from the minimiser, in standard errors.

    Coefficients that the data and the penalty do not determine have no minimiser to be near to, and
    do not count.
    """
    found = infer(p, w, "sandwich" if p.loss.model == "none" else "model", count)
    proved = np.isfinite(found.error)
    if not proved.any():
        return math.inf
    error = np.where(found.error <= EXACT * np.abs(w), 0.0, found.error)[proved]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(error / found.standard_errors[proved], nan=0.0).max())


def until_certain(
    go: Callable[[float, T | None], tuple[T, bool]], error: Callable[[T], float]
) -> tuple[T, float]:
    """Run on until the ``optimisation_error`` is at most a hundredth: the last run and its error.

    ``go`` runs to a tolerance, from the run before or (None) from the start, and returns the run
    and whether it met the tolerance; ``error`` is the ``optimisation_error`` of a run.
    """
    tol, run = FIRST_TOL, None
    for _ in range(ROUNDS):
        run, met = go(tol, run)
        found = error(run)
        if found <= SHARE or not met:
            break
        tol = max(1e-15, tol * min(0.1, 0.5 * SHARE / found))
    assert run is not None
    return run, found


def solve_as_asked(p: Problem, request: Request) -> Result:
    """Run a request that was checked: once, or with ``tol="auto"`` until it is certain."""
    if not request.certain:
        return solve(p, request)
    if not affordable(p):
        result = solve(p, request)
        why = f" tol='auto' needs at most {MOST_VARIABLES:,} variables in memory or in parts: "
        return replace(result, message=f"{result.message}{why}{FIRST_TOL:g} was used.")
    frame = Frame.of(p)
    inner = frame.problem(p)

    def variables(run: Result) -> Array:
        return p.join_intercept(run.w, run.intercept)

    def go(tol: float, before: Result | None) -> tuple[Result, bool]:
        asked, stop = replace(request, tol=tol), None
        if before is not None:
            asked = replace(asked, w0=variables(before))
            stop = Stop(tol, frame, first=float(before.history["grad_norm"][0]))
        result = solve(p, asked, stop, frame, inner)
        result = result if before is None else _joined(before, result)
        return result, result.status == "converged"

    result, error = until_certain(go, lambda run: optimisation_error(p, variables(run)))
    if result.status != "converged":
        return result
    within = f"very coefficient is within {SHARE:g} standard errors of the minimiser"
    if error <= SHARE:
        return replace(result, message=f"{result.message} E{within} (proved).")
    said = (
        f" tol='auto' could not show that e{within} (the bound is {error:.3g}): raise l2, or leave "
        "out columns that depend on one another."
    )
    return replace(result, status="finished", message=result.message + said)


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
