"""Schedules: tables of step size, momentum and lookahead, a factory for each method."""

from ._rules import momentum
from .accelerated import mass, mass_averaged
from .baselines import (
    asgd,
    mass_published,
    robust_accelerated,
    robust_heavy_ball,
    schedule_free,
    sgd_safe,
    triple_momentum,
)
from .constant import nesterov, polyak, sgd, shb, shb_averaged
from .exponential import nesterov_exponential, sgd_exponential, shb_exponential, two_phase
from .registry import REGISTRY, Method
from .schedule import Schedule
from .stages import multistage, pan, stage_count
from .twin import auto

__all__ = [
    "REGISTRY",
    "Method",
    "Schedule",
    "asgd",
    "auto",
    "mass",
    "mass_averaged",
    "mass_published",
    "momentum",
    "multistage",
    "nesterov",
    "nesterov_exponential",
    "pan",
    "polyak",
    "robust_accelerated",
    "robust_heavy_ball",
    "schedule_free",
    "sgd",
    "sgd_exponential",
    "sgd_safe",
    "shb",
    "shb_averaged",
    "shb_exponential",
    "stage_count",
    "triple_momentum",
    "two_phase",
]
