"""Products of the Hessian with a direction, for several outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._types import Array
from ...losses import Loss
from ...problems import Problem
from ...rows import Rows
from ..parts import RowPart, parts_of
from .base import ScoresOf

Curvature = Callable[[Array], Array]  # u -> c loss'' u, for each row


@dataclass(frozen=True)
class OperatorLimits:
    """When products are in single precision (0.7 of the time on 20,000 x 300 with ten classes), and
    what is stored for them."""

    rough: int = 1 << 22  # A product X V of fewer multiplications is computed in float64.
    rounded: int = 8  # With this many outputs, rows in float64 are rounded in each product.
    scaled: int = 64  # The same number for rows that are computed from others (``Scaled``).
    copied: int = 1 << 24  # Otherwise a copy in float32 is stored of up to this many numbers.
    kept: int = 1 << 22  # Up to this many probabilities are stored between products.


LIMITS = OperatorLimits()


@dataclass(frozen=True)
class HessianRows:
    """The rows for products with the Hessian: in parts, and perhaps in single precision."""

    parts: list[RowPart]
    rough: bool

    @classmethod
    def of(
        cls, rows: Rows, outputs: int, rough: bool = True, limits: OperatorLimits = LIMITS
    ) -> HessianRows:
        """``rough``: use float32 if that pays."""
        parts = parts_of(rows, outputs)
        if rows.sparse or not rough or rows.cost * outputs <= limits.rough:
            return cls(parts, False)
        if not rows.computed and (rows.dtype == np.float32 or outputs >= limits.rounded):
            return cls(parts, True)
        if rows.cost <= limits.copied:
            return cls([RowPart(part.place, part.rows.narrowed()) for part in parts], True)
        return cls(parts, rows.computed and outputs >= limits.scaled)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of directions and of products."""
        return np.dtype(np.float32 if self.rough else np.float64)

    def of_part(self, part: RowPart) -> Rows:
        if self.rough:
            return part.rows.narrowed()
        return part.rows


class HessianOperator:
    """sum_i c_i x_i (loss''_i x_i^T v) / n at the scores that ``look`` was given."""

    def __init__(
        self, problem: Problem, rows: HessianRows, limits: OperatorLimits = LIMITS
    ) -> None:
        self.loss = problem.loss
        self.y = problem.y
        self.weight = problem.weight
        self.n = int(problem.n)
        self.rows = rows
        self.limits = limits
        self.curvatures: list[Curvature] = []  # of all parts, if they are stored

    def look(self, scores: ScoresOf) -> None:
        """Take the second derivatives at these scores."""
        self.scores = scores
        self.curvatures = []

    def _curvature(self, part: RowPart) -> Curvature:
        place = part.place
        if self.weight is None:
            c = None
        else:
            c = self.weight[part.place]
        return curvature_of(self.loss, self.scores(place), self.y[place], c, self.rows.dtype)

    def times(self, v: Array) -> Array:
        keep = self.n * v.shape[1] <= self.limits.kept
        if keep and not self.curvatures:
            self.curvatures = [self._curvature(part) for part in self.rows.parts]
        total = np.zeros(v.shape)
        for j, part in enumerate(self.rows.parts):
            rows = self.rows.of_part(part)
            if keep:
                curvature = self.curvatures[j]
            else:
                curvature = self._curvature(part)
            total += rows.combine(curvature(rows.times(v)))
        return np.asarray(total / self.n, dtype=self.rows.dtype)


def curvature_of(
    loss: Loss, z: Array, y: Array, c: Array | None, dtype: np.dtype[Any]
) -> Curvature:
    """u -> c loss'' u for each row; what depends on z alone is computed once, if the loss can."""
    curvature: Curvature = loss.bender(z, y, dtype)
    if c is None:
        return curvature
    weight = c.astype(dtype)[:, None]
    return lambda u: curvature(u) * weight
