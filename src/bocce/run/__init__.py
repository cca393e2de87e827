"""minimize: the driver, stopping rules, checkpoints and results."""

from .minimize import minimize
from .request import Request as Request
from .result import Progress, Result, StageRun
from .solve import solve as solve
from .stop import Stop as Stop

# Names that are imported "as" themselves are for other rooms only.
__all__ = ["Progress", "Result", "StageRun", "minimize"]
