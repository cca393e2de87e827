"""Two metrics that every policy may use: the identity, and a matrix by its Cholesky factor."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack

from ..._types import Array

# A diagonal entry below this share of the largest entry is the rounding error of a constant column.
BLANK = 1e-26


class Identity:
    """P = I. There is one such object, ``IDENTITY``: a run compares its metric with it.

    >>> Identity().solve(np.array([1.0, 2.0])), Identity() is IDENTITY
    (array([1., 2.]), True)
    """

    newton_like = False
    _only: ClassVar[Identity | None] = None

    def __new__(cls) -> Identity:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def solve(self, g: Array) -> Array:
        return g

    def gap(self, g: Array) -> float:
        return math.inf

    def state_dict(self) -> dict[str, Array]:
        return {}


IDENTITY = Identity()


class FactorMetric:
    """P by its Cholesky factor, scaled to a unit diagonal; or a diagonal P, which has no factor.

    Parameters
    ----------
    root, factor : ndarray, ndarray or None
        The square root of P's diagonal, and the factor of the scaled P.

    Examples
    --------
    >>> P = FactorMetric.of(np.array([[4.0, 2.0], [2.0, 2.0]]), 1.0)
    >>> P.solve(np.array([7.0, 5.0])).round(6)
    array([1., 1.])
    >>> FactorMetric.of(np.array([4.0, 2.0]), 1.0).solve(np.array([5.0, 3.0]))
    array([1., 1.])
    """

    def __init__(self, root: Array, factor: Array | None = None) -> None:
        self.root = root
        self.factor = factor
        self.newton_like = factor is not None

    @classmethod
    def of(cls, H: Array, ridge: float | Array, unseen: float = 1.0) -> FactorMetric | Identity:
        """The metric H + ridge.

        Parameters
        ----------
        H, ridge : ndarray, float or ndarray
            A Hessian or only its diagonal, and the penalty of each variable.
        unseen : float
            A column without curvature gets the mean of the others times this.

        Returns
        -------
        FactorMetric or Identity
            The identity if curvature overflows.
        """
        P = np.array(H, dtype=np.float64)
        diagonal = (P if P.ndim == 1 else P.diagonal()) + ridge
        highest = float(np.maximum.reduce(diagonal, initial=0.0))
        if not highest < math.inf:
            return Identity()
        if not np.minimum.reduce(diagonal, initial=1.0) > BLANK * highest:
            blank = ~(diagonal > BLANK * highest)
            rest = diagonal[~blank]
            if rest.size:
                diagonal[blank] = unseen * float(rest.mean())
            else:
                diagonal[blank] = 1.0
        root = np.asarray(np.sqrt(diagonal))
        if P.ndim == 1:
            return cls(root)
        P /= root
        P /= root[:, None]
        more = 1e-12
        while True:  # rounding can make a singular P slightly indefinite
            P.flat[:: P.shape[0] + 1] = 1.0 + more
            factor, failed = lapack.dpotrf(P, lower=1, clean=0)
            if not failed:
                return cls(root, factor)
            more *= 100.0

    def solve(self, g: Array) -> Array:
        x = (g.T / self.root).T
        if self.factor is not None:
            x, _ = lapack.dpotrs(self.factor, x, lower=1)
        return np.asarray((x.T / self.root).T)

    def gap(self, g: Array) -> float:
        if self.newton_like:
            return 0.5 * float(np.vdot(g, self.solve(g)))
        return math.inf

    def state_dict(self) -> dict[str, Array]:
        if self.factor is None:
            known = {}
        else:
            known = {"factor": self.factor}
        return {"root": self.root, **known}


class StackedMetric:
    """A matrix over the variables of all outputs, one output after the other."""

    def __init__(self, H: Array, ridges: Array) -> None:
        self.metric = FactorMetric.of(H, ridges)

    def solve(self, g: Array) -> Array:
        """P^-1 g; g has a column for each output."""
        return np.ascontiguousarray(self.metric.solve(g.T.reshape(-1)).reshape(g.T.shape).T)
