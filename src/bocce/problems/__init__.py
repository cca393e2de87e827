"""What is minimised: least squares and logistic loss on rows of data."""

from .curvature import Constants
from .least_squares import LeastSquares, Noise
from .line import Line
from .linear import LinearProblem
from .logistic import Logistic

__all__ = ["Constants", "LeastSquares", "Line", "LinearProblem", "Logistic", "Noise"]
