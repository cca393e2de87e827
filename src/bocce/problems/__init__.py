"""Problems: data, a loss function and a penalty."""

from .arrays import ArrayProblem as ArrayProblem
from .curvature import Constants
from .frame import Frame as Frame
from .limits import ProblemLimits as ProblemLimits
from .line import Line
from .look import Look, NotFinite, norm
from .minimum import Noise
from .named import LeastSquares, Logistic
from .parts import FileProblem as FileProblem
from .parts import PartedProblem as PartedProblem
from .path_cache import PathCache as PathCache
from .problem import Problem
from .standardize import Standardized, standardized

# Names that are imported "as" themselves are for other rooms only.
__all__ = [
    "Constants",
    "LeastSquares",
    "Line",
    "Logistic",
    "Look",
    "Noise",
    "NotFinite",
    "Problem",
    "Standardized",
    "norm",
    "standardized",
]
