"""Closed loop: methods that look at the batch, or at the run, before they decide a step."""

from ..schedules import Method
from .guard import Guarded, guard
from .line_search import LineSearchPolicy, armijo, sgd_sls_exponential, shb_sls_exponential

REGISTRY: dict[str, Method] = {
    method.name: method
    for method in (
        Method("sgd-sls-exp", sgd_sls_exponential, "SGD, Armijo line search, exponential steps"),
        Method("shb-sls-exp", shb_sls_exponential, "heavy ball, Armijo line search"),
    )
}

__all__ = [
    "REGISTRY",
    "Guarded",
    "LineSearchPolicy",
    "armijo",
    "guard",
    "sgd_sls_exponential",
    "shb_sls_exponential",
]
