"""What both losses share: rows of data, a linear predictor, an l2 term."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .. import _checks
from ..blockfile import BlockFile
from . import curvature
from ._input import check_design, check_finite, check_penalty, check_weights
from .curvature import Constants
from .frame import Framed

BLOCK_BYTES = 1 << 23  # rows are taken this many bytes at a time where a copy must be made
FRAMED_BYTES = 1 << 20  # and this many where they are computed
GRAM_COLUMNS = 1024  # beyond this d, or this many flops, no d x d matrix is formed
GRAM_FLOPS = 1e11
SPARSE_COST = 8.0  # of a sparse multiplication, in dense ones


class Summary(NamedTuple):
    """What one pass over the rows gives: means, and the largest ||x_i||^2."""

    gram: np.ndarray  # X^T X / n, or 0 x 0 where it is not wanted
    moment: np.ndarray  # X^T y / n
    target2: float  # the mean of y^2
    column2: np.ndarray  # the mean square of each column
    largest_row2: float

    @property
    def means(self) -> tuple[Any, ...]:
        return tuple(self[:4])


class LinearProblem:
    """f(w) = 1/n sum_i c_i loss(x_i . w, y_i) + l2/2 sum_j r_j w_j^2.

    The weights c_i (``sample_weight``, divided by their mean) and the factors r_j (``penalty``) are
    1 unless given. A loss is two functions, ``loss`` and ``slope``; see LeastSquares and Logistic.
    """

    curvature_bound = 1.0  # the largest second derivative of the loss
    weight: np.ndarray | None = None
    penalty: np.ndarray | None = None
    in_parts = False  # are there parts that are looked at one at a time?
    engine: Any = None  # the engine of data that live elsewhere, where they do

    def __new__(cls, X: Any = None, *args: Any, **kwargs: Any) -> LinearProblem:
        if isinstance(X, BlockFile):
            from .parts import OF_BLOCKS

            cls = OF_BLOCKS.get(cls, cls)
        return super().__new__(cls)

    def __init__(
        self,
        X: Any,
        y: Any = None,
        l2: float = 0.0,
        *,
        sample_weight: Any = None,
        penalty: Any = None,
    ) -> None:
        where = type(self).__name__
        self.l2 = _checks.real(where, "l2", l2, least=0.0, remedy="0 is no regularisation")
        X = X if isinstance(X, Framed) else check_design(where, X)
        y = np.asarray(y)
        if y.shape != (X.shape[0],):
            raise ValueError(
                f"{where}: y has shape {y.shape}, must be ({X.shape[0]},) as X has "
                f"{X.shape[0]} rows; give one target a row."
            )
        self.n, self.d = (int(size) for size in X.shape)
        self.weight = check_weights(where, sample_weight, self.n)
        self.penalty = check_penalty(where, penalty, self.d)
        if sp.issparse(X):
            check_finite(where, "X", iter([X.data]), X.indptr)
            self.X = X
        elif isinstance(X, Framed):
            self.X = X  # made of rows that were checked
        else:
            self.X = X.view(np.ndarray)
            self.X.flags.writeable = False
            check_finite(where, "X", self.blocks(np.float64))
        if y.dtype.kind == "f":
            check_finite(where, "y", iter([y]))
        self.y = self._targets(y)
        self.y.flags.writeable = False

    def _targets(self, y: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @classmethod
    def of_checked(cls, X: np.ndarray, y: np.ndarray, l2: float) -> LinearProblem:
        """A problem of rows and encoded targets that are known to be right."""
        self = object.__new__(cls)
        self.X, self.y, self.l2 = X, y, l2
        self.n, self.d = X.shape
        return self

    def with_targets(self, y: Any) -> Any:
        """The same rows, weights and penalty with other targets; what was computed is shared."""
        self.estimated()  # computed once, for all
        other = copy(self)
        for name in ("_moment", "_minimiser"):
            other.__dict__.pop(name, None)
        other.y = other._targets(np.asarray(y))
        return other

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.X))

    def __repr__(self) -> str:
        kind = "CSR " if self.sparse else ""
        name = type(self).__name__
        return f"{name}({kind}{self.n} x {self.d} {self.X.dtype}, l2={self.l2:g})"

    # -- passes over the data ------------------------------------------------------------------

    def blocks(self, dtype: Any = None, rows: np.ndarray | None = None) -> Iterator[Any]:
        """The rows (all, or those named) a block at a time, as ``dtype`` when dense."""
        if self.sparse and rows is None:
            yield self.X  # a slice would be a copy
            return
        count = self.n if rows is None else len(rows)
        step = max(1, BLOCK_BYTES // (8 * self.d))
        if isinstance(self.X, Framed):
            step = max(1, FRAMED_BYTES // (8 * self.d))
        lies_ready = isinstance(self.X, np.ndarray) and self.X.dtype == np.float64
        if self.sparse or (rows is None and lies_ready):
            step = max(step, count)  # no copy is made: one block
        for start in range(0, count, step):
            part = slice(start, start + step)
            block = self.X[part] if rows is None else self.X[rows[part]]
            yield block if self.sparse else np.asarray(block, dtype=dtype)

    def predict(self, w: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """x_i . w for all rows, or those named."""
        if isinstance(self.X, Framed) and rows is None:
            return self.X.times(w)
        return np.concatenate([block @ w for block in self.blocks(np.float64, rows)])

    def combine(self, coefficients: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """sum_i c_i x_i over all rows, or those named."""
        if isinstance(self.X, Framed) and rows is None:
            return self.X.combined(coefficients)
        total, start = np.zeros(self.d), 0
        for block in self.blocks(np.float64, rows):
            total += block.T @ coefficients[start : start + block.shape[0]]
            start += block.shape[0]
        return total

    @cached_property
    def row_norms2(self) -> np.ndarray:
        """||x_i||^2."""
        if self.sparse:
            X = self.X.astype(np.float64, copy=False)
            return np.asarray(X.multiply(X).sum(axis=1)).ravel()
        blocks = self.blocks(np.float64)
        return np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])

    @property
    def largest_row2(self) -> float:
        """max_i c_i ||x_i||^2."""
        return float(self.weighted(self.row_norms2).max())

    @property
    def mean_row2(self) -> float:
        return float(self.weighted(self.row_norms2).mean())

    @property
    def target2(self) -> float:
        """The mean of c_i y_i^2."""
        return float(self.weighted(self.y) @ self.y) / self.n

    @property
    def moment(self) -> np.ndarray:
        """sum_i c_i y_i x_i / n."""
        return self._moment

    @cached_property
    def _moment(self) -> np.ndarray:
        return self.combine(self.weighted(self.y)) / self.n

    def summary(self, with_gram: bool) -> Summary:
        if with_gram:
            gram, column2 = self.gram, np.diag(self.gram)
        else:
            gram, column2 = np.zeros((0, 0)), np.zeros(self.d)
            for block in self.blocks(np.float64):
                column2 += np.asarray((block * block).sum(axis=0)).ravel() / self.n
        return Summary(gram, self.moment, self.target2, column2, self.largest_row2)

    def gram_times(self, v: np.ndarray) -> np.ndarray:
        """sum_i c_i x_i x_i^T v / n."""
        return self.combine(self.weighted(self.predict(v))) / self.n

    def projections2(self, directions: np.ndarray) -> np.ndarray:
        """||x_i^T D||^2 for the columns of D."""
        rotated = (block @ directions for block in self.blocks(np.float64))
        return np.concatenate([np.einsum("ij,ij->i", block, block) for block in rotated])

    def largest_projection2(self, directions: np.ndarray) -> float:
        """max_i c_i ||x_i^T D||^2 for the columns of D."""
        return float(self.weighted(self.projections2(directions)).max())

    @property
    def gram_fits(self) -> bool:
        """Is the d x d Gram matrix cheap enough to form?"""
        stored = self.X.nnz * self.d if self.sparse else self.n * self.d**2
        return self.d <= GRAM_COLUMNS and 2.0 * stored <= GRAM_FLOPS

    @property
    def row_flops(self) -> float:
        """What one row adds to the cost of a Gram matrix."""
        return 2.0 * (self.X.nnz / self.n * SPARSE_COST if self.sparse else self.d) ** 2

    def sample(self, flops: float) -> Any:
        """The problem on rows spread over the data, so many that a Gram matrix costs ``flops``.

        At least 20 d of them, and itself where those are all; the weights stay as they are.
        """
        rows = int(max(20 * self.d, flops / max(self.row_flops, 1.0)))
        if 2 * rows >= self.n:
            return self
        chosen = np.sort(np.random.default_rng(0).choice(self.n, rows, replace=False))
        other = type(self).of_checked(self.X[chosen], self.y[chosen], self.l2)
        other.penalty = self.penalty
        other.weight = None if self.weight is None else self.weight[chosen]
        return other

    @cached_property
    def gram(self) -> np.ndarray:
        """sum_i c_i x_i x_i^T / n."""
        if self.weight is not None:
            return self.weighted_gram(self.weight)
        if self.sparse:
            X = self.X.astype(np.float64, copy=False)
            G = (X.T @ X).toarray()
        else:
            G, moment, start = np.zeros((self.d, self.d)), np.zeros(self.d), 0
            for block in self.blocks(np.float64):
                G += block.T @ block
                moment += block.T @ self.y[start : start + block.shape[0]]
                start += block.shape[0]
            self.__dict__["_moment"] = moment / self.n  # whoever wants the one wants the other
        return G / self.n

    def weighted_gram(self, weights: np.ndarray) -> np.ndarray:
        """1/n sum_i s_i x_i x_i^T."""
        if self.sparse:
            X = self.X.astype(np.float64, copy=False)
            data = X.data * np.repeat(weights, np.diff(X.indptr))
            scaled = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
            return np.asarray((X.T @ scaled).toarray()) / self.n
        total, start = np.zeros((self.d, self.d)), 0
        for block in self.blocks(np.float64):
            total += block.T @ (block * weights[start : start + block.shape[0], None])
            start += block.shape[0]
        return total / self.n

    # -- what a batch is made of ----------------------------------------------------------------

    @property
    def units(self) -> int:
        """How many things a batch is drawn from: the rows (in a block file, the blocks)."""
        return self.n

    def units_in(self, b: int) -> int:
        """How many of them a batch of b rows takes."""
        return b

    def whole_batch(self, b: int) -> int:
        """The rows of a batch that can be drawn, nearest to b."""
        return b

    def batch_gradient(self, w: np.ndarray, units: np.ndarray) -> np.ndarray:
        """The unbiased estimate of the gradient from the units drawn."""
        return self.gradient(w, units)

    # -- the objective ---------------------------------------------------------------------------

    def loss(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """loss(z_i, y_i)."""
        raise NotImplementedError

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The derivative of the loss at z_i."""
        raise NotImplementedError

    def weighted(self, values: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """c_i times the value of row i."""
        if self.weight is None:
            return values
        return values * (self.weight if rows is None else self.weight[rows])

    def losses(self, z: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """c_i loss(z_i, y_i)."""
        return self.weighted(self.loss(z, self.y if rows is None else self.y[rows]), rows)

    def slopes(self, z: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """c_i times the derivative of the loss at z_i."""
        return self.weighted(self.slope(z, self.y if rows is None else self.y[rows]), rows)

    @property
    def ridge(self) -> Any:
        """l2, or where there is a penalty, l2 r_j."""
        return self.l2 if self.penalty is None else self.l2 * self.penalty

    def needs_one_ridge(self, what: str) -> None:
        if self.penalty is not None:
            raise ValueError(
                f"{type(self).__name__}: penalty must be left out for {what}, which is defined for "
                "one l2 on all columns."
            )

    def ridge_value(self, w: np.ndarray) -> float:
        """l2/2 sum_j r_j w_j^2."""
        return 0.5 * float((self.ridge * w) @ w)

    def point(self, w: Any, name: str = "w") -> np.ndarray:
        """``w`` as a float64 vector of length d, checked."""
        where = type(self).__name__
        vector = np.asarray(w)
        if vector.dtype.kind not in "fiub":
            raise TypeError(
                f"{where}: {name} has dtype {vector.dtype}, must be numeric; give a float vector."
            )
        vector = vector.astype(np.float64, copy=False)
        if vector.shape != (self.d,):
            raise ValueError(
                f"{where}: {name} has shape {vector.shape}, must be ({self.d},); X has "
                f"{self.d} columns."
            )
        return vector

    def value(self, w: Any, rows: np.ndarray | None = None) -> float:
        """f(w), or the mean over ``rows`` plus the l2 term."""
        w = self.point(w)
        loss = self.losses(self.predict(w, rows), rows)
        return float(loss.mean()) + self.ridge_value(w)

    def gradient(self, w: Any, rows: np.ndarray | None = None) -> np.ndarray:
        """The gradient of f, or of the mean over ``rows`` plus the l2 term."""
        w = self.point(w)
        slopes = self.slopes(self.predict(w, rows), rows)
        return self.combine(slopes, rows) / slopes.size + self.ridge * w

    def row_gradient_mean2(self, w: Any) -> float:
        """mean_i ||grad f_i(w)||^2, f_i with its l2 term."""
        w = self.point(w)
        z = self.predict(w)
        slopes = self.slopes(z)
        pull = self.ridge * w
        across = self.l2 * z if self.penalty is None else self.predict(pull)
        squares = slopes**2 * self.row_norms2 + 2 * slopes * across
        return float(max(0.0, squares.mean() + pull @ pull))

    def constants(self) -> Constants:
        """L, mu, L_max, kappa~ of the objective (for logistic loss, upper bounds of curvature).

        Exact by eigenvalues where the Gram matrix fits (``gram_fits``), otherwise L is an upper
        estimate by Lanczos and mu is l2, the only lower bound that is certain.
        """
        return self._constants

    @cached_property
    def _constants(self) -> Constants:
        return curvature.constants(self)

    def estimated(self) -> Constants:
        """The constants, from a sample of the rows where all would take long.

        For runs under a guard. Rows must be in memory.
        """
        if "_constants" in self.__dict__:
            return self.constants()
        return self._estimated

    def at_hand(self) -> Constants:
        """The constants that cost next to nothing after a run: its own, or by its Gram matrix."""
        computed = self.__dict__.keys() & {"_constants", "_estimated"}
        if "gram" in self.__dict__ and not computed:
            return curvature.glance(self)
        return self.estimated()

    @cached_property
    def _estimated(self) -> Constants:
        return curvature.estimated(self)
