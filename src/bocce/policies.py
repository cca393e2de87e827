"""Policies: methods that choose each step during the run, such as line searches."""

from .control.guard import Guarded, guard
from .control.line_search import armijo, sgd_sls_exponential, shb_sls_exponential
from .control.methods import POLICIES as REGISTRY
from .control.policy import Policy, plane
from .control.sps import momsps, ngn_m

__all__ = [
    "REGISTRY",
    "Guarded",
    "Policy",
    "armijo",
    "guard",
    "momsps",
    "ngn_m",
    "plane",
    "sgd_sls_exponential",
    "shb_sls_exponential",
]
