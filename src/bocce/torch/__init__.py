"""The package's schedules as PyTorch optimizers, and a gauge for training (extra ``torch``)."""

from .._extras import extra

with extra("torch"):
    from .branches import Branches
    from .constants import Estimate, estimate_constants
    from .gauge import Gauge
    from .intervals import Interval
    from .measure import Measurement
    from .shb import SHB

__all__ = [
    "SHB",
    "Branches",
    "Estimate",
    "Gauge",
    "Interval",
    "Measurement",
    "estimate_constants",
]
