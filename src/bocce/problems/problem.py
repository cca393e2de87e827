"""Rows, a loss and a penalty: what is minimised."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..losses import Loss, loss_of
from ..rows import Array, Index, Moments, Rows, digest, rows_of
from . import curvature, minimum
from ._input import (
    check_design,
    check_finite,
    check_l2,
    check_penalty,
    check_vector,
    check_weights,
    encode,
)
from .cache import Immutable, depends_on
from .curvature import Constants
from .kinds import kind_of
from .look import Look
from .minimum import Noise
from .path_cache import PathCache
from .variables import Variables, by_row

GRAM_COLUMNS = 1024  # beyond this d, or this many flops, no d x d matrix is formed
GRAM_FLOPS = 1e11


class Problem(Immutable, Variables):
    """f(w) = 1/n sum_i c_i loss(x_i . w, y_i) + l2/2 sum_j r_j w_j^2.

    Parameters
    ----------
    X : dense array (float32 or float64, any memory order, or ``np.memmap``; used where it lies),
        SciPy sparse matrix (converted to CSR), or a ``BlockFile``, which holds y as well; or an
        array of another library, such as a PyTorch tensor, used on its device (docs/arrays.md).
    y : one target a row: numbers, or labels for a loss on classes (``classes`` holds them).
    loss : an instance such as ``bocce.losses.Huber(2.0)``, or a name of ``bocce.losses.REGISTRY``.
    l2 : the penalty's factor.
    sample_weight : the weights c_i > 0; they are divided by their mean.
    penalty : the factors r_j >= 0, one a column; 1 unless given.
    intercept : add an unpenalised constant to every x_i . w. The variables are w and then the
        constant: points and gradients have length d + 1.

    With a loss on several classes at once (``"softmax"``, K of them) w, points and gradients have a
    column for each class, so their shape is (d, K), or (d + 1, K) with an intercept.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X = np.array([[1.0], [2.0], [3.0], [3.0]])
    >>> p = bocce.Problem(X, [1.0, 2.0, 3.0, 90.0], bocce.losses.Huber(delta=0.5))
    >>> p.minimiser().round(3)
    array([1.107])
    >>> bocce.Problem(np.array([[1.0], [2.0]]), [5.0, 7.0], "squared", intercept=True).minimiser()
    array([2., 3.])

    A problem does not change: ``replace`` makes another one.
    """

    given: Rows  # as they were given
    has_column = False  # is the intercept's column part of them?
    y: Array  # as the loss wants them
    weight: Array | None
    n: int
    engine: Any = None  # of rows that live elsewhere, where they do
    handed_on: PathCache | None = None  # what runs on the same rows leave to the next one
    shared_gram: Moments | None = None  # the sums of a problem with the same rows, other targets
    avoid_gram = False  # a Gram matrix would cost more than the one pass that is made

    def __new__(cls, X: Any = None, *args: Any, **kwargs: Any) -> Problem:
        return object.__new__(kind_of(X, cls))  # type: ignore[no-any-return]

    def __init__(
        self,
        X: Any,
        y: Any = None,
        loss: Any = "squared",
        l2: float = 0.0,
        *,
        sample_weight: Any = None,
        penalty: Any = None,
        intercept: bool = False,
    ) -> None:
        kind: Loss = loss_of("Problem", loss)
        where = kind.title
        l2 = check_l2(where, l2)
        rows = X if isinstance(X, Rows) else rows_of(check_design(where, X))
        y = check_vector(where, y, rows.n)
        weight = check_weights(where, sample_weight, rows.n)
        factors = check_penalty(where, penalty, rows.d)
        if not isinstance(X, Rows):
            check_finite(where, rows)
        if intercept:
            factors = np.append(np.ones(rows.d) if factors is None else factors, 0.0)
        encoded, classes = encode(kind, y)
        self._fill(rows, encoded, kind, l2, weight, factors, classes, bool(intercept), False)

    @classmethod
    def of(cls, rows: Rows, y: Array, loss: Loss, l2: float, **more: Any) -> Problem:
        """A problem of rows and encoded targets that are known to be right; ``more`` as below."""
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
    ) -> None:
        fields = {"given": rows, "y": y, "loss": loss, "l2": l2, "weight": weight}
        fields |= {"penalty": penalty, "classes": classes, "intercept": intercept}
        has_column = has_column and intercept
        self._set(n=rows.n, d=rows.d - has_column, has_column=has_column, **fields)

    def replace(self, *, l2: float | None = None, y: Any = None) -> Self:
        """The same rows and weights with another l2 or other targets.

        What was computed, and depends on neither, is shared by both problems.

        Parameters
        ----------
        l2 : the penalty's factor; None keeps it.
        y : targets or labels, one a row; None keeps them.

        Examples
        --------
        >>> import numpy as np, bocce
        >>> p = bocce.LeastSquares(np.eye(2), [2.0, 4.0])
        >>> p.replace(l2=0.5).minimiser(), p.replace(y=[0.0, 1.0]).minimiser()
        (array([1., 2.]), array([0., 1.]))
        """
        other = self
        if l2 is not None:
            other = other.with_fields(l2=check_l2(self.loss.title, l2))
        if y is not None:
            encoded, classes = encode(self.loss, check_vector(self.loss.title, y, self.n))
            other = other.with_encoded(encoded).with_fields(classes=classes)
        return other

    def with_encoded(self, y: Array) -> Self:
        """The same problem with other targets, which are as the loss wants them. The Gram matrix
        in its sums is shared."""
        gram = self.known("sums") or self.shared_gram
        cache = self.handed_on and self.handed_on.copy()
        return self.with_fields(y=y, shared_gram=gram, handed_on=cache)

    @depends_on("rows")
    def rows(self) -> Rows:
        """One number a variable: the rows that were given, with a 1 behind for an intercept."""
        return self.given.with_column() if self.intercept > self.has_column else self.given

    @property
    def X(self) -> Any:
        """The caller's array."""
        return self.given.X

    @property
    def sparse(self) -> bool:
        return self.given.sparse

    @property
    def in_parts(self) -> bool:
        """Are the rows read from elsewhere, a part at a time?"""
        return self.given.in_parts

    def __repr__(self) -> str:
        kind = "CSR " if self.sparse else self.given.library
        name = self.loss.title
        shown = f"{self.loss.name}, " if name == "Problem" else ""
        end = ", intercept" if self.intercept else ""
        return f"{name}({shown}{kind}{self.n} x {self.d} {self.given.dtype}, l2={self.l2:g}{end})"

    def fingerprint(self) -> str:
        """What the problem is, for a checkpoint: a hash of the data, and the loss and l2."""
        extras = (np.zeros(0) if a is None else a for a in (self.weight, self.penalty))
        data = digest(self.y, *extras)
        return f"{self.loss.title} {self.loss!r} {self.given.fingerprint()} {data} l2={self.l2!r}"

    # -- what one pass over the rows gives -------------------------------------------------------

    def weighted(self, values: Array, rows: Index | None = None) -> Array:
        """c_i times the value of row i."""
        if self.weight is None:
            return values
        weight = self.weight if rows is None else self.weight[rows]
        return values * weight.reshape(-1, *(1,) * (values.ndim - 1))

    def predict(self, w: Array, rows: Index | None = None) -> Array:
        """x_i . w for all rows, or those named."""
        return self.rows.times(w, rows)

    def combine(self, coefficients: Array, rows: Index | None = None) -> Array:
        """sum_i c_i x_i over all rows, or those named."""
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
        return float(self.weighted(self.y) @ self.y) / self.n

    @depends_on("weights", "targets")
    def mean_target(self) -> Any:
        """The mean of c_i y_i; of several classes, the share of each."""
        if self.loss.outputs:
            return np.bincount(self.y, self.weight, minlength=len(self.classes)) / self.n
        return float(self.weighted(self.y).mean())

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

    def gram_times(self, v: Array) -> Array:
        """sum_i c_i x_i x_i^T v / n."""
        return self.combine(self.weighted(self.predict(v))) / self.n

    def largest_projection2(self, directions: Array) -> float:
        """max_i c_i ||x_i^T D||^2 for the columns of D."""
        return float(self.weighted(self.rows.projections2(directions)).max())

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

        At least 20 d of them, and itself where those are all; the weights stay as they are.
        """
        rows = int(max(20 * self.width, flops * self.n / max(2.0 * self.rows.gram_cost, 1.0)))
        if 2 * rows >= self.n:
            return self
        return self.on(np.sort(np.random.default_rng(0).choice(self.n, rows, replace=False)))

    def on(self, chosen: Index) -> Problem:
        """The problem on those rows; the weights stay as they are."""
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

    # -- what a batch is made of -----------------------------------------------------------------

    @property
    def units(self) -> int:
        """How many things a batch is drawn from: the rows (in a block file, the blocks)."""
        return self.n

    def units_in(self, b: int) -> int:
        """How many units a batch of b rows takes."""
        return b

    def whole_batch(self, b: int) -> int:
        """The rows of a batch that can be drawn, nearest to b."""
        return b

    def batch_gradient(self, w: Array, units: Index) -> Array:
        """The unbiased estimate of the gradient from the units drawn."""
        return self.gradient(w, units)

    # -- the objective ---------------------------------------------------------------------------

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
        if self.loss.outputs:
            return self.weighted(self.loss.bend_times(z, self.y, u))  # type: ignore[attr-defined]
        return self.bends(z) * u

    def _of(self, rows: Index | None) -> Array:
        return self.y if rows is None else self.y[rows]

    def look(self, w: Array, rows: Index | None = None) -> Look:
        """The objective and its gradient, or those of the mean over ``rows`` plus the l2 term."""
        z = self.predict(w, rows)
        slopes = self.slopes(z, rows)
        value = float(self.losses(z, rows).mean()) + self.ridge_value(w)
        return Look(value, self.combine(slopes, rows) / slopes.shape[0] + self.pull(w))

    def value(self, w: Any, rows: Index | None = None) -> float:
        """f(w), or the mean over ``rows`` plus the l2 term."""
        w = self.point(w)
        return float(self.losses(self.predict(w, rows), rows).mean()) + self.ridge_value(w)

    def gradient(self, w: Any, rows: Index | None = None) -> Array:
        """The gradient of f, or of the mean over ``rows`` plus the l2 term."""
        w = self.point(w)
        slopes = self.slopes(self.predict(w, rows), rows)
        return np.asarray(self.combine(slopes, rows) / slopes.shape[0] + self.pull(w))

    def hessian(self, w: Array) -> Array:
        """The Hessian of f at w, without the l2 term."""
        if self.loss.quadratic:
            return self.gram
        return self.rows.gram(self.bends(self.predict(w)))

    def row_gradient_mean2(self, w: Any) -> float:
        """mean_i ||grad f_i(w)||^2, f_i with its l2 term."""
        w = self.point(w)
        z, pull = self.predict(w), self.pull(w)
        slopes = self.slopes(z)
        across = self.l2 * z if self.penalty is None else self.predict(pull)
        squares = by_row(slopes**2) * self.rows.norms2 + 2 * by_row(slopes * across)
        return float(max(0.0, squares.mean() + np.vdot(pull, pull)))

    # -- constants and the minimiser -------------------------------------------------------------

    def constants(self) -> Constants:
        """L, mu, L_max, kappa~ of the objective (bounds of curvature where that varies).

        Exact by eigenvalues where the Gram matrix fits (``gram_fits``), otherwise L is an upper
        estimate by Lanczos and mu is l2, the only lower bound that is certain.
        """
        return self._constants

    @depends_on("rows", "weights", "penalty")
    def _constants(self) -> Constants:
        return curvature.constants(self)

    def estimated(self) -> Constants:
        """The constants, from a sample of rows where all would take long: for guarded runs."""
        return self.known("_constants") or self._estimated

    @depends_on("rows", "weights", "penalty")
    def _estimated(self) -> Constants:
        return curvature.estimated(self)

    def minimiser(self) -> Array:
        """w*, of least norm when there are several."""
        return self._minimiser.copy()

    @depends_on("rows", "weights", "targets", "penalty")
    def _minimiser(self) -> Array:
        return minimum.minimiser(self)

    def noise(self) -> Noise:
        """The gradient noise at the minimiser."""
        return self.noise_at(self.minimiser())

    def noise_at(self, w: Array) -> Noise:
        """The gradient noise at w."""
        return minimum.noise_at(self, w)
