"""The variables of a problem: how many there are, their shape, and the penalty on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _renamed
from .._types import Vector
from ..losses import Loss
from ..rows import Array
from ._input import check_point


def by_row(values: Array) -> Array:
    """Sums over the scores of a row."""
    return np.asarray(values.reshape(values.shape[0], -1).sum(axis=1))


class Variables:
    """The variables of a problem: d, one more for an intercept, a column of them for each class."""

    loss: Loss
    d: int
    l2: float
    penalty: Array | None
    intercept: bool
    classes: Any

    @property
    def width(self) -> int:
        """How many variables there are: d, and one more for an intercept."""
        return self.d + self.intercept

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of w: a vector, or a column for each class where a row has a score for each."""
        return (self.width, len(self.classes)) if self.loss.multi_output else (self.width,)

    @property
    def ridge(self) -> Any:
        """l2, or where there is a penalty, l2 r_j."""
        return self.l2 if self.penalty is None else self.l2 * self.penalty

    @property
    def ridges(self) -> Array:
        """l2 r_j for every variable."""
        return np.array(np.broadcast_to(self.ridge, self.width), dtype=np.float64)

    def penalty_gradient(self, w: Array) -> Array:
        """The gradient of the penalty: l2 r_j w_j, for the variables of column j."""
        return np.asarray((self.ridge * w.T).T)

    def ridge_value(self, w: Array) -> float:
        """l2/2 sum_j r_j w_j^2."""
        return 0.5 * float(np.vdot(self.penalty_gradient(w), w))

    def point(self, w: Vector, name: str = "w") -> Array:
        """``w`` as a float64 array, one number a variable, checked."""
        more = " and the intercept is one more variable" if self.intercept else ""
        more += f"; y has {len(self.classes)} classes" if self.loss.multi_output else ""
        return check_point(
            self.loss.problem_name, name, w, self.shape, f"X has {self.d} columns{more}"
        )

    def split_intercept(self, u: Array) -> tuple[Array, Any]:
        """The variables as (w, intercept): a number, or one for each class."""
        if not self.intercept:
            return u, 0.0
        return u[:-1], (u[-1].copy() if self.loss.multi_output else float(u[-1]))

    def join_intercept(self, w: Array, intercept: Any) -> Array:
        """The variables, from their parts."""
        return np.concatenate([w, np.asarray(intercept)[None]]) if self.intercept else w

    pull = _renamed.method("Problem", "pull", "penalty_gradient")
    parted = _renamed.method("Problem", "parted", "split_intercept")
    joined = _renamed.method("Problem", "joined", "join_intercept")
