"""Methods that look at the batch, or at the run, before they decide a step: the public names."""

from .control import (
    POLICIES as REGISTRY,
)
from .control import (
    Guarded,
    LineSearchPolicy,
    Plane,
    Policy,
    PolyakPolicy,
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
    "LineSearchPolicy",
    "Plane",
    "Policy",
    "PolyakPolicy",
    "armijo",
    "guard",
    "momsps",
    "plane",
    "sgd_sls_exponential",
    "shb_sls_exponential",
]
