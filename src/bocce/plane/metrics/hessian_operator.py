"""Products of the Hessian with a direction, where there are several outputs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..._types import Array
from ...losses import Loss
from ...problems import Problem
from ...rows import Rows
from ...rows.dense import Dense

Bender = Callable[[Array], Array]

LARGE = 1 << 22  # multiplications of X v: fewer are done in float64
NARROW = 6  # columns for each output: with more, a copy of X would be larger than a few scores
SHARED = 1 << 24  # numbers of X: so many are copied where many runs share the copy
BLOCK = 1 << 16  # numbers of X, or scores, that are taken at a time: they stay in the cache


class HessianOperator:
    """sum_i c_i x_i (bend_i x_i^T v) / n, where ``look`` was last.

    ``parts``: the rows in memory, some at a time, as ``parts_of`` has them; None where they are
    had from ``problem.rows`` alone.
    """

    def __init__(self, problem: Problem, parts: list[Array] | None) -> None:
        self.rows, self.loss, self.y = problem.rows, problem.loss, problem.y
        self.weight, self.n = problem.weight, int(problem.n)
        self.parts = parts
        self.dtype: Any = np.dtype(np.float64) if parts is None else parts[0].dtype
        self.blocks: list[slice] = []
        self.benders: list[Bender] = []

    @property
    def rough(self) -> bool:
        """Are they in single precision?"""
        return bool(self.dtype == np.float32)

    def look(self, z: Array) -> None:
        """Keep what the second derivatives at the scores z are made of."""
        step = max(128, BLOCK // z.shape[1])
        sizes = [step] * (self.n // step) + [self.n % step]
        if self.parts is not None:
            sizes = [len(part) for part in self.parts]
        ends = np.cumsum([0, *sizes]).tolist()
        self.blocks = [slice(*pair) for pair in pairwise(ends)]
        self.benders = [self._bender(z, rows) for rows in self.blocks]

    def _bender(self, z: Array, rows: slice) -> Bender:
        c = None if self.weight is None else self.weight[rows].astype(self.dtype)
        return bender(self.loss, z[rows], self.y[rows], c, self.dtype)

    def times(self, v: Array) -> Array:
        if self.parts is None:
            u = self.rows.times(v)
            for rows, bend in zip(self.blocks, self.benders):
                u[rows] = bend(u[rows])
            return np.asarray(self.rows.combine(u)) / self.n
        total = np.zeros(v.shape)
        for x, bend in zip(self.parts, self.benders):
            total += x.T @ bend(x @ v)
        return np.asarray(total / self.n, dtype=self.dtype)


def parts_of(rows: Rows, outputs: int, rough: bool, shared: bool = False) -> list[Array] | None:
    """Views of X, or of a copy of it, that stay in the cache while they are used.

    ``rough``: in float32, if X is large. That takes a copy, which is made where it is no larger
    than three scores for each row and output, and is not needed where X is float32. ``shared``: by
    many runs, which may then be larger, up to 64 MB.
    """
    plain = isinstance(rows, Dense)
    as_it_is = plain and rows.dtype == np.float32
    fits = rows.d <= NARROW * outputs or as_it_is or (shared and rows.cost <= SHARED)
    if rough and fits and not rows.sparse and rows.cost * outputs > LARGE:
        whole = [rows.X] if as_it_is else [b.astype(np.float32) for b in rows.blocks()]
    elif plain and not as_it_is:
        whole = [rows.X]
    else:
        return None
    step = max(128, BLOCK // rows.d)
    return [block[k : k + step] for block in whole for k in range(0, len(block), step)]


def bender(loss: Loss, z: Array, y: Array, c: Array | None, dtype: Any) -> Bender:
    """u -> c bend u for each row; what depends on z alone is computed once, if the loss can."""
    own = loss.bender
    bend: Bender = lambda u: np.asarray(loss.bend_times(z, y, u), dtype)  # noqa: E731
    if own is not None:
        bend = own(z, dtype)
    return bend if c is None else lambda u: bend(u) * c[:, None]
