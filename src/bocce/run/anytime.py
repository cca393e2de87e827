"""How ``auto`` without a number of steps begins, from what is known of a problem."""

from __future__ import annotations

import math

from ..control import Anytime, Limits, registry
from ..control.anytime import FIRST_SHARE, Design, accelerating_batch
from ..plane import sums_suffice
from ..problems import Constants, Problem
from ..schedules import Method
from .request import Request

LEAST_STEPS = 1000
SMALLEST, LARGEST = 1e-140, 1e140  # of L: its products have a place in a double
MOST_SCORES = 1 << 24  # rows in parts: the plane keeps a hundred bytes for each in memory
UNKNOWN = Constants(1.0, 0.0, 1.0, None, False)


def usual_passes(tol: float, limits: Limits) -> int:
    """Over the data, where the caller sets no limit."""
    return limits.passes_to_tol if tol > 0 else limits.passes


def anytime(p: Problem, method: Method, request: Request) -> Anytime:
    """Batches first where the caller gave their size, or where ``batches_pay``."""
    b, tol, passes, limits = request.rows, request.tol, request.passes, request.limits
    straight = b is None and not batches_pay(p)
    c = UNKNOWN if straight else p.estimated()
    check_curvature(p, c.L)
    # the longest certified steps: here averages and batches take care of the noise
    R2, tilde = c.sharpest
    tilde = None if "family" in method.preset or not p.loss.quadratic else tilde
    L = c.L if c.L > 0 else 1.0  # f does not depend on w: the first look ends the run
    mu = min(L, max(c.mu, L * FIRST_SHARE))
    first = p.n if straight else b
    if first is None:
        first = p.whole_batch(accelerating_batch(p.n, L, mu, max(c.L_max, L)))
        first = p.n if 2 * first > p.n else first
    usual = max(usual_passes(tol, limits) * p.n, LEAST_STEPS * first)
    return Anytime(
        Design(p.n, L, max(R2, L), tilde, c.mu, mu, first),
        name=method.name,
        brief=b is None,
        wants_tol=tol > 0,
        quadratic=p.loss.quadratic,
        look_rows=float(p.width if p.has_gram else p.n),
        budget=usual if passes is None else max(1, math.ceil(passes * p.n)),
        fixed_batch=b is not None,
        memory=request.memory,
        metric=request.metric,
        limits=limits,
    )


def usable(L: float) -> bool:
    """Do products of such curvatures have a place in a double?"""
    return SMALLEST < L < LARGEST


def check_curvature(p: Problem, L: float, where: str = "minimize") -> None:
    """Refuse a curvature whose products have no place in a double."""
    empty = L == 0.0 and not any(abs(block).max() > 0.0 for block in p.rows.blocks())
    if not (usable(L) or empty):
        raise ValueError(
            f"{where}: the curvature of f, {L:.3g}, must be between {SMALLEST:g} and {LARGEST:g} "
            "for steps that are computed from it; multiply X by a constant, or use method "
            '"plane".'
        )


def summed(p: Problem, name: str, b: float | None) -> bool:
    """Does a run without a number of steps need no more of the rows than sums over all of them,
    and are those finite? They are computed then, in the one pass that it takes."""
    method = registry()[name]
    at_once = method.all_rows or (not method.needs_T and b is None and not batches_pay(p))
    return at_once and sums_suffice(p)


def batches_pay(p: Problem) -> bool:
    """Does a run without T begin with a pass in batches?

    Only where the data are in parts and the scores of all rows do not fit into memory. In memory
    the plane alone is faster, before a compiler is even loaded (benchmarks/begin.py).
    """
    return (
        p.in_parts
        and p.n > MOST_SCORES
        and p.loss.curvature is not None
        and not p.loss.multi_output
    )
