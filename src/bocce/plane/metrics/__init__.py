"""In which metric a direction is steepest: one file for each, and a registry."""

from __future__ import annotations

from .base import IdentityPolicy as IdentityPolicy
from .base import Metric as Metric
from .base import MetricPolicy as MetricPolicy
from .base import Sample as Sample
from .base import View as View
from .diagonal import DiagonalPolicy as DiagonalPolicy
from .factor import FactorMetric as FactorMetric
from .factor import Identity as Identity
from .hessian import HessianPolicy as HessianPolicy
from .newton_cg import NewtonPolicy as NewtonPolicy
from .rowspace import RowSpacePolicy as RowSpacePolicy

METRICS: dict[str, type[MetricPolicy]] = {
    "identity": IdentityPolicy,
    "hessian": HessianPolicy,
    "rowspace": RowSpacePolicy,
    "diagonal": DiagonalPolicy,
    "newton-cg": NewtonPolicy,
}
