"""The objective of a problem: its value and gradient, over all rows or a batch of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Design, Vector
from ..rows import Array, Index, Rows, digest
from .cache import Immutable, depends_on
from .look import Look
from .variables import Variables, by_row


class Objective(Immutable, Variables):
    """1/n sum_i c_i loss(x_i . w, y_i) + l2/2 sum_j r_j w_j^2, as a function of w.

    In all methods ``rows`` are the numbers of some rows (None: all rows), and z are their scores
    x_i . w: one score a row, or with softmax one for each class.
    """

    given: Rows  # as they were given
    has_column = False  # is the intercept's column part of them?
    y: Array  # as the loss wants them
    weight: Array | None
    n: int

    @depends_on("rows")
    def rows(self) -> Rows:
        """One number a variable: the rows that were given, with a 1 behind for an intercept."""
        return self.given.with_column() if self.intercept > self.has_column else self.given

    @property
    def X(self) -> Design:
        """The caller's array."""
        return self.given.X

    @property
    def sparse(self) -> bool:
        return self.given.sparse

    @property
    def in_parts(self) -> bool:
        """Are the rows read from elsewhere, a part at a time?"""
        return self.given.in_parts

    def fingerprint(self) -> str:
        """The identity of the problem for a checkpoint: a hash of the data, the loss and l2."""
        extras = (np.zeros(0) if a is None else a for a in (self.weight, self.penalty))
        data = digest(self.y, *extras)
        name, rows = self.loss.problem_name, self.given.fingerprint()
        return f"{name} {self.loss!r} {rows} {data} l2={self.l2!r}"

    def weighted(self, values: Array, rows: Index | slice | None = None) -> Array:
        """c_i times the value of row i."""
        if self.weight is None:
            return values
        weight = self.weight if rows is None else self.weight[rows]
        return values * weight.reshape(-1, *(1,) * (values.ndim - 1))

    def predict(self, w: Array, rows: Index | None = None) -> Array:
        """The scores x_i . w."""
        return self.rows.times(w, rows)

    def combine(self, coefficients: Array, rows: Index | None = None) -> Array:
        """The sum of c_i x_i over rows."""
        return self.rows.combine(coefficients, rows)

    @property
    def largest_row2(self) -> float:
        """max_i c_i ||x_i||^2."""
        return float(self.weighted(self.rows.norms2).max())

    @property
    def mean_row2(self) -> float:
        return float(self.weighted(self.rows.norms2).mean())

    @property
    def target2(self) -> float:
        """The mean of c_i y_i^2."""
        return float(self.weighted(self.y.real) @ self.y.real) / self.n

    @depends_on("weights", "targets")
    def mean_target(self) -> Any:
        """The mean of c_i y_i; of several classes, the share of each."""
        if self.loss.multi_output:
            return np.bincount(self.y, self.weight, minlength=len(self.classes)) / self.n
        return float(self.weighted(self.y.real).mean())

    def gram_times(self, v: Array) -> Array:
        """sum_i c_i x_i x_i^T v / n."""
        return self.combine(self.weighted(self.predict(v))) / self.n

    def largest_projection2(self, directions: Array) -> float:
        """max_i c_i ||x_i^T D||^2 for the columns of D."""
        return float(self.weighted(self.rows.projections2(directions)).max())

    @property
    def units(self) -> int:
        """How many things a batch is drawn from: the rows (in a block file, the blocks)."""
        return self.n

    def units_in(self, b: int) -> int:
        """The number of units, rows or blocks, of a batch of b rows."""
        return b

    def whole_batch(self, b: int) -> int:
        """The batch size nearest to b that can be drawn."""
        return b

    def batch_gradient(self, w: Array, units: Index) -> Array:
        """The unbiased estimate of the gradient from the units drawn."""
        return self.gradient(w, units)

    def losses(self, z: Array, rows: Index | None = None) -> Array:
        """c_i loss(z_i, y_i)."""
        return self.weighted(self.loss.value(z, self._of(rows)), rows)

    def slopes(self, z: Array, rows: Index | None = None) -> Array:
        """c_i times the derivative of the loss at z_i."""
        return self.weighted(self.loss.slope(z, self._of(rows)), rows)

    def bends(self, z: Array, rows: Index | None = None) -> Array:
        """c_i times the second derivative of the loss at z_i."""
        return self.weighted(self.loss.bend(z, self._of(rows)), rows)

    def bend_times(self, z: Array, u: Array) -> Array:
        """c_i times the second derivative of the loss at z_i, times u_i."""
        return self.weighted(self.loss.bend_times(z, self.y, u))

    def _of(self, rows: Index | None) -> Array:
        return self.y if rows is None else self.y[rows]

    def look(self, w: Array, rows: Index | None = None) -> Look:
        """The objective and its gradient, over all rows or the mean over some, plus the l2 term."""
        z = self.predict(w, rows)
        slopes = self.slopes(z, rows)
        value = float(self.losses(z, rows).mean()) + self.ridge_value(w)
        return Look(value, self.combine(slopes, rows) / slopes.shape[0] + self.penalty_gradient(w))

    def value(self, w: Vector, rows: Index | None = None) -> float:
        """f(w), or the mean over ``rows`` plus the l2 term.

        Parameters
        ----------
        w, rows : array-like
            The point (one number a variable), and the numbers of the rows (None: all).

        Returns
        -------
        float
        """
        w = self.point(w)
        return float(self.losses(self.predict(w, rows), rows).mean()) + self.ridge_value(w)

    def gradient(self, w: Vector, rows: Index | None = None) -> Array:
        """The gradient of f, or of the mean over ``rows`` plus the l2 term.

        Parameters
        ----------
        w, rows : array-like
            The point (one number a variable), and the numbers of the rows (None: all).

        Returns
        -------
        ndarray
        """
        w = self.point(w)
        slopes = self.slopes(self.predict(w, rows), rows)
        return np.asarray(self.combine(slopes, rows) / slopes.shape[0] + self.penalty_gradient(w))

    def row_gradient_mean2(self, w: Vector) -> float:
        """mean_i ||grad f_i(w)||^2, f_i with its l2 term."""
        w = self.point(w)
        z, pull = self.predict(w), self.penalty_gradient(w)
        slopes = self.slopes(z)
        across = self.l2 * z if self.penalty is None else self.predict(pull)
        squares = by_row(slopes**2) * self.rows.norms2 + 2 * by_row(slopes * across)
        return float(max(0.0, squares.mean() + np.vdot(pull, pull)))
