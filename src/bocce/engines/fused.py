"""All that a plane step does with the n scores: one sweep a block at a time, in cache.

A block is read once and gives its part of the loss, the slopes and the bends, and of the gradient
on the plane. So nothing as long as the data is made beyond what is kept, and an element-wise
function finds its numbers in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

BLOCK = 1 << 13  # numbers of one vector: a dozen such blocks stay in the second-level cache


class Looked(NamedTuple):
    """What a sweep found: the mean loss, the mean of its absolute values, and U s / n."""

    value: float
    size: float
    plane: Array


class Sweep:
    """The element-wise part of f: sum_i c_i loss(z_i, y_i) / n, and its derivatives in z.

    ``slope`` and ``bend`` hold the derivatives (times the weights) at the scores last looked at.
    Scores may be a matrix, a column an output; ``loss.bend_times(z, y, u)`` is then the product
    with the second derivative of a row.
    """

    def __init__(self, problem: Any, shape: tuple[int, ...]) -> None:
        self.loss, self.y, self.n = problem.loss, problem.y, int(problem.n)
        self.weight = problem.weight
        self.slope = np.empty(shape)
        self.bend = np.empty(shape) if len(shape) == 1 else None
        self.at = np.zeros(0)  # the scores last looked at
        per_row = int(np.prod(shape[1:], dtype=int))
        self.rows_a_block = max(1, BLOCK // max(1, per_row))
        together = getattr(self.loss, "together", None)
        self._three = together if together is not None else self._one_by_one

    def _one_by_one(self, z: Array, y: Array) -> tuple[Array, Array, Array]:
        return self.loss.value(z, y), self.loss.slope(z, y), self.loss.bend(z, y)

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, self.n, self.rows_a_block):
            yield slice(start, start + self.rows_a_block)

    def look(self, z: Array) -> Looked:
        """The loss, the slopes and the bends at the scores z."""
        return self.move(z, z[None], np.zeros(1), None, None)

    def move(self, z: Array, U: Array, c: Array, moved: Array | None, out: Array | None) -> Looked:
        """The same at z + c U, which goes into ``out``, and c U into ``moved``."""
        values, sizes, plane = [], [], np.zeros(c.size)
        for rows in self._blocks():
            if out is None or moved is None:
                at = z[rows]
            else:
                np.dot(c, U[:, rows], out=moved[rows]) if U.ndim == 2 else self._turn(U, c, moved, rows)
                at = np.add(z[rows], moved[rows], out=out[rows])
            value, slope = self._derivatives(at, rows)
            values.append(float(value.sum()))
            sizes.append(values[-1] if value.min() >= 0.0 else float(np.abs(value).sum()))
            if out is not None:
                plane += U[:, rows].reshape(c.size, -1) @ slope.reshape(-1)
        self.at = z if out is None else out
        return Looked(math.fsum(values) / self.n, math.fsum(sizes) / self.n, plane / self.n)

    @staticmethod
    def _turn(U: Array, c: Array, moved: Array, rows: slice) -> None:
        np.einsum("k,knj->nj", c, U[:, rows], out=moved[rows])

    def _derivatives(self, z: Array, rows: slice) -> tuple[Array, Array]:
        """The losses and slopes of a block; slopes and bends are kept."""
        y, slope = self.y[rows], self.slope[rows]
        if self.bend is None:
            value, slope[...] = self.loss.value(z, y), self.loss.slope(z, y)
        else:
            value, slope[...], self.bend[rows] = self._three(z, y)
        if self.weight is not None:
            c = self.weight[rows]
            value = value * c
            slope *= c if slope.ndim == 1 else c[:, None]
            if self.bend is not None:
                self.bend[rows] *= c
        return value, slope

    def gram(self, U: Array, V: Array | None = None) -> Array:
        """sum_i u_i^T bend_i v_i / n over the rows, for the directions U and V."""
        V = U if V is None else V
        total = np.zeros((U.shape[0], V.shape[0]))
        for rows in self._blocks():
            bent = self._bent(V[:, rows], rows).reshape(V.shape[0], -1)
            total += U[:, rows].reshape(U.shape[0], -1) @ bent.T
        return total / self.n

    def _bent(self, V: Array, rows: slice) -> Array:
        if self.bend is not None:
            return V * self.bend[rows]
        z, y = self.at[rows], self.y[rows]
        bent = np.stack([self.loss.bend_times(z, y, v) for v in V])
        return bent if self.weight is None else bent * self.weight[rows][:, None]
