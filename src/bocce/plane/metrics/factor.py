"""Two metrics that every policy may use: the identity, and a matrix by its Cholesky factor."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from ..._types import Array

BLANK = 1e-26  # A diagonal entry below this share of the largest is the rounding of a constant.


class Identity:
    """P = I.

    >>> Identity().solve(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    newton_like = False

    def solve(self, g: Array) -> Array:
        """g itself."""
        return g

    def gap(self, g: Array) -> float:
        """Not known."""
        return math.inf

    def state_dict(self) -> dict[str, Array]:
        """No array."""
        return {}


class FactorMetric:
    """P by its Cholesky factor, scaled to a unit diagonal; by its diagonal alone without one.

    Parameters
    ----------
    root, factor : ndarray, ndarray or None
        The square root of P's diagonal, and the factor of the scaled P.

    Examples
    --------
    >>> P = FactorMetric.of(np.array([[4.0, 2.0], [2.0, 2.0]]), 1.0)
    >>> P.solve(np.array([7.0, 5.0])).round(6)
    array([1., 1.])
    >>> FactorMetric.diagonal(np.array([4.0, 2.0]), 1.0).solve(np.array([5.0, 3.0]))
    array([1., 1.])
    """

    def __init__(self, root: Array, factor: Array | None = None) -> None:
        self.root, self.factor = root, factor
        self.newton_like = factor is not None

    @classmethod
    def of(cls, H: Array, ridge: float | Array, unseen: float = 1.0) -> FactorMetric | Identity:
        """The metric H + ridge.

        Parameters
        ----------
        H, ridge : ndarray, float or ndarray
            A Hessian, and the penalty of each variable.
        unseen : float
            A column without curvature gets the mean of the others times this.

        Returns
        -------
        FactorMetric or Identity
            The identity if curvature overflows.
        """
        P = np.array(H, dtype=np.float64)
        root = _root(P.diagonal(), ridge, unseen)
        if root is None:
            return Identity()
        P /= root
        P /= root[:, None]
        more = 1e-12
        while True:  # rounding leaves a singular P not quite definite
            P.flat[:: P.shape[0] + 1] = 1.0 + more
            factor, failed = lapack.dpotrf(P, lower=1, clean=0)
            if not failed:
                return cls(root, factor)
            more *= 100.0

    @classmethod
    def diagonal(
        cls, squares: Array, ridge: float | Array, unseen: float = 1.0
    ) -> FactorMetric | Identity:
        """The metric diag(squares) + ridge.

        Parameters
        ----------
        squares, ridge, unseen : ndarray, float or ndarray, float
            A Hessian's diagonal; the others as for ``of``.

        Returns
        -------
        FactorMetric or Identity
        """
        root = _root(squares, ridge, unseen)
        return Identity() if root is None else cls(root)

    def solve(self, g: Array) -> Array:
        """P^-1 g."""
        x = (g.T / self.root).T
        if self.factor is not None:
            x, _ = lapack.dpotrs(self.factor, x, lower=1)
        return np.asarray((x.T / self.root).T)

    def gap(self, g: Array) -> float:
        """g . P^-1 g / 2, where P is like the Hessian."""
        return 0.5 * float(np.vdot(g, self.solve(g))) if self.newton_like else math.inf

    def state_dict(self) -> dict[str, Array]:
        """The root of the diagonal, and the factor where there is one."""
        known = {} if self.factor is None else {"factor": self.factor}
        return {"root": self.root, **known}

    @classmethod
    def restored(cls, state: dict[str, Array]) -> FactorMetric | Identity:
        """The metric whose ``state_dict`` was ``state``.

        Parameters
        ----------
        state : dict of str to ndarray
            The arrays.

        Returns
        -------
        FactorMetric or Identity
        """
        return cls(state["root"], state.get("factor")) if state else Identity()


def _root(squares: Array, ridge: float | Array, unseen: float) -> Array | None:
    """The square root of a diagonal, without zeros; None where an entry is not finite."""
    diagonal = squares + ridge
    highest = float(np.maximum.reduce(diagonal, initial=0.0))
    if not highest < math.inf:
        return None
    if not np.minimum.reduce(diagonal, initial=1.0) > BLANK * highest:
        blank = ~(diagonal > BLANK * highest)
        rest = diagonal[~blank]
        diagonal[blank] = unseen * float(rest.mean()) if rest.size else 1.0
    return np.asarray(np.sqrt(diagonal))
