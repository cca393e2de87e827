"""Rows, a loss and a penalty: what is minimised."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._types import Design, Vector
from ..losses import Loss, loss_of
from ..losses.offset import with_offset, without_offset
from ..rows import Array, Index, Moments, Rows, rows_of
from . import curvature, minimum
from ._input import (
    check_design,
    check_finite,
    check_l2,
    check_offset,
    check_vector,
    check_weights,
    encode,
)
from .cache import depends_on
from .curvature import Constants
from .kinds import kind_of
from .minimum import Noise
from .objective import Objective
from .path_cache import PathCache
from .penalties import penalty_factors

GRAM_COLUMNS = 1024  # beyond this d, or this many flops, no d x d matrix is formed
GRAM_FLOPS = 1e11


class Problem(Objective):
    """f(w) = 1/n sum_i c_i loss(x_i . w + o_i, y_i) + l2/2 sum_j r_j w_j^2.

    A problem does not change: ``replace`` makes another one. With a loss on K classes
    (``"softmax"``) w, points and gradients have a column for each class: their shape is (d, K), or
    (d + 1, K) with an intercept.

    Parameters
    ----------
    X : array, sparse matrix or BlockFile
        Rows of shape (n, d): a dense array (float32 or float64, any memory order, or ``np.memmap``;
        not copied), a SciPy sparse matrix (converted to CSR), or a ``BlockFile``, which holds y as
        well. An array of another library, such as a PyTorch tensor, is used on its device
        (docs/arrays.md).
    y : array-like, optional
        One target a row: numbers, or labels for a loss on classes (``classes`` holds them).
    loss : Loss or str, default "squared"
        A loss such as ``bocce.losses.Huber(2.0)``, or a name of ``bocce.losses.REGISTRY``.
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

    offset: Array | None = None  # as it was given
    engine: Any = None  # of rows that live elsewhere, where they do
    handed_on: PathCache | None = None  # what runs on the same rows leave to the next one
    shared_gram: Moments | None = None  # the sums of a problem with the same rows, other targets
    avoid_gram = False  # a Gram matrix would cost more than the one pass that is made

    def __new__(cls, X: Design = None, *args: object, **kwargs: object) -> Problem:
        return object.__new__(kind_of(X, cls))  # type: ignore[no-any-return]

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
        kind: Loss = loss_of("Problem", loss)
        where = kind.problem_name
        l2 = check_l2(where, l2)
        rows = X if isinstance(X, Rows) else rows_of(check_design(where, X))
        y = check_vector(where, y, rows.n)
        weight = check_weights(where, sample_weight, rows.n)
        if not isinstance(X, Rows):
            check_finite(where, rows)
        factors = penalty_factors(where, rows, penalty, standardize, weight, intercept)
        encoded, classes = encode(kind, y)
        offset = check_offset(where, offset, (rows.n,))
        kind, encoded = with_offset(kind, encoded, offset)
        self._fill(
            rows, encoded, kind, l2, weight, factors, classes, bool(intercept), False, offset
        )

    @classmethod
    def of(cls, rows: Rows, y: Array, loss: Loss, l2: float, **more: Any) -> Problem:
        """A problem of rows and encoded targets that are known to be right.

        Parameters
        ----------
        rows, y : Rows, ndarray
            The rows, and the targets as the loss needs them.
        loss, l2 : Loss, float
            The loss, and the factor of the penalty.
        **more : object
            weight, penalty, classes, intercept, has_column and offset.

        Returns
        -------
        Problem
        """
        self: Problem = object.__new__(kind_of(rows, Problem))
        self._fill(rows, y, loss, l2, **more)
        return self

    def _fill(
        self,
        rows: Rows,
        y: Array,
        loss: Loss,
        l2: float,
        weight: Array | None = None,
        penalty: Array | None = None,  # one factor a variable, the intercept among them
        classes: Any = None,
        intercept: bool = False,
        has_column: bool = True,  # is the intercept's column, if there is one, part of the rows?
        offset: Array | None = None,  # which ``y`` and ``loss`` count already
    ) -> None:
        fields = {"given": rows, "y": y, "loss": loss, "l2": l2, "weight": weight}
        fields |= {"penalty": penalty, "classes": classes, "intercept": intercept, "offset": offset}
        has_column = has_column and intercept
        self._set(n=rows.n, d=rows.d - has_column, has_column=has_column, **fields)

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
            encoded = with_offset(without_offset(self.loss), encoded, self.offset)[1]
            other = other.with_encoded(encoded).with_fields(classes=classes)
        return other

    def with_encoded(self, y: Array) -> Self:
        """The same problem with other targets; the Gram matrix in its sums is shared.

        Parameters
        ----------
        y : ndarray
            The targets, as the loss needs them.

        Returns
        -------
        Problem
        """
        gram = self.known("sums") or self.shared_gram
        cache = self.handed_on and self.handed_on.copy()
        return self.with_fields(y=y, shared_gram=gram, handed_on=cache)

    def __repr__(self) -> str:
        kind = "CSR " if self.sparse else self.given.library
        name = self.loss.problem_name
        shown = f"{self.loss.name}, " if name == "Problem" else ""
        end = ", intercept" * self.intercept + ", offset" * (self.offset is not None)
        return f"{name}({shown}{kind}{self.n} x {self.d} {self.given.dtype}, l2={self.l2:g}{end})"

    # -- what one pass over the rows gives -------------------------------------------------------

    @depends_on("rows", "weights", "targets")
    def moment(self) -> Array:
        """sum_i c_i y_i x_i / n."""
        return self.combine(self.weighted(self.y)) / self.n

    @depends_on("rows", "weights")
    def gram(self) -> Array:
        """sum_i c_i x_i x_i^T / n."""
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported by the caller
            return self.rows.gram(self.weight)

    @depends_on("rows", "weights", "targets")
    def sums(self) -> Moments:
        """All that a squared loss depends on, in one pass, or with a Gram matrix that is known."""
        with np.errstate(all="ignore"):  # overflow is reported by the caller, who needs finite sums
            if self.shared_gram is None:
                return self.rows.moments(self.y, self.weight)
            return self.shared_gram.with_targets(self.moment, self.target2, self.n)

    @property
    def gram_fits(self) -> bool:
        """Is the matrix of all pairs of columns cheap enough to form?"""
        return self.width <= GRAM_COLUMNS and 2.0 * self.rows.cost * self.width <= GRAM_FLOPS

    @property
    def has_gram(self) -> bool:
        """Does a Gram matrix give the full gradient without touching the rows?"""
        return self.loss.quadratic and self.gram_fits and not self.avoid_gram

    def sample(self, flops: float) -> Problem:
        """The problem on rows spread over the data, so many that a Gram matrix costs ``flops``.

        The sample has at least 20 d rows; where these are all rows, the problem itself is returned.
        The weights stay as they are.

        Parameters
        ----------
        flops : float
            The number of multiplications.

        Returns
        -------
        Problem
        """
        rows = int(max(20 * self.width, flops * self.n / max(2.0 * self.rows.gram_cost, 1.0)))
        if 2 * rows >= self.n:
            return self
        return self.on(np.sort(np.random.default_rng(0).choice(self.n, rows, replace=False)))

    def on(self, chosen: Index) -> Problem:
        """The problem on the chosen rows; the weights stay as they are.

        Parameters
        ----------
        chosen : ndarray of int
            The numbers of the rows.

        Returns
        -------
        Problem
        """
        return Problem.of(
            self.rows.take(chosen),
            self.y[chosen],
            self.loss,
            self.l2,
            weight=None if self.weight is None else self.weight[chosen],
            penalty=self.penalty,
            classes=self.classes,
            intercept=self.intercept,
        )

    def hessian(self, w: Array) -> Array:
        """The Hessian of f at w, without the l2 term.

        Parameters
        ----------
        w : ndarray
            The point.

        Returns
        -------
        ndarray
            A matrix with a row and a column for each variable.
        """
        if self.loss.quadratic:
            return self.gram
        return self.rows.gram(self.bends(self.predict(w)))

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

    @depends_on("rows", "weights", "penalty")
    def _constants(self) -> Constants:
        return curvature.constants(self)

    def estimated(self) -> Constants:
        """The constants, from a sample of rows where all would take long: for guarded runs.

        Returns
        -------
        Constants
        """
        return self.known("_constants") or self._estimated

    @depends_on("rows", "weights", "penalty")
    def _estimated(self) -> Constants:
        return curvature.estimated(self)

    def minimiser(self) -> Array:
        """The minimiser w*, of least norm when there are several.

        Returns
        -------
        ndarray
        """
        return self._minimiser.copy()

    @depends_on("rows", "weights", "targets", "penalty")
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

    def noise_at(self, w: Array) -> Noise:
        """The gradient noise at w.

        Parameters
        ----------
        w : ndarray
            The point.

        Returns
        -------
        Noise
        """
        return minimum.noise_at(self, w)
