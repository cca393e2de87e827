"""Products of the Hessian with a direction, where there are several outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..rows.dense import Dense

Array = npt.NDArray[Any]
Bender = Callable[[Array], Array]

LARGE = 1 << 22  # multiplications of X v: fewer are done in float64
NARROW = 6  # columns for each output: with more, a copy of X would be larger than a few scores
BLOCK = 1 << 16  # numbers of X that are taken at a time: they stay in the cache


class Products:
    """sum_i c_i x_i (bend_i x_i^T v) / n, where ``look`` was last.

    ``rough``: in float32 (but for the sum over blocks of rows), if X is large. That takes a copy of
    X, which is made where it is as small as three scores for each row and output, and not needed
    where X is float32.
    """

    def __init__(self, problem: Any, outputs: int, rough: bool) -> None:
        self.rows, self.loss, self.y = problem.rows, problem.loss, problem.y
        self.weight, self.n = problem.weight, int(problem.n)
        plain = isinstance(self.rows, Dense)
        as_it_is = plain and self.rows.dtype == np.float32
        fits = self.rows.d <= NARROW * outputs or as_it_is
        large = self.rows.cost * outputs > LARGE and not self.rows.sparse
        self.rough = bool(rough and large and fits)
        self.dtype: Any = np.float32 if self.rough else np.float64
        step, self.parts = max(128, BLOCK // self.rows.d), None
        if self.rough or (plain and not as_it_is):
            self.parts = [
                block[k : k + step] for block in self._whole() for k in range(0, len(block), step)
            ]
        self.benders: list[Bender] = []

    def _whole(self) -> list[Array]:
        """X where it has the type that is wanted, else a copy."""
        if isinstance(self.rows, Dense) and self.rows.dtype == self.dtype:
            return [self.rows.X]
        return [block.astype(self.dtype) for block in self.rows.blocks()]

    def look(self, z: Array) -> None:
        """Keep what the second derivatives at the scores z are made of."""
        self.benders, start = [], 0
        for count in [self.n] if self.parts is None else [len(part) for part in self.parts]:
            rows = slice(start, start + count)
            c = None if self.weight is None else self.weight[rows].astype(self.dtype)
            self.benders.append(bender(self.loss, z[rows], self.y[rows], c, self.dtype))
            start += count

    def times(self, v: Array) -> Array:
        if self.parts is None:
            return np.asarray(self.rows.combine(self.benders[0](self.rows.times(v)))) / self.n
        total = np.zeros(v.shape)
        for x, bend in zip(self.parts, self.benders):
            total += x.T @ bend(x @ v)
        return (total / self.n).astype(self.dtype)


def bender(loss: Any, z: Array, y: Array, c: Array | None, dtype: Any) -> Bender:
    """u -> c bend u for each row; what depends on z alone is computed once, if the loss can."""
    own = getattr(loss, "bender", None)
    bend: Bender = own(z, dtype) if own else lambda u: np.asarray(loss.bend_times(z, y, u), dtype)
    return bend if c is None else lambda u: bend(u) * c[:, None]
