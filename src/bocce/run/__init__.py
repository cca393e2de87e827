"""minimize: the driver, stopping rules, checkpoints and results."""

from .minimize import minimize
from .request import Request
from .result import Progress, Result, StageRun
from .solve import solve
from .stop import Stop as Stop

# Names that are imported "as" themselves are for other rooms only.
__all__ = ["Progress", "Request", "Result", "StageRun", "minimize", "solve"]
