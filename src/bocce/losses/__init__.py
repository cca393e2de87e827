"""What one row costs: a loss a file, each with its value, slope and bend."""

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
