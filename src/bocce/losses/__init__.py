"""Loss functions: value, slope and second derivative, one file each."""

from .gamma import Gamma
from .huber import Huber
from .logistic import Logistic
from .loss import REGISTRY, Loss, loss, loss_of
from .poisson import Poisson
from .quantile import Quantile
from .softmax import Softmax
from .squared import Squared
from .squared_hinge import SquaredHinge

__all__ = [
    "REGISTRY",
    "Gamma",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "loss",
    "loss_of",
]
