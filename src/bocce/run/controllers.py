"""From a request to its controller: which steps, which batch, and who watches over them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..control import Controller, Fixed, Guarded, GuardedRun, Levels, PlaneSteps, Recipe, registry
from ..control.anytime import accelerating_batch
from ..losses import Loss
from ..problems import Frame, Problem
from ..problems.curvature import mu_with_intercept
from ..problems.frame import identity as own_variables
from ..rows import Array
from ..schedules import Method
from ..schedules.adaptive import sampling_noise
from .anytime import anytime, check_curvature, usual_passes
from .request import Request

ROUNDING = 1e-12  # of the rows' gradients: smaller full gradients are not judged
FLAT = 1e-13  # of f: smaller differences are rounding
LEAST_STEPS = 1000  # of a named method where neither T nor passes are given


def frame_of(p: Problem, request: Request) -> Frame:
    """The variables of the run: centred and scaled where the number of steps is left to it."""
    return Frame.of(p) if request.open_ended else own_variables(p)


def controller_of(p: Problem, request: Request, start: Array) -> Controller:
    """Who decides the steps of the request, for the problem ``p`` in the run's own variables."""
    facts = request.facts
    if facts.all_rows:
        return Fixed(_plane(request), p.n)
    if request.open_ended:
        return anytime(p, facts, request)
    steps, b, recipe = _resolve(p, request)
    if not facts.guarded or facts.looks_at_batch:
        return Fixed(steps, b, steps.name)
    levels = guard_levels(p, b, start)
    return GuardedRun(steps, b, steps.name or "schedule", levels, recipe, request.limits)


def _plane(request: Request) -> PlaneSteps:
    """The steps on all rows, no more than were asked for."""
    method, T = request.method, request.T
    usual = PlaneSteps(request.memory, inner=True, metric=request.metric)
    steps = method if isinstance(method, PlaneSteps) else usual
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
    levels = Levels(ROUNDING * scale, noise * scale, slack)
    a_pass = 0 if p.has_gram else -(-p.n // b)  # the steps of a pass, which a look costs
    return levels._replace(gap=max(levels.gap, a_pass))


def _resolve(p: Problem, request: Request) -> tuple[Any, int, Recipe | None]:
    """The schedule or policy, the batch in rows, and how a named method was built."""
    method = request.method
    given = method.method if isinstance(method, Guarded) else method
    if isinstance(given, str):
        recipe, T, b = recipe_of(p, request)
        return recipe.build(T), b, recipe
    if request.T is not None and request.T != given.T:
        raise ValueError(
            f"minimize: T={request.T} must equal the schedule's T={given.T}; leave T out, or build "
            "the schedule with that T."
        )
    return given, accelerating_rows(p) if request.rows is None else request.rows, None


def recipe_of(p: Problem, request: Request) -> tuple[Recipe, int, int]:
    """How the named method of the request is built; its number of steps and its batch."""
    facts, T, b, passes = request.facts, request.T, request.rows, request.passes
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
    values = method.values(p.constants(), n=p.n, b=b, T=T, quadratic=p.loss.quadratic)
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
    return mu_with_intercept(p) if penalised else 0.0


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
