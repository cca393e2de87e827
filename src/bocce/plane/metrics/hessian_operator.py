"""Products of the Hessian with a direction, where there are several outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._types import Array
from ...losses import Loss
from ...problems import Problem
from ...rows import Dense, Rows, Scaled
from ..parts import RowPart, parts_of

Bender = Callable[[Array], Array]
ScoresOf = Callable[[slice], Array]  # of some rows, at the point of the Hessian


@dataclass(frozen=True)
class OperatorLimits:
    """When products are in single precision, and what is kept for them.

    Attributes
    ----------
    rough : int
        Multiplications of X V; fewer are done in float64.
    rounded, scaled : int
        With as many outputs it pays to round rows to float32 in each product: rows that are stored
        in float64, and rows that are made of others.
    copied : int
        Numbers of rows of which a copy in float32 is kept, where rounding them each time does not
        pay, or where they are made of others.
    kept : int
        Probabilities that are kept between products; more are computed again.
    """

    rough: int = 1 << 22
    rounded: int = 8
    scaled: int = 64
    copied: int = 1 << 24
    kept: int = 1 << 22


LIMITS = OperatorLimits()


@dataclass(frozen=True)
class HessianRows:
    """The rows as products of the Hessian want them: in parts, and perhaps in single precision."""

    parts: list[RowPart]
    rough: bool

    @classmethod
    def of(
        cls, rows: Rows, outputs: int, rough: bool = True, limits: OperatorLimits = LIMITS
    ) -> HessianRows:
        """``rough``: in float32, where that pays."""
        parts = parts_of(rows, outputs)
        if rows.sparse or not rough or rows.cost * outputs <= limits.rough:
            return cls(parts, False)
        dense = isinstance(rows, Dense)
        if dense and (rows.dtype == np.float32 or outputs >= limits.rounded):
            return cls(parts, True)
        if rows.cost <= limits.copied:
            return cls([RowPart(part.place, narrowed(part.rows)) for part in parts], True)
        return cls(parts, not dense and outputs >= limits.scaled)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of directions, and of products."""
        return np.dtype(np.float32 if self.rough else np.float64)

    def of_part(self, part: RowPart) -> Rows:
        """The rows of a part."""
        return narrowed(part.rows) if self.rough else part.rows


def narrowed(rows: Rows) -> Rows:
    """Dense rows in float32: themselves, if they are."""
    if isinstance(rows, Dense):
        return rows if rows.dtype == np.float32 else Dense(rows.X.astype(np.float32))
    assert isinstance(rows, Scaled)
    return Dense(rows.made(slice(None), np.float32))


class HessianOperator:
    """sum_i c_i x_i (bend_i x_i^T v) / n, where ``look`` was last."""

    def __init__(
        self, problem: Problem, rows: HessianRows, limits: OperatorLimits = LIMITS
    ) -> None:
        self.loss, self.y, self.weight = problem.loss, problem.y, problem.weight
        self.n, self.rows, self.limits = int(problem.n), rows, limits
        self.benders: list[Bender] = []

    def look(self, scores: ScoresOf) -> None:
        """The second derivatives are those at these scores."""
        self.scores, self.benders = scores, []

    def _bender(self, part: RowPart) -> Bender:
        """u -> c bend u for each row of a part."""
        place, c = part.place, None if self.weight is None else self.weight[part.place]
        return bender(self.loss, self.scores(place), self.y[place], c, self.rows.dtype)

    def times(self, v: Array) -> Array:
        """The product with v."""
        keep = self.n * v.shape[1] <= self.limits.kept
        if keep and not self.benders:
            self.benders = [self._bender(part) for part in self.rows.parts]
        total = np.zeros(v.shape)
        for j, part in enumerate(self.rows.parts):
            rows = self.rows.of_part(part)
            bend = self.benders[j] if keep else self._bender(part)
            total += rows.combine(bend(rows.times(v)))
        return np.asarray(total / self.n, dtype=self.rows.dtype)


def bender(loss: Loss, z: Array, y: Array, c: Array | None, dtype: np.dtype[Any]) -> Bender:
    """u -> c bend u for each row; what depends on z alone is computed once, if the loss can."""
    bend: Bender = loss.bender(z, y, dtype)
    if c is None:
        return bend
    weight = c.astype(dtype)[:, None]
    return lambda u: bend(u) * weight
