"""From a request to its controller: which steps, which batch, and who watches over them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..control import (
    Controller,
    Doubling,
    Fixed,
    Guarded,
    GuardedRun,
    Levels,
    Limits,
    PlaneSteps,
    Recipe,
    registry,
)
from ..losses import Loss
from ..plane import sums_suffice
from ..problems import Frame, Problem
from ..problems.curvature import mu_with_intercept
from ..problems.frame import identity as own_variables
from ..rows import Array
from ..schedules import Method
from ..schedules.accelerated import accelerating_batch, sampling_noise
from .request import CheckedRequest

JUDGED_FROM = 1e-12  # The guard does not judge gradients below this share of the rows' gradients.
FLAT = 1e-13  # Differences of f below this share of f are rounding.
LEAST_MU = 1.0 / 30.0  # of L: the batch of a run is chosen for no smaller curvature.
LEAST_STEPS = 1000  # A method without T and passes may take at least this many steps.
# Products of curvatures L in this range do not overflow.
SMALLEST = 1e-140
LARGEST = 1e140
# With more rows in parts, the scores of the plane (a hundred bytes a row) do not fit into memory.
MOST_SCORES = 1 << 24


def frame_of(p: Problem, request: CheckedRequest) -> Frame:
    """The variables of the run: centred and scaled where the number of steps is left to it."""
    if request.open_ended:
        return Frame.of(p)
    return own_variables(p)


def controller_of(p: Problem, request: CheckedRequest, start: Array) -> Controller:
    """Who decides the steps of the request, for the problem ``p`` in the run's own variables."""
    facts = request.facts
    if facts.all_rows:
        return Fixed(_plane(request), p.n)
    if request.open_ended:
        return doubling(p, facts, request, start)
    steps, b, recipe = _resolve(p, request, start)
    if not facts.guarded or facts.looks_at_batch:
        return Fixed(steps, b)
    levels = guard_levels(p, b, start)
    return GuardedRun(steps, b, steps.name or "schedule", levels, recipe, request.limits)


def _plane(request: CheckedRequest) -> PlaneSteps:
    """The steps on all rows, no more than were asked for."""
    method = request.method
    T = request.T
    usual = PlaneSteps(request.memory, inner=True, metric=request.metric)
    if isinstance(method, PlaneSteps):
        steps = method
    else:
        steps = usual
    most = T or math.ceil(request.passes or usual_passes(request.tol, request.limits))
    return replace(steps, T=min(most, steps.T), inner=steps.inner and T is None)


def guard_levels(p: Problem, b: int, start: Array) -> Levels:
    """What the guard takes for rounding and for noise, from the gradients of the rows."""
    zero = np.zeros(p.shape)
    points = [zero, start] if start.any() else [zero]
    with np.errstate(over="ignore", invalid="ignore"):
        scale = math.sqrt(max(p.row_gradient_mean2(w) for w in points))
        slack = FLAT * max(abs(p.value(w)) for w in points)
    noise = math.sqrt(sampling_noise("minimize", p.n, b))
    levels = Levels(JUDGED_FROM * scale, noise * scale, slack)
    a_pass = 0 if p.has_gram else -(-p.n // b)  # the steps of a pass, which a look costs
    return levels._replace(gap=max(levels.gap, a_pass))


def _resolve(p: Problem, request: CheckedRequest, start: Array) -> tuple[Any, int, Recipe | None]:
    """The schedule or policy, the batch in rows, and how a named method was built."""
    method = request.method
    given = method.method if isinstance(method, Guarded) else method
    if isinstance(given, str):
        recipe, T, b = _recipe_of(p, request, start)
        return recipe.build(T), b, recipe
    if request.T is not None and request.T != given.T:
        raise ValueError(
            f"minimize: T={request.T} must equal the schedule's T={given.T}; leave T out, or build "
            "the schedule with that T."
        )
    return given, accelerating_rows(p) if request.batch_size is None else request.batch_size, None


def _recipe_of(p: Problem, request: CheckedRequest, start: Array) -> tuple[Recipe, int, int]:
    """How the named method of the request is built; its number of steps and its batch."""
    facts = request.facts
    T = request.T
    b = request.batch_size
    passes = request.passes
    method = registry()[facts.name]
    if not facts.guarded:
        check_strong_convexity("minimize", method, p.loss, p.l2)
    if p.loss.curvature is not None:
        check_curvature(p, p.constants().L)
    if b is None:
        b = accelerating_rows(p)
    if T is None:
        T = math.ceil((passes or request.limits.passes) * p.n / b)
        T = T if passes else max(LEAST_STEPS, T)
    if p.loss.curvature is None and set(method.needs) <= {"mu"}:
        return Recipe(method, {"mu": float(np.min(p.ridge)) or _mu_with_intercept(p)}), T, b
    values = method.values(
        p.constants(),
        n=p.n,
        b=b,
        T=T,
        quadratic=p.loss.quadratic,
        pilot=lambda: p.pilot(start),
    )
    if not facts.guarded and "mu" in method.needs:
        values["mu"] = values["mu"] or _mu_with_intercept(p)
    if isinstance(request.method, Guarded):
        values |= _filled(values, T, "kappa_tilde" in method.needs)
    return Recipe(method, values), T, b


def check_strong_convexity(where: str, method: Method, loss: Loss, l2: float) -> None:
    """Refuse, before any work, a method that needs mu > 0 where mu is certainly 0: the loss has no
    curvature of its own, and l2 is 0."""
    if "mu" in method.needs and not method.guarded and not loss.quadratic and l2 == 0.0:
        raise ValueError(
            f"{where}: l2={l2!r} must be > 0 for method={method.name!r} with the {loss.name} loss, "
            "which is flat far away (mu = 0); set l2, for example 1e-4, or use a method that needs "
            "no mu (auto, sgd)."
        )


def _mu_with_intercept(p: Problem) -> float:
    """The mu of a problem whose only variables without a penalty are its intercepts, else 0."""
    penalised = p.intercept and bool(p.ridges[: p.d].min() > 0.0)
    if penalised:
        return mu_with_intercept(p)
    return 0.0


def _filled(values: Mapping[str, Any], T: int, lookahead: bool) -> dict[str, float]:
    """Constants for a run under the guard, where the data give none: the guard corrects them."""
    L = values["L"] or 1.0  # f does not depend on w
    L_max = max(values["L_max"], L)
    mu = min(L, values["mu"] or L / T**2)  # T steps see no smaller curvature
    filled = {"L": L, "mu": mu, "L_max": L_max}
    if lookahead and not values["kappa_tilde"]:
        filled["kappa_tilde"] = L_max / mu  # which bounds it
    return filled


def accelerating_rows(p: Problem, least: float = 0.0) -> int:
    """The smallest batch that accelerates fully, certified; half of the rows where none does.
    Curvatures below the share ``least`` of L are left out of account."""
    if p.loss.curvature is not None:
        c = p.constants()
        mu = max(c.mu, least * c.L)
        if mu > 0.0:
            return p.whole_batch(accelerating_batch(p.n, c.L, mu, max(c.L_max, c.L)))
    return p.whole_batch(max(1, p.n // 2))


# ---------------------------------------------------------------- without a number of steps


def usual_passes(tol: float, limits: Limits) -> int:
    """Over the data, where the caller sets no limit."""
    if tol > 0:
        return limits.passes_to_tol
    return limits.passes


def doubling(p: Problem, method: Method, request: CheckedRequest, start: Array) -> Doubling:
    """Batches first where the caller gave their size, or where ``batches_pay``."""
    b = request.batch_size
    limits = request.limits
    if b is None and not batches_pay(p):  # on all rows nothing is built from constants
        return _stages(p, request, start, Recipe(method, {}), p.n)
    c = p.estimated()
    check_curvature(p, c.L)
    L = c.L if c.L > 0 else 1.0  # f does not depend on w: the first look ends the run
    first = b
    if first is None:
        mu = min(L, max(c.mu, L * LEAST_MU))
        first = p.whole_batch(accelerating_batch(p.n, L, mu, max(c.L_max, L)))
        first = p.n if 2 * first > p.n else first
    values = method.values(
        replace(c, L=L, L_max=max(c.L_max, L)),
        n=p.n,
        b=first,
        T=limits.most_steps,
        quadratic=p.loss.quadratic,
        pilot=lambda: p.pilot(start),
    )
    return _stages(p, request, start, Recipe(method, values), first)


def _stages(
    p: Problem, request: CheckedRequest, start: Array, recipe: Recipe, first_batch: int
) -> Doubling:
    """Stages that begin with batches of ``first_batch`` rows."""
    tol = request.tol
    passes = request.passes
    limits = request.limits
    if passes is None:
        budget = max(usual_passes(tol, limits) * p.n, LEAST_STEPS * first_batch)
    else:
        budget = max(1, math.ceil(passes * p.n))
    # one or two steps on all rows are enough
    brief = request.batch_size is None or (tol > 0.0 and p.has_gram)
    return Doubling(
        recipe,
        start,
        n=p.n,
        first_batch=first_batch,
        brief=brief,
        wants_tol=tol > 0,
        budget=budget,
        plane=PlaneSteps(request.memory, inner=True, metric=request.metric),
        limits=limits,
        measure=lambda w: p.pilot(w).noise,
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


def summed(p: Problem, request: CheckedRequest) -> bool:
    """Does a run without a number of steps need no more of the rows than sums over all of them,
    and are those finite? They are computed then, in the one pass that it takes."""
    if not request.chooses_steps:
        return False
    at_once = request.facts.all_rows or (request.batch_size is None and not batches_pay(p))
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
