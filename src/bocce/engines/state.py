"""Where a run is: what an engine moves on and a checkpoint keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DIVERGENCE_FACTOR = 1e8


@dataclass
class State:
    """w_k, v_k = w_k - w_{k-1}, and k; ``memory`` is what a policy carries along.

    ``tally``, where it is not None, gathers the iterates after each step, for an average.
    """

    w: np.ndarray
    v: np.ndarray
    k: int = 0
    memory: tuple[float, ...] = ()
    tally: np.ndarray | None = None

    def move(self, w: np.ndarray, v: np.ndarray) -> None:
        """One step on."""
        self.w, self.v, self.k = w, v, self.k + 1
        if self.tally is not None:
            self.tally += w


@dataclass
class Recorder:
    """What is measured, decided before the run: the loop steps, the recorder looks.

    At each k in ``when`` the objective and the squared norm of its full gradient are kept.
    A norm beyond sqrt(limit2), or a value that is not finite, is divergence; a norm of at most
    sqrt(goal2) is convergence.
    """

    when: np.ndarray
    limit2: float
    goal2: float

    def __post_init__(self) -> None:
        self.grad2 = np.zeros(self.when.size)
        self.value = np.zeros(self.when.size)
        self.cursor = np.zeros(1, dtype=np.int64)

    @property
    def count(self) -> int:
        """How many measurements have been kept."""
        return int(self.cursor[0])

    @property
    def met(self) -> bool:
        """Has the last measurement reached the goal?"""
        return self.count > 0 and bool(self.grad2[self.count - 1] <= self.goal2)

    def due(self, k: int) -> bool:
        return self.count < self.when.size and int(self.when[self.count]) == k

    def keep(self, value: float, grad2: float) -> str:
        """Keep a measurement; returns "", "diverged" (not kept) or "converged"."""
        if not (np.isfinite(value) and grad2 <= self.limit2):
            return "diverged"
        self.value[self.count], self.grad2[self.count] = value, grad2
        self.cursor[0] += 1
        return "converged" if grad2 <= self.goal2 else ""


def record_steps(T: int, every: int | str, per_epoch: int) -> np.ndarray:
    """The steps at which to measure, 0 and T among them.

    ``"auto"``: log-spaced over the first epoch, then about once an epoch.

    >>> record_steps(5, 2, 1).tolist()
    [0, 2, 4, 5]
    >>> record_steps(100, "auto", 40).tolist()
    [0, 1, 2, 4, 8, 16, 32, 40, 80, 100]
    """
    if every != "auto":
        steps = np.arange(0, T, int(every), dtype=np.int64)
    else:
        early = 2 ** np.arange(0, 1 + int(np.log2(max(1, min(T, per_epoch)))))
        steps = np.unique(np.concatenate([[0], early, np.arange(0, T, per_epoch)]))
    steps = steps[steps < T].astype(np.int64)
    return np.append(steps, np.int64(T))
