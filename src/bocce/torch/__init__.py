"""The package's schedules as PyTorch optimizers (extra ``torch``)."""

from .._extras import extra

with extra("torch"):
    from .constants import Estimate, estimate_constants
    from .shb import SHB
    from .sls import SLS

__all__ = ["SHB", "SLS", "Estimate", "estimate_constants"]
