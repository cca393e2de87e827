"""Runs to a tolerance: the best step and momentum on all rows, and the metrics that help."""

from .choose import policy_for, scores_for, sums_suffice
from .engine import PlaneEngine
from .metrics import METRICS, FactorMetric, Identity, Metric, MetricPolicy, Policy, Sample, View
from .plane import Plane
from .scores import SCORES, Scores
from .subspace import PlaneLimits

__all__ = [
    "METRICS",
    "SCORES",
    "FactorMetric",
    "Identity",
    "Metric",
    "MetricPolicy",
    "Plane",
    "PlaneEngine",
    "PlaneLimits",
    "Policy",
    "Sample",
    "Scores",
    "View",
    "policy_for",
    "scores_for",
    "sums_suffice",
]
