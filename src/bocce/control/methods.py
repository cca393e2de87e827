"""The table of all methods, and what is known of a method before it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from .. import _checks
from ..schedules import REGISTRY as SCHEDULES
from ..schedules import Method, Schedule
from .guard import Guarded
from .line_search import sgd_sls_exponential, shb_sls_exponential
from .policy import Decider, PlaneSteps, Policy, plane
from .sps import momsps, ngn_m

SUMMARY = "heavy ball, the best step and momentum, all rows"
PLANE = Method("plane", plane, SUMMARY, needs_T=False, all_rows=True)
LOOKING: tuple[tuple[str, Callable[..., Policy], str], ...] = (
    ("sgd-sls-exp", sgd_sls_exponential, "SGD, Armijo line search, exponential steps"),
    ("shb-sls-exp", shb_sls_exponential, "heavy ball, Armijo line search"),
    ("momsps", momsps, "heavy ball, Polyak's step on the batch, capped"),
    ("ngn-m", ngn_m, "heavy ball, non-negative Gauss-Newton step on the batch"),
)
POLICIES = {row[0]: Method(*row, looks_at_batch=True) for row in LOOKING} | {PLANE.name: PLANE}

# What ``minimize`` takes for a method.
Given: TypeAlias = str | Schedule | Decider | Guarded | PlaneSteps


def methods() -> dict[str, Method]:
    """All methods by name: schedules, then policies, as `minimize` takes them.

    Returns
    -------
    dict of Method
        A copy: what is written into it changes nothing.

    Examples
    --------
    >>> methods()["shb"].needs
    ('L', 'mu')
    """
    return {**SCHEDULES, **POLICIES}


def open_ended_names() -> tuple[str, ...]:
    """The names of the methods that need no number of steps."""
    return tuple(name for name, method in methods().items() if not method.needs_T)


def takes_all_rows(name: str) -> bool:
    """Is each step of the method of that name on all rows? (A table need not have such a name.)"""
    method = methods().get(name)
    return method is not None and method.all_rows


def facts_of(method: Given) -> Method:
    """The registry entry of a name; for a table or a policy, an entry with the same facts."""
    if isinstance(method, str):
        return methods()[method]
    if isinstance(method, PlaneSteps):
        return PLANE
    if isinstance(method, Guarded):
        return replace(facts_of(method.method), guarded=True, needs_T=True)
    looks = not isinstance(method, Schedule)
    return Method(method.name, lambda T: method, "as given", looks_at_batch=looks)


def check_method(where: str, method: Given, in_parts: bool) -> None:
    """Refuse what is no method, and a method that cannot run on data in parts (from a file or from
    workers); ``where`` is the function that the caller called."""
    if isinstance(method, str):
        _checks.choice(where, "method", method, methods())
    elif not isinstance(method, (Schedule, Guarded, PlaneSteps, Decider)):
        raise TypeError(
            f"{where}: method={method!r} must be a registry name (`bocce methods` lists them), a "
            "Schedule or a policy."
        )
    facts = facts_of(method)
    if in_parts and facts.looks_at_batch:
        raise ValueError(
            f"{where}: method={facts.name!r} looks at each batch before it steps, must be a "
            "schedule for data in parts; use the method auto."
        )
