"""The package's schedules as PyTorch optimizers (extra ``torch``)."""

from .._extras import extra

with extra("torch"):
    from .constants import Estimate, estimate_constants
    from .shb import SHB

__all__ = ["SHB", "Estimate", "estimate_constants"]
