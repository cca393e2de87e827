"""What is minimised: least squares and logistic loss on rows of data."""

from .curvature import Constants
from .frame import Frame, Framed
from .least_squares import LeastSquares, Noise
from .line import Line
from .linear import LinearProblem
from .logistic import Logistic
from .parts import BlockProblem, PartedProblem

__all__ = [
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
