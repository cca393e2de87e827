"""Full-batch runs to a tolerance: the best step and momentum, and the metrics."""

from .choose import policy_for as policy_for
from .choose import scores_for as scores_for
from .choose import sums_suffice as sums_suffice
from .engine import PlaneEngine as PlaneEngine
from .metrics import (
    METRICS,
    FactorMetric,
    Identity,
    IdentityPolicy,
    Metric,
    MetricPolicy,
    Sample,
    View,
)
from .newton_engine import NewtonEngine as NewtonEngine
from .newton_engine import engine_for as engine_for
from .plane import PlaneRun as PlaneRun
from .scores import SCORES as SCORES
from .scores import Scores as Scores
from .subspace import PlaneLimits as PlaneLimits

# Names that are imported "as" themselves are for other rooms only.
__all__ = [
    "METRICS",
    "FactorMetric",
    "Identity",
    "IdentityPolicy",
    "Metric",
    "MetricPolicy",
    "Sample",
    "View",
]
