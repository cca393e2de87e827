"""The directions that span the plane: a new one, and the last displacements."""

from __future__ import annotations

import math

import numpy as np

from .._record import record
from .._types import Array
from .linalg import largest, length
from .scores.base import Scores

SCORES_APART = 1e-8  # U may differ from X D by this share of a displacement, in float64.
EPS = float(np.finfo(np.float64).eps)


class Directions:
    """Row 0 of ``D`` is the new direction, the other rows are displacements; ``scores`` keep X D.

    A direction is scaled so that it changes no score by more than 1: squares neither underflow nor
    overflow, however short the steps are. ``max_entry`` and ``max_score`` are the largest entries
    of D_j and X D_j; ``relative_error`` bounds the error of the stored X D_j. ``penalty_gram`` is
    D^T ridge D; ``loss_gram`` is U^T U / n, stored for quadratics only.
    """

    def __init__(self, memory: int, shape: tuple[int, ...], ridge: Array, quadratic: bool) -> None:
        self.memory = memory
        self.ridge = ridge
        self.quadratic = quadratic
        self.penalised = bool(ridge.any())
        self.D = np.zeros((memory + 1, *shape))
        self.penalty_gram = np.zeros((memory + 1, memory + 1))
        self.loss_gram = np.zeros((memory + 1, memory + 1))
        self.max_entry = np.zeros(memory + 1)
        self.max_score = np.zeros(memory + 1)
        self.relative_error = np.zeros(memory + 1)
        self.n_stored = 0  # displacements since the memory was dropped

    @property
    def count(self) -> int:
        """The new direction, and the displacements in memory."""
        return 1 + min(self.n_stored, self.memory)

    def forget(self) -> None:
        self.n_stored = 0

    def rows(self, k: int) -> Array:
        """The first k directions, a row each."""
        return self.D[:k].reshape(k, -1)

    def put(self, scores: Scores, slot: int, d: Array, size: float, change: float) -> None:
        """Put a direction, whose largest entry is ``size``, into a row. The scores know it already;
        ``change`` is the largest change of a score."""
        unit = length(change, d)
        np.divide(d, unit, out=self.D[slot])
        self.max_entry[slot] = size / unit
        self.max_score[slot] = change / unit
        self.relative_error[slot] = 0.0
        self._weigh(scores, slot)

    def _weigh(self, scores: Scores, slot: int) -> None:
        """Compute the products of one direction with all directions."""
        k = self.count
        if self.penalised:
            alike = self.ridge.ndim == 0  # then no temporary vector is needed
            if alike:
                d = self.D[slot]
            else:
                d = self.ridge * self.D[slot]
            row = self.rows(k) @ d.reshape(-1)
            row = self.ridge * row if alike else row
            self.penalty_gram[slot, :k] = self.penalty_gram[:k, slot] = row
        if self.quadratic:
            row = scores.curvature(k, slot)[:, 0]
            self.loss_gram[slot, :k] = self.loss_gram[:k, slot] = row

    def curvature(self, scores: Scores, k: int) -> Array:
        """The Hessian of f on the plane, at the last evaluation."""
        if self.quadratic:
            H = self.loss_gram[:k, :k]
        else:
            H = scores.curvature(k)
        if self.penalised:
            return H + self.penalty_gram[:k, :k]
        return H

    def displacement(self, scores: Scores, c: Array) -> tuple[Array, float, float] | None:
        """D c, its relative error, and a bound on the error of its scores.

        None if rounding made the step in w and in X w inconsistent, because the step is a small
        difference of large displacements. The error of displacements is carried on to later ones.
        """
        k = c.size
        change = scores.max_change
        displacement = (c @ self.rows(k)).reshape(self.D.shape[1:])
        size = largest(displacement)
        parts = np.abs(c) * (self.relative_error[:k] + scores.eps)
        by_scores = float(parts @ self.max_score[:k])
        by_w = float(parts @ self.max_entry[:k])
        apart = SCORES_APART * math.sqrt(scores.eps / EPS)
        if not (by_scores <= apart * change and 0.0 < by_w <= apart * size):
            return None
        return displacement, max(by_scores / (change or 1.0), by_w / size), by_scores

    def keep(self, scores: Scores, displacement: Array, change: float, error: float) -> None:
        """Accept the step last tried; its displacement replaces the oldest one."""
        if self.memory:
            slot = 1 + self.n_stored % self.memory
        else:
            slot = 0
        scores.accept(slot, length(change, displacement))
        if slot:
            self.n_stored += 1
            self.put(scores, slot, displacement, largest(displacement), change)
            self.relative_error[slot] = error

    def state_dict(self) -> dict[str, Array]:
        return {
            "D": self.D[1 : self.count].copy(),
            "relative_error": self.relative_error.copy(),
            "max_entry": self.max_entry.copy(),
            "max_score": self.max_score.copy(),
            "penalty_gram": self.penalty_gram.copy(),
            "loss_gram": self.loss_gram.copy(),
            **record(n_stored=self.n_stored),
        }

    def load_state_dict(self, state: dict[str, Array]) -> None:
        self.D[1 : len(state["D"]) + 1] = state["D"]
        self.n_stored = int(state["n_stored"])
        if self.n_stored < 0 or self.count != len(state["D"]) + 1:
            raise ValueError("its counters are not those of a run")
        for name in ("relative_error", "max_entry", "max_score", "penalty_gram", "loss_gram"):
            getattr(self, name)[...] = state[name]
