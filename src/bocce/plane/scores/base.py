"""What a run on the plane keeps of the rows: the scores of w and of the directions.

All that is as long as the data is kept by the scores; the plane itself asks for sums, which are a
few numbers or d of them. So the rows may as well lie on a device or on other machines
(``bocce.ray``), and the plane's own lines are the same.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from ..._types import Array
from ...problems import Problem
from ..metrics.base import Sample
from .sampled import hessian_of

EPS = float(np.finfo(np.float64).eps)


class Evaluation(NamedTuple):
    """What an evaluation found: the mean loss, what rounding is a share of, and U s / n.

    An error eps of every loss and score changes the mean by at most eps ``scale``, a bound on the
    mean of |loss| + |slope z| + eps curvature z^2 / 2. (The last matters where slopes are zero only
    because scores are rounded.)
    """

    value: float
    scale: float
    plane_gradient: Array


class Scores(ABC):
    """z = X w, U = X D (a row for each direction), and the point z + c U that was last tried.

    ``eps`` is the relative rounding error of a product with X. "Here" is where the last evaluation
    was: at z after ``start`` and ``look``, at z + c U after ``try_step``. ``max_change`` is how far
    the step last tried moves the scores at most.
    """

    eps: float = EPS
    max_change: float = 0.0
    problem: Problem
    y: Array  # the targets

    @abstractmethod
    def start(self, w: Array) -> Evaluation:
        """Compute z = X w, and evaluate the loss at z."""

    @abstractmethod
    def look(self) -> Evaluation:
        """Evaluate the loss at z."""

    def first_direction(self) -> Array | None:
        """A direction that is known before any step; None where there is none."""
        return None

    def predicts_gradient(self, trusted: bool) -> bool:
        """Does ``add_direction`` take the gradient at the likely end of the step as well, so that
        going there costs no product of its own? ``trusted``: was the last prediction right?"""
        return False

    @abstractmethod
    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        """U[slot] = X d; returns how far d moves the scores at most. ``likely_step``: the multiple
        of d that will probably be taken (0: not known)."""

    @abstractmethod
    def scale_direction(self, slot: int, factor: float) -> None:
        """Divide U[slot]."""

    @abstractmethod
    def try_step(self, c: Array) -> Evaluation:
        """Evaluate the loss and its gradient in c at z + c U."""

    @abstractmethod
    def accept(self, slot: int, factor: float) -> None:
        """Go to the point last tried, and U[slot] = c U / factor unless slot is 0."""

    @abstractmethod
    def curvature(self, k: int, slot: int | None = None) -> Array:
        """U diag(c_i loss''_i) U^T / n of the first k directions here, or its column ``slot``."""

    @abstractmethod
    def gradient(self) -> Array:
        """sum_i c_i loss'_i x_i here."""

    def gradient_error(self) -> Array | None:
        """A bound on the error of each entry of the plane's gradient; None where the gradient is
        computed from the rows themselves."""
        return None

    def row_curvature(self) -> Array:
        """c_i loss''_i here; with several outputs the mean over them."""
        raise NotImplementedError

    def scores(self, place: slice) -> Array:
        """The scores of some rows, where there are several outputs."""
        raise NotImplementedError

    def hessian(self, sample: Sample) -> Array:
        """sum_i c_i loss''_i x_i x_i^T / n here, over all rows or a sample."""
        return hessian_of(self.problem.rows, self.row_curvature(), sample)

    def hessian_diagonal(self) -> Array:
        """The diagonal of the Hessian of all rows."""
        return np.asarray(self.problem.rows.squares(self.row_curvature()))

    def infimum(self) -> float:
        """A number that the mean loss cannot fall below."""
        least = np.asarray(self.problem.loss.infimum(self.y), dtype=np.float64)
        return float(self.problem.weighted(least).mean())

    def max_score(self) -> float:
        """The largest score; infinite where that is not known, or scores do not drift."""
        return math.inf

    @abstractmethod
    def state_dict(self, k: int) -> dict[str, Array]:
        """What cannot be had from w and the k - 1 displacements to the last bit."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        """Go on from there."""
