"""Losses whose parameters suit the residuals: a fit, the loss for its residuals, another fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ..problems import Problem, norm
from ..rows import Array
from .certain import solve_as_asked
from .controllers import frame_of
from .request import CheckedRequest
from .result import Result
from .solve import solve
from .stop import Stop

T = TypeVar("T")
MOST_FITS = 20  # The most fits; Huber's loss takes about 4, the quantile loss about 5.


def until_suited(
    p: Problem, go: Callable[[Problem, T | None], T], point: Callable[[T], Array]
) -> tuple[Problem, T]:
    """Fit until the loss suits the residuals of its own fit: the last problem and its fit.

    ``go`` fits a problem, from the fit before or (None) from the start; ``point`` is where a fit
    ends, in the variables of the problem.
    """
    run = go(p, None)
    for _ in range(MOST_FITS * p.adapts):
        suited = p.suited(point(run))
        if suited is p:
            break
        p = suited
        run = go(p, run)
    return p, run


def solve_adapting(p: Problem, request: CheckedRequest) -> Result:
    """Run a request that was checked, with the loss that suits the residuals where ``p`` says so;
    the history is that of the last fit."""
    if not p.adapts:
        return solve_as_asked(p, request)
    frame = frame_of(p, request)

    def point(run: Result) -> Array:
        return p.join_intercept(run.w, run.intercept)

    def go(now: Problem, before: Result | None) -> Result:
        if before is None:
            return solve(now, request, frame=frame)
        first = norm(now.gradient(request.w0))
        stop = Stop(request.tol, frame, first)
        return solve(now, replace(request, w0=point(before)), stop, frame)

    p, run = until_suited(p, go, point)
    if request.certain:
        run = solve_as_asked(p, request)
    return replace(run, message=f"{run.message} {run.loss!r} suits the residuals.")
