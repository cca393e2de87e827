"""Policies: methods that choose each step during the run, such as line searches."""

from .control import (
    POLICIES as REGISTRY,
)
from .control import (
    Guarded,
    Policy,
    armijo,
    guard,
    momsps,
    plane,
    sgd_sls_exponential,
    shb_sls_exponential,
)

__all__ = [
    "REGISTRY",
    "Guarded",
    "Policy",
    "armijo",
    "guard",
    "momsps",
    "plane",
    "sgd_sls_exponential",
    "shb_sls_exponential",
]
