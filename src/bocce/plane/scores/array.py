"""The plane's scores of rows that are an array of another library: they stay where the rows are.

Scores, directions, slopes and bends are arrays of the rows' library on the rows' device, a list of
blocks each; what comes to the host are sums: a few numbers a look, and d of them a gradient.
"""

from __future__ import annotations

import math

import numpy as np

from ..._types import Array, Foreign
from ...problems import ArrayProblem
from ...rows.backend import set_row, to_host
from .base import EPS, Evaluation, Scores


class ArrayScores(Scores):
    """Scores of an ``ArrayProblem``."""

    def __init__(self, problem: ArrayProblem, memory: int, outputs: tuple[int, ...]) -> None:
        self.problem = problem
        self.n = int(problem.n)
        self.y = problem.y
        self.there = problem.there
        self.rows = problem.there.rows
        self.backend = self.rows.backend
        self.xp = self.rows.backend.xp
        self.eps = self.backend.eps  # of a product, which scores are made of
        shapes = [(memory + 1, part.stop - part.start, *outputs) for part in self.there.parts]
        like = {"dtype": self.backend.wide, "device": self.backend.device}
        self.U = [self.xp.zeros(shape, **like) for shape in shapes]
        self.z: list[Foreign] = []
        self.other: list[Foreign] = []
        self.moved: list[Foreign] = []
        self.at: list[Foreign] = []  # the scores last looked at
        self.slope: list[Foreign] = [None] * len(shapes)
        self.bend: list[Foreign] = [None] * len(shapes)
        self.total: Array | None = None  # X^T slope, where it is known already

    def start(self, w: Array) -> Evaluation:
        z: list[Foreign] = []
        sums: list[Foreign] = []

        def slopes(j: int, products: Foreign) -> Foreign:
            z.append(self.there.shifted(j, products))
            sums.append(self._derive(j, z[j]))
            return self.slope[j]

        total = self.rows.both(w, slopes)
        self.z = self.at = z
        self.total = np.asarray(total, dtype=np.float64)
        return self._looked(sums)

    def look(self) -> Evaluation:
        self.at = self.z
        self.total = None
        return self._looked([self._derive(j, z) for j, z in enumerate(self.z)])

    def try_step(self, c: Array) -> Evaluation:
        k = c.size
        there = self.backend.put(c)
        self.moved = []
        self.other = []
        self.total = None
        sums = []
        for j, (z, U) in enumerate(zip(self.z, self.U)):
            directions = self.xp.reshape(U[:k, ...], (k, -1))
            moved = self.xp.reshape(there @ directions, z.shape)
            self.moved.append(moved)
            self.other.append(z + moved)
            sums.append(self._derive(j, self.other[j], moved, directions))
        self.at = self.other
        return self._looked(sums)

    def _derive(self, j: int, z: Foreign, moved: Foreign = None, U: Foreign = None) -> Foreign:
        """Slopes and bends of a block are kept; returns its sums, as one vector on the device."""
        xp = self.xp
        value, self.slope[j], self.bend[j] = self.there.at(j, z)
        s = xp.reshape(self.slope[j], (-1,))
        scores = xp.reshape(z, (-1,))
        size = xp.sum(xp.abs(value)) + xp.sqrt(xp.sum(s * s)) * xp.sqrt(xp.sum(scores * scores))
        sums = [xp.sum(value), size]
        if U is None:
            return xp.stack(sums)
        return xp.concat([xp.stack([*sums, xp.max(xp.abs(moved))]), U @ s])

    def _looked(self, sums: list[Foreign]) -> Evaluation:
        """The sums of all blocks; their sizes count the rounding of the products with X."""
        found = to_host(self.xp.stack(sums)).astype(np.float64)
        value, size = (math.fsum(column) / self.n for column in found[:, :2].T)
        plane = found[:, 3:].sum(axis=0) / self.n
        if found.shape[1] > 2:
            self.max_change = float(found[:, 2].max())
        return Evaluation(value, size * self.eps / EPS, plane)

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        largest = []
        for j, u in enumerate(self.rows.scores(d)):
            self.U[j] = set_row(self.U[j], slot, u)
            largest.append(self.xp.max(self.xp.abs(u)))
        return float(to_host(self.xp.stack(largest)).max())

    def scale_direction(self, slot: int, factor: float) -> None:
        self.U = [set_row(U, slot, U[slot, ...] / factor) for U in self.U]

    def accept(self, slot: int, factor: float) -> None:
        self.z = self.other
        if slot:
            self.U = [set_row(U, slot, moved / factor) for U, moved in zip(self.U, self.moved)]

    def curvature(self, k: int, slot: int | None = None) -> Array:
        total: Foreign = 0.0
        for j, held in enumerate(self.U):
            U = held[:k, ...]
            V = U if slot is None else held[slot : slot + 1, ...]
            if self.bend[j] is not None:
                total = total + U @ (V * self.bend[j]).T
                continue
            y = self.there.y[j]
            c = self._weight(j)
            total = total + self.there.loss.bend_products(self.at[j], y, c, U, V)
        return to_host(total).astype(np.float64) / self.n

    def gradient(self) -> Array:
        if self.total is None:
            self.total = np.asarray(self.rows.total(self.slope), dtype=np.float64)
        return self.total

    def row_curvature(self) -> Array:
        bends = [self._row_bends(j) for j in range(len(self.at))]
        return np.concatenate([to_host(bend) for bend in bends]).astype(np.float64)

    def _row_bends(self, j: int) -> Foreign:
        if self.bend[j] is not None:
            return self.bend[j]
        bend = self.xp.mean(self.there.loss.bend(self.at[j], self.there.y[j]), axis=-1)
        if self._weight(j) is None:
            return bend
        return self._weight(j) * bend

    def _weight(self, j: int) -> Foreign:
        if self.there.weight is None:
            return None
        return self.there.weight[j]

    def state_dict(self, k: int) -> dict[str, Array]:
        U = [to_host(U[1:k, ...]) for U in self.U]
        return {
            "z": np.concatenate([to_host(z) for z in self.z]),
            "U": np.concatenate(U, axis=1),
        }

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        parts = self.there.parts
        self.z = [self.backend.put(state["z"][part]) for part in parts]
        for slot, u in enumerate(state["U"], start=1):
            self.U = [set_row(U, slot, self.backend.put(u[part])) for U, part in zip(self.U, parts)]
