"""What a run on the plane keeps of the rows: the scores of w and of the directions.

All that is as long as the data is kept by the scores; the plane itself asks for sums, which are a
few numbers or d of them. So the rows may as well lie on a device or on other machines
(``bocce.ray``), and the plane's own lines are the same.
"""

from __future__ import annotations

from typing import Protocol

from ..._types import Array
from ..evaluate import Evaluation
from ..metrics.base import Sample


class Scores(Protocol):
    """z = X w, U = X D (a row for each direction), and the point z + c U that was last tried.

    ``eps`` is the relative rounding error of a product with X. "Here" is where the last evaluation
    was: at z after ``start`` and ``look``, at z + c U after ``try_step``.
    """

    eps: float

    def start(self, w: Array) -> Evaluation:
        """Compute z = X w, and evaluate the loss at z."""

    def look(self) -> Evaluation:
        """Evaluate the loss at z."""

    def first_direction(self) -> Array | None:
        """A direction that is known before any step; None where there is none."""

    def predicts_gradient(self, trusted: bool) -> bool:
        """Does ``add_direction`` take the gradient at the likely end of the step as well, so that
        going there costs no product of its own? ``trusted``: was the last prediction right?"""

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        """U[slot] = X d; returns how far d moves the scores at most. ``likely_step``: the multiple
        of d that will probably be taken (0: not known)."""

    def scale_direction(self, slot: int, factor: float) -> None:
        """Divide U[slot]."""

    def try_step(self, c: Array) -> Evaluation:
        """Evaluate the loss and its gradient in c at z + c U."""

    @property
    def max_change(self) -> float:
        """How far the step last tried moves the scores at most."""

    def accept(self, slot: int, factor: float) -> None:
        """Go to the point last tried, and U[slot] = c U / factor unless slot is 0."""

    def curvature(self, k: int, slot: int | None = None) -> Array:
        """U diag(c_i loss''_i) U^T / n of the first k directions here, or its column ``slot``."""

    def infimum(self) -> float:
        """A number that the mean loss cannot fall below."""

    def gradient(self) -> Array:
        """sum_i c_i loss'_i x_i here."""

    def gradient_error(self) -> Array | None:
        """A bound on the error of each entry of the plane's gradient; None where the gradient is
        computed from the rows themselves."""

    def hessian(self, sample: Sample) -> Array:
        """sum_i c_i loss''_i x_i x_i^T / n here, over all rows or a sample."""

    def hessian_diagonal(self) -> Array:
        """The diagonal of the Hessian of all rows."""

    def row_curvature(self) -> Array:
        """c_i loss''_i here; with several outputs the mean over them."""

    def max_score(self) -> float:
        """The largest score; infinite where that is not known, or scores do not drift."""

    def state_dict(self, k: int) -> dict[str, Array]:
        """What cannot be had from w and the k - 1 displacements to the last bit."""

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        """Go on from there."""
