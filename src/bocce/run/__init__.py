"""minimize: the one driver, what stops it, what it leaves on disk and what it gives back."""

from .minimize import minimize, solve
from .request import Request
from .result import Progress, Result, StageRun
from .stop import Stop

__all__ = ["Progress", "Request", "Result", "StageRun", "Stop", "minimize", "solve"]
