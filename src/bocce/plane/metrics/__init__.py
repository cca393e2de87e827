"""In which metric a direction is steepest: one file for each, and a registry."""

from __future__ import annotations

from .base import IdentityPolicy, Metric, MetricPolicy, Sample, View
from .diagonal import DiagonalPolicy
from .factor import FactorMetric, Identity
from .hessian import HessianPolicy
from .newton_cg import NewtonPolicy
from .rowspace import RowSpacePolicy

METRICS: dict[str, type[MetricPolicy]] = {
    "identity": IdentityPolicy,
    "hessian": HessianPolicy,
    "rowspace": RowSpacePolicy,
    "diagonal": DiagonalPolicy,
    "newton-cg": NewtonPolicy,
}

__all__ = [
    "METRICS",
    "DiagonalPolicy",
    "FactorMetric",
    "HessianPolicy",
    "Identity",
    "IdentityPolicy",
    "Metric",
    "MetricPolicy",
    "NewtonPolicy",
    "RowSpacePolicy",
    "Sample",
    "View",
]
