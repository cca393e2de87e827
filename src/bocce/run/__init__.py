"""minimize: the one driver, what stops it, what it leaves on disk and what it gives back."""

from .asked import minimize
from .result import Progress, Result, StageRun
from .stop import Stop

__all__ = ["Progress", "Result", "StageRun", "Stop", "minimize"]
