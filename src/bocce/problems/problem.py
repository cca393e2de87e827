"""Rows, a loss and a penalty: what is minimised."""

from __future__ import annotations

from typing import Self

import numpy as np

from .._types import Design, Vector
from ..losses import Loss, loss_of
from ..losses.residuals import first_loss
from ..rows import Array, Rows, rows_of
from . import minimum
from ._input import (
    check_design,
    check_finite,
    check_l2,
    check_offset,
    check_vector,
    check_weights,
    encode,
    less_offset,
    penalty_factors,
)
from .cache import depends_on
from .curvature import Constants
from .minimum import Noise
from .objective import Objective


def in_memory(X: object) -> bool:
    """Are these NumPy rows of this process?"""
    return isinstance(X, np.ndarray) or (isinstance(X, Rows) and X.in_memory)


class Problem(Objective, serves=in_memory):
    """f(w) = 1/n sum_i c_i loss(x_i . w + o_i, y_i) + l2/2 sum_j r_j w_j^2.

    A problem does not change: ``replace`` makes another one. With a loss on K classes
    (``"softmax"``) w, points and gradients have a column for each class: their shape is (d, K), or
    (d + 1, K) with an intercept.

    Parameters
    ----------
    X : array, sparse matrix or Parts
        Rows of shape (n, d): a dense array (float32 or float64, any memory order, or ``np.memmap``;
        not copied), a SciPy sparse matrix (converted to CSR), or ``bocce.data.Parts``, which hold y
        as well. An array of another library, such as a PyTorch tensor, is used on its device
        (docs/arrays.md).
    y : array-like, optional
        One target a row: numbers, or labels for a loss on classes (``classes`` holds them).
    loss : Loss or str, default "squared"
        A loss such as ``bocce.losses.Huber(2.0)``, or a name of ``bocce.losses.REGISTRY``. With
        ``Huber(None)`` and ``Quantile(level, None)`` the parameter suits the residuals: here those
        of constant predictions, in ``minimize`` those of the fit (``result.loss`` has it).
    l2 : float, default 0.0
        Factor of the penalty, >= 0.
    sample_weight, penalty : array-like, optional
        The weights c_i > 0, one a row, which are divided by their mean; the factors r_j >= 0, one a
        column, by default 1.
    standardize : bool, default False
        Whether r_j is multiplied by the variance of column j: the penalty is then on the
        coefficients of columns divided by their standard deviation, whatever their units. w is in
        the units of X. A constant column counts as one of standard deviation 1.
    intercept : bool, default False
        Whether to add an unpenalised constant to every x_i . w. The variables are w and then the
        constant: points and gradients have length d + 1.
    offset : array-like, optional
        The numbers o_i, one a row, added to the scores; by default 0. For counts over different
        exposures with the Poisson loss, the log of the exposure. Where X is a file, the name of a
        column of X, which is then no feature.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X = np.array([[1.0], [2.0], [3.0], [3.0]])
    >>> p = bocce.Problem(X, [1.0, 2.0, 3.0, 90.0], bocce.losses.Huber(delta=0.5))
    >>> p.minimiser().round(3)
    array([1.107])
    >>> bocce.Problem(np.array([[1.0], [2.0]]), [5.0, 7.0], "squared", intercept=True).minimiser()
    array([2., 3.])
    """

    def __init__(
        self,
        X: Design,
        y: Vector | None = None,
        loss: Loss | str = "squared",
        l2: float = 0.0,
        *,
        sample_weight: Vector | None = None,
        penalty: Vector | None = None,
        standardize: bool = False,
        intercept: bool = False,
        offset: Vector | str | None = None,
    ) -> None:
        kind = loss_of("Problem", loss, complete=False)
        where = kind.problem_name
        l2 = check_l2(where, l2)
        ready = isinstance(X, Rows)
        rows = X if ready else rows_of(check_design(where, X))
        y = check_vector(where, y, rows.n)
        weight = check_weights(where, sample_weight, rows.n)
        if not ready:
            check_finite(where, rows)
        factors = penalty_factors(where, rows, penalty, standardize, weight, intercept)
        encoded, classes = encode(kind, y)
        offset = check_offset(where, offset, (rows.n,), kind)
        encoded = less_offset(kind, encoded, offset)
        adapts = not kind.is_complete
        kind = first_loss(kind, encoded, weight, bool(intercept), offset)
        self._fill(
            rows,
            kind,
            l2,
            y=encoded,
            intercept=bool(intercept),
            weight=weight,
            penalty=factors,
            classes=classes,
            offset=offset,
            adapts=adapts,
        )

    def replace(self, *, l2: float | None = None, y: Vector | None = None) -> Self:
        """The same rows and weights with another l2 or other targets.

        Results that depend on neither are shared by both problems.

        Parameters
        ----------
        l2, y : float, array-like, optional
            The factor of the penalty, and targets or labels, one a row; None keeps what there is.

        Returns
        -------
        Problem

        Examples
        --------
        >>> import numpy as np, bocce
        >>> p = bocce.LeastSquares(np.eye(2), [2.0, 4.0])
        >>> p.replace(l2=0.5).minimiser(), p.replace(y=[0.0, 1.0]).minimiser()
        (array([1., 2.]), array([0., 1.]))
        """
        other = self
        if l2 is not None:
            other = other.with_fields(l2=check_l2(self.loss.problem_name, l2))
        if y is not None:
            encoded, classes = encode(self.loss, check_vector(self.loss.problem_name, y, self.n))
            encoded = less_offset(self.loss, encoded, self.offset)
            other = other.with_encoded(encoded, self.offset).with_fields(classes=classes)
        return other

    # -- constants and the minimiser -------------------------------------------------------------

    def constants(self) -> Constants:
        """L, mu, L_max and kappa~ of the objective (bounds of the curvature where it varies).

        The constants are exact, by eigenvalues, where the Gram matrix fits (``gram_fits``). Else L
        is an upper estimate by Lanczos, and mu is l2, the only certain lower bound. A loss without
        a bound on its curvature, such as the Poisson loss, is refused (``ValueError``).

        Returns
        -------
        Constants
        """
        return self._constants

    def minimiser(self) -> Array:
        """The minimiser w*, of least norm when there are several.

        Returns
        -------
        ndarray
        """
        return self._minimiser.copy()

    @depends_on("rows", "weights", "targets", "penalty", "loss")
    def _minimiser(self) -> Array:
        return minimum.minimiser(self)

    def noise(self) -> Noise:
        """The gradient noise at the minimiser.

        It is defined for one score a row, and for one l2 on all variables: without intercept.

        Returns
        -------
        Noise
        """
        return self.noise_at(self.minimiser())
