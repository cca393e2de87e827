"""What is minimised: a loss over rows of data, and a penalty."""

from .arrays import ArrayProblem
from .curvature import Constants
from .frame import Frame
from .line import Line
from .look import Look, NotFinite, norm
from .minimum import Noise
from .named import LeastSquares, Logistic
from .objective import Objective
from .parts import FileProblem, PartedProblem, Summary
from .path_cache import PathCache
from .problem import GRAM_COLUMNS, Problem
from .variables import Variables

__all__ = [
    "GRAM_COLUMNS",
    "ArrayProblem",
    "Constants",
    "FileProblem",
    "Frame",
    "LeastSquares",
    "Line",
    "Logistic",
    "Look",
    "Noise",
    "NotFinite",
    "Objective",
    "PartedProblem",
    "PathCache",
    "Problem",
    "Summary",
    "Variables",
    "norm",
]
