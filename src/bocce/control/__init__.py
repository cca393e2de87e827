"""What comes next in a run: a table, a line search, a guard, or a run without T."""

from .base import Controller, Fixed, Limits, RunVerdict, Stage, StageReport
from .doubling import Doubling
from .guard import Guarded, GuardedRun, Levels, Recipe, guard
from .methods import (
    PLANE,
    POLICIES,
    Given,
    check_method,
    facts_of,
    open_ended_names,
    takes_all_rows,
)
from .methods import methods as registry  # `bocce.methods` to users
from .policy import Decider, MetricChoice, PlaneSteps, Policy

__all__ = [
    "PLANE",
    "POLICIES",
    "Controller",
    "Decider",
    "Doubling",
    "Fixed",
    "Given",
    "Guarded",
    "GuardedRun",
    "Levels",
    "Limits",
    "MetricChoice",
    "PlaneSteps",
    "Policy",
    "Recipe",
    "RunVerdict",
    "Stage",
    "StageReport",
    "check_method",
    "facts_of",
    "guard",
    "open_ended_names",
    "registry",
    "takes_all_rows",
]
