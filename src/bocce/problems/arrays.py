"""A problem whose rows are an array of another library: losses are computed where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Foreign, Vector
from ..losses.lifted import derivatives
from ..rows import Array, ArrayRows, Index, foreign
from .cache import depends_on
from .look import Look
from .problem import Problem


class OnDevice:
    """Targets and weights on the device, in the blocks of the rows, and the loss for them."""

    def __init__(self, problem: Problem) -> None:
        rows: Any = problem.rows  # ``ArrayRows``, which ``ArrayProblem`` serves
        loss = problem.loss
        self.rows: ArrayRows = rows
        self.backend = backend = rows.backend
        self.parts = rows.parts(int(np.prod(problem.shape[1:])))
        if loss.multi_output:
            encoded = backend.indices
        else:
            encoded = backend.put
        self.y = [encoded(problem.y[part]) for part in self.parts]
        self.weight = self.added = None
        if (added := problem.added()) is not None:
            self.added = [backend.put(added[part]) for part in self.parts]
        if problem.weight is not None:
            self.weight = [backend.put(problem.weight[part]) for part in self.parts]
        self.loss = loss
        self.three = derivatives(loss, backend.xp, backend.wide)

    def shifted(self, j: int, products: Foreign) -> Foreign:
        """The scores of block j, from its products with w."""
        if self.added is None:
            return products
        return products + self.added[j]

    def at(self, j: int, z: Foreign) -> tuple[Foreign, Foreign, Foreign]:
        """Value, slope and bend of the rows of block j at the scores z, times the weights."""
        value, slope, bend = self.three(z, self.y[j])
        if self.weight is None:
            return value, slope, bend
        c = self.weight[j]
        if slope.ndim == 1:
            slope = c * slope
        else:
            slope = c[:, None] * slope
        return c * value, slope, None if bend is None else c * bend


class ArrayProblem(Problem, serves=lambda X: isinstance(X, ArrayRows) or foreign(X)):
    """``Problem`` on an array of another library, which stays on its device.

    Values and gradients over all rows are computed on the device. For batches, constants and the
    minimiser only the products with X are computed there.
    """

    there = depends_on("rows", "weights", "targets", "loss")(OnDevice)

    def look(self, w: Array, rows: Index | None = None) -> Look:
        if rows is not None:
            return super().look(w, rows)
        sums = []

        def slopes(j: int, products: Foreign) -> Foreign:
            value, slope, _ = self.there.at(j, self.there.shifted(j, products))
            sums.append(self.there.backend.xp.sum(value))
            return slope

        gradient = self.there.rows.both(w, slopes) / self.n
        value = sum(float(part) for part in sums) / self.n
        return Look(value + self.ridge_value(w), gradient + self.penalty_gradient(w))

    def value(self, w: Vector, rows: Index | None = None) -> float:
        if rows is not None:
            return super().value(w, rows)
        return self.look(self.point(w)).value

    def gradient(self, w: Vector, rows: Index | None = None) -> Array:
        if rows is not None:
            return super().gradient(w, rows)
        return self.look(self.point(w)).gradient
