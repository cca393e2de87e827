"""Tables of (alpha_k, beta_k, theta_k): every method is one of them."""

from .adaptive import auto, mass
from .constant import nesterov, polyak, sgd, shb, shb_averaged
from .exponential import nesterov_exponential, sgd_exponential, shb_exponential, two_phase
from .registry import REGISTRY, Method
from .schedule import Schedule
from .stages import multistage, pan, stage_count

__all__ = [
    "REGISTRY",
    "Method",
    "Schedule",
    "auto",
    "mass",
    "multistage",
    "nesterov",
    "nesterov_exponential",
    "pan",
    "polyak",
    "sgd",
    "sgd_exponential",
    "shb",
    "shb_averaged",
    "shb_exponential",
    "stage_count",
    "two_phase",
]
