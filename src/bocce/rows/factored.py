"""Moments whose squares are never formed: for streams, whose digits a Gram matrix would lose.

With r_i = (1, x_i, y_i), that is the triangular factor R of the rows sqrt(c_i) r_i:

    R^T R = sum_i c_i r_i r_i^T,

and its first row holds the mean. Two sets of rows make one whose factor is that of both factors
about the joint mean, one upon the other. So no sum is taken about a point far from its rows, and no
condition number is squared.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import lstsq

from .._types import Array
from .moments import Moments

FLAT_COLUMN = 1e-12  # of the longest column, all scaled alike: what is shorter is rounding


class FactoredMoments(Moments):
    """Moments of rows with a 1 behind each, about ``centre``, by their triangular factor.

    >>> rows = FactoredMoments.of(np.array([[1.0], [3.0]]), np.array([2.0, 0.0]))
    >>> rows = rows + FactoredMoments.of(np.array([[8.0]]), np.array([1.0]))
    >>> rows.weight, rows.mean.round(12).tolist(), np.diag(rows.gram).round(12).tolist()
    (3.0, [4.0, 1.0], [8.666666666667, 1.0])
    """

    root: Array
    targets: tuple[int, ...]  # the shape of a row of y

    def __init__(
        self, root: Array, n: float, centre: Array | None, targets: tuple[int, ...], unit: float
    ) -> None:
        fields = {"root": root, "n": n, "centre": centre, "targets": targets, "unit": unit}
        self.__dict__.update(fields)  # they are read-only

    @classmethod
    def of(
        cls, X: Array, y: Array, weights: Array | None = None, centre: Array | None = None
    ) -> FactoredMoments:
        """Of rows in memory, about their mean unless another centre is given."""
        c = np.ones(len(X)) if weights is None else weights
        n = float(c.sum())
        rows = np.column_stack([X, y])
        with np.errstate(over="ignore", invalid="ignore"):
            if centre is None:
                centre = c @ rows / n
            made = np.column_stack([np.ones(len(rows)), rows - centre])
            made *= np.sqrt(c)[:, None]
            return cls(triangle(made), n, centre, y.shape[1:], 1.0)

    @cached_property
    def sound(self) -> bool:
        return bool(np.isfinite(self.root).all())

    @property
    def weight(self) -> float:
        return self.n

    @property
    def mean(self) -> Array:
        assert self.centre is not None
        return np.asarray(self.centre + self.root[0, 1:] / self.root[0, 0])

    @property
    def variances(self) -> Array:
        columns = slice(1, self.root.shape[1] - math.prod(self.targets))
        return np.asarray(np.square(self.root[1:, columns]).sum(axis=0) / self.n)

    def about(self, centre: Array) -> FactoredMoments:
        """Of the same rows, less another centre: only the first row of the factor changes."""
        assert self.centre is not None
        root = self.root.copy()
        root[0, 1:] -= root[0, 0] * (centre - self.centre)
        return FactoredMoments(root, self.n, centre, self.targets, self.unit)

    def _joined(self, other: Self) -> FactoredMoments:  # type: ignore[override]
        root = triangle(np.vstack([self.root, other.root]))
        return FactoredMoments(root, self.n + other.n, self.centre, self.targets, self.unit)

    def without_unit(self) -> FactoredMoments:
        return FactoredMoments(triangle(self.root[:, 1:]), self.n, None, self.targets, 0.0)

    @cached_property
    def _columns(self) -> tuple[Array, Array]:
        """The columns of the factor: one a variable, that of the unit last, and the targets."""
        split = self.root.shape[1] - math.prod(self.targets)
        variables = np.roll(self.root[:, :split], -int(self.unit), axis=1)
        return variables, self.root[:, split:].reshape(-1, *self.targets)

    @cached_property
    def gram(self) -> Array:  # type: ignore[override]
        A, _ = self._columns
        return np.asarray(A.T @ A / self.n)

    @cached_property
    def moment(self) -> Array:  # type: ignore[override]
        A, b = self._columns
        return np.asarray(A.T @ b / self.n)

    @cached_property
    def target2(self) -> Any:  # type: ignore[override]
        return np.square(self._columns[1]).sum(axis=0) / self.n

    def value(self, w: Array) -> Any:
        A, b = self._columns
        return 0.5 * np.square(b - A @ w).sum(axis=0) / self.n

    def solve(self, ridge: Array) -> Array:
        """The minimum with this ridge, of least norm among several: a column for each target."""
        A, b = self._columns
        A = np.vstack([A, np.diag(np.sqrt(self.n * ridge))])
        b = np.concatenate([b, np.zeros((ridge.size, *self.targets))])
        largest = np.abs(A).max(axis=0)
        largest[largest == 0.0] = 1.0
        size = np.sqrt(np.square(A / largest).sum(axis=0)) * largest  # squares might overflow
        size[size == 0.0] = 1.0
        u = lstsq(A / size, b, cond=FLAT_COLUMN, lapack_driver="gelsy")[0]
        return np.asarray((u.T / size).T)

    def eigen(self) -> tuple[Array, Array]:
        """By the singular values of the factor."""
        A, _ = self._columns
        _, lengths, vectors = np.linalg.svd(A, full_matrices=False)
        return lengths[::-1] ** 2 / self.n, vectors[::-1].T


def triangle(rows: Array) -> Array:
    """R of the decomposition of rows into an orthogonal and a triangular matrix.

    >>> float(abs(triangle(np.array([[3.0], [4.0]]))[0, 0]).round(12))
    5.0
    """
    return np.asarray(np.linalg.qr(rows, mode="r"))
