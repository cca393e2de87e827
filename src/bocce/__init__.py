"""bocce: stochastic heavy-ball momentum that tunes itself.

bocce computes, exactly and for your data, which batch, step and momentum to use, when a run
diverges, and how far any schedule is from the best.

Importing this loads NumPy and nothing heavier; everything else comes when it is first named.

>>> import bocce
>>> X, y, _ = bocce.data.regression(n=200, d=5, kappa=10.0)
>>> result = bocce.minimize(bocce.LeastSquares(X, y), "shb", T=300, batch_size=0.9)
>>> result.status, bool(result.history["grad_norm"][-1] < 1e-8)
('finished', True)
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.4.0"

_MODULES = (
    "data",
    "engines",
    "exact",
    "explorer",
    "inference",
    "losses",
    "plane",
    "policies",
    "problems",
    "rows",
    "sampling",
    "schedules",
    "separation",
    "theory",
)
_NAMES = {
    "LeastSquares": "problems",
    "Logistic": "problems",
    "Plan": "planning",
    "Problem": "problems",
    "Result": "run",
    "Schedule": "schedules",
    "methods": "control.methods",
    "minimize": "run",
    "path": "run.path",
    "plan": "planning",
    "repeat": "run.repeat",
}
__all__ = ["__version__", *_MODULES, *_NAMES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module 'bocce' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
