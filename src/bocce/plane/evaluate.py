"""All that a step on the plane does with the n scores: one sweep, a block at a time, in cache.

A block is read once and gives its part of the loss, of the slopes and bends, and of the gradient
on the plane. Element-wise functions find their numbers in the cache, and nothing as long as the
data is made beyond what is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from .._types import Array
from ..losses import Loss
from ..problems import Problem

Three = Callable[[Array, Array], tuple[Array, Array, Array]]

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)  # of a mean over blocks, and of its scores
BLOCK = 1 << 13  # numbers of one vector: a dozen such blocks stay in the second-level cache


class Evaluation(NamedTuple):
    """What an evaluation found: the mean loss, what rounding is a share of, and U s / n.

    An error eps of every loss and score changes the mean by at most eps ``scale``, a bound on the
    mean of |loss| + |slope z| + eps curvature z^2 / 2. (The last matters where slopes are zero only
    because scores are rounded.)
    """

    value: float
    scale: float
    plane_gradient: Array


def infimum(loss: Loss, y: Array, weight: Array | None) -> float:
    """The mean over rows of the least that the loss can be."""
    least = np.asarray(loss.infimum(y), dtype=np.float64)
    return float(least.mean() if weight is None else (least * weight).mean())


def rounding_of(loss: Any) -> float:
    """What a squared score counts in the ``scale`` of an evaluation."""
    return 0.5 * ROUNDING * (loss.curvature or 0.0)


def sum_and_size(value: Array, slope: Array, z: Array, rounding: float) -> tuple[float, float]:
    """The sum of some rows' losses, and their part of ``Evaluation.scale``."""
    total = float(np.add.reduce(value))
    size = total if np.minimum.reduce(value) >= 0.0 else float(np.add.reduce(np.abs(value)))
    slope, z = slope.reshape(-1), z.reshape(-1)
    scores2 = float(z @ z)
    size += rounding * scores2
    return total, size + math.sqrt(float(slope @ slope)) * math.sqrt(scores2)


class RowwiseLoss:
    """The element-wise part of f: 1/n sum_i c_i loss(z_i, y_i), and its derivatives in z.

    ``slope`` and ``bend`` hold the derivatives (times the weights) at the scores last looked at.
    Scores may be a matrix, one column an output: bends are then not kept, and
    ``loss.bend_products(z, y, c, U, V)`` is the sum of c_i u_i^T bend_i v_i over rows for all pairs
    of directions.
    """

    def __init__(
        self,
        problem: Problem | SimpleNamespace,
        shape: tuple[int, ...],
        blocks: list[slice] | None = None,
    ) -> None:
        self.loss, self.y, self.weight = problem.loss, problem.y, problem.weight
        self.n = shape[0]
        self.slope = np.empty(shape)
        self.vector = len(shape) == 1
        self.bend = np.empty(shape) if self.vector else np.empty(0)
        self.at = self.slope  # the scores last looked at
        step = max(1, BLOCK // max(1, math.prod(shape[1:])))
        even = [slice(start, start + step) for start in range(0, self.n, step)]
        self.blocks = even if blocks is None else blocks
        self.rounding = rounding_of(self.loss)
        self.three: Three = self.loss.value_slope_bend

    def stand_at(self, z: Array) -> None:
        """The derivatives are those at the scores z."""
        self.at = z

    def look(self, z: Array) -> Evaluation:
        """The loss and its derivatives at the scores z."""
        self.at, values, sizes = z, [], []
        for rows in self.blocks:
            value, size = self._derivatives(z[rows], rows)
            values.append(value)
            sizes.append(size)
        return Evaluation(math.fsum(values) / self.n, math.fsum(sizes) / self.n, np.zeros(0))

    def move(self, z: Array, U: Array, c: Array, moved: Array, out: Array) -> Evaluation:
        """The same at z + c U, which goes into ``out``, and c U into ``moved``."""
        if len(self.blocks) == 1:
            return self._move_at_once(z, U.reshape(c.size, -1), c, moved, out)
        self.at, values, sizes, plane = out, [], [], np.zeros(c.size)
        for rows in self.blocks:
            part = U[:, rows].reshape(c.size, -1)
            shift = moved[rows]
            np.dot(c, part, out=shift.reshape(-1))
            value, size = self._derivatives(np.add(z[rows], shift, out=out[rows]), rows)
            values.append(value)
            sizes.append(size)
            plane = plane + part @ self.slope[rows].reshape(-1)
        return Evaluation(math.fsum(values) / self.n, math.fsum(sizes) / self.n, plane / self.n)

    def _move_at_once(self, z: Array, U: Array, c: Array, moved: Array, out: Array) -> Evaluation:
        """The same for rows that are one block: nothing is cut, and nothing is summed up."""
        self.at = out
        np.dot(c, U, out=moved.reshape(-1))
        value, size = self._derivatives(np.add(z, moved, out=out), self.blocks[0])
        plane = np.dot(U, self.slope.reshape(-1))
        plane /= self.n
        return Evaluation(value / self.n, size / self.n, plane)

    def _derivatives(self, z: Array, rows: slice) -> tuple[float, float]:
        """The sum of the losses of a block, and its size; slopes and bends are kept."""
        value, slope, bend = self.three(z, self.y[rows])
        if self.weight is None:
            self.slope[rows] = slope
            if self.vector:
                self.bend[rows] = bend
        else:
            c = self.weight[rows]
            value = value * c
            np.multiply(slope.T, c, out=self.slope[rows].T)
            if self.vector:
                np.multiply(bend, c, out=self.bend[rows])
        return sum_and_size(value, self.slope[rows], z, self.rounding)

    def gram(self, U: Array, V: Array) -> Array:
        """sum_i u_i^T bend_i v_i / n over the rows, for the directions U and V."""
        total: Any = 0.0
        for rows in self.blocks:
            if self.vector:
                total = total + np.dot(U[:, rows], (V[:, rows] * self.bend[rows]).T)
                continue
            z, y, c = (
                self.at[rows],
                self.y[rows],
                None if self.weight is None else self.weight[rows],
            )
            total = total + self.loss.bend_products(z, y, c, U[:, rows], V[:, rows])
        return np.asarray(total) / self.n

    def row_bends(self) -> Array:
        """What a row's second derivative is, as one number: with several outputs, the mean of its
        diagonal."""
        return self.bend if self.vector else np.concatenate([self.bends_of(b) for b in self.blocks])

    def bends_of(self, rows: slice) -> Array:
        """The same, of some rows."""
        if self.vector:
            return self.bend[rows]
        means = np.asarray(self.loss.bend(self.at[rows], self.y[rows]).mean(axis=1))
        return means if self.weight is None else means * self.weight[rows]
