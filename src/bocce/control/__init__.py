"""Who decides what comes next: a table, a line search, a guard, a run without a number of steps."""

from ..schedules import REGISTRY as SCHEDULES
from ..schedules import Method
from .anytime import Anytime
from .base import Best, Controller, End, Fixed, Limits, Seen, Stage
from .guard import Guarded, GuardedRun, Levels, Recipe, guard
from .line_search import LineSearchPolicy, armijo, sgd_sls_exponential, shb_sls_exponential
from .plane import Plane, plane
from .policy import Policy
from .sps import PolyakPolicy, momsps
from .stream import Stream

POLICIES: dict[str, Method] = {
    method.name: method
    for method in (
        Method("sgd-sls-exp", sgd_sls_exponential, "SGD, Armijo line search, exponential steps"),
        Method("shb-sls-exp", shb_sls_exponential, "heavy ball, Armijo line search"),
        Method("momsps", momsps, "heavy ball, Polyak's step on the batch, capped"),
        Method("plane", plane, "heavy ball, the best step and momentum, all rows"),
    )
}
# methods that have the divergence guard on
GUARDED = tuple(method.name for method in SCHEDULES.values() if method.guarded)


def registry() -> dict[str, Method]:
    """All methods by name: schedules, then policies."""
    return {**SCHEDULES, **POLICIES}


__all__ = [
    "GUARDED",
    "POLICIES",
    "Anytime",
    "Best",
    "Controller",
    "End",
    "Fixed",
    "Guarded",
    "GuardedRun",
    "Levels",
    "Limits",
    "LineSearchPolicy",
    "Plane",
    "Policy",
    "PolyakPolicy",
    "Recipe",
    "Seen",
    "Stage",
    "Stream",
    "armijo",
    "guard",
    "momsps",
    "plane",
    "registry",
    "sgd_sls_exponential",
    "shb_sls_exponential",
]
