"""What a run gives back, and what it shows on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Progress(NamedTuple):
    """What a callback is shown at each recorded step; returning True stops the run.

    ``gradient`` is the full gradient at w where the run has it at hand, else None.
    """

    k: int
    w: np.ndarray
    grad_norm: float
    value: float
    gradient: np.ndarray | None = None


@dataclass(frozen=True)
class Result:
    """A finished run. ``status``: "finished" (all steps taken, or a callback said stop),
    "converged" (gradient norm at most tol times the first) or "diverged" (``w`` is the last
    finite iterate and ``message`` names the remedy)."""

    w: np.ndarray
    status: str
    n_iter: int
    history: dict[str, np.ndarray]
    schedule: Any
    seed: int
    batch_size: int
    message: str

    def __repr__(self) -> str:
        final = self.history["grad_norm"]
        shown = f"{final[-1]:.3g}" if final.size else "none"
        return f"Result({self.status}, n_iter={self.n_iter}, grad_norm={shown}: {self.message})"
