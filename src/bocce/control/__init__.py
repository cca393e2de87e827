"""What comes next in a run: a table, a line search, a guard, or a run without T."""

from .anytime import Anytime
from .base import Best, Controller, Fixed, Limits, RunVerdict, Stage, StageReport
from .guard import Guarded, GuardedRun, Levels, Recipe, guard
from .line_search import armijo, sgd_sls_exponential, shb_sls_exponential
from .methods import (
    PLANE,
    POLICIES,
    Given,
    check_method,
    facts_of,
    open_ended_names,
    registry,
    takes_all_rows,
)
from .policy import Decider, MetricChoice, PlaneSteps, Policy, plane
from .sps import momsps
from .stream import Stream

__all__ = [
    "PLANE",
    "POLICIES",
    "Anytime",
    "Best",
    "Controller",
    "Decider",
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
    "Stream",
    "armijo",
    "check_method",
    "facts_of",
    "guard",
    "momsps",
    "open_ended_names",
    "plane",
    "registry",
    "sgd_sls_exponential",
    "shb_sls_exponential",
    "takes_all_rows",
]
