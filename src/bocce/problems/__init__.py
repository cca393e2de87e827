"""What is minimised: least squares and logistic loss on rows of data."""

from .curvature import Constants
from .frame import Frame, Framed
from .least_squares import LeastSquares, Noise
from .line import Line
from .linear import GRAM_COLUMNS, LinearProblem
from .logistic import Logistic
from .parts import BlockProblem, PartedProblem

__all__ = [
    "GRAM_COLUMNS",
    "BlockProblem",
    "Constants",
    "Frame",
    "Framed",
    "LeastSquares",
    "Line",
    "LinearProblem",
    "Logistic",
    "Noise",
    "PartedProblem",
]
