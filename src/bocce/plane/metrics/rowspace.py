"""The metric where rows are fewer than columns: a factor of n x n numbers instead of d x d.

With b_i the bends of the rows, S = diag(sqrt(b_i / n)) and R = diag(ridge),

    P = X^T S^2 X + R,    P^-1 = R^-1 - R^-1 X^T S (I + S K S)^-1 S X R^-1,    K = X R^-1 X^T

(Woodbury's identity). K is computed once, and any bends take a Cholesky factor of n x n after that;
both in single precision where K is large and I + S K S not: half the work, and as good a metric.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from ..._types import Array
from ...problems import Problem
from ...rows import Csr, Dense, Rows, Scaled
from .base import PRICES, Metric, View, outputs_of
from .factor import FactorMetric, Identity
from .hessian import HessianPolicy

MOST_ENTRIES = 1 << 26  # An n x n factor has no more entries: 256 MB in float32.
SPARSE_ROWS = 1024  # With more sparse rows, steps in the identity's or the diagonal's metric are
# cheaper (benchmarks/wide.py).
SAMPLED = 64  # So many rows say how large the entries of a column are.
SINGLE = 0.5  # A multiplication in float32 costs this share of one in float64.
SOFT = 1e-4  # of its curvature: the ridge, in the metric alone, of a column that has none
COLUMNS = 512  # of X that are multiplied by their scales at a time
ENTRY = 2.0  # ns: an entry of an n x n matrix, scaled
LARGE = 1 << 22  # multiplications of K: fewer are done in float64
MILD = 1e5  # on the diagonal of I + S K S: where more is, float32 would lose the 1


class RowMetric:
    """P^-1 g by a factor of I + S K S; ``root`` is the diagonal of S."""

    newton_like = True

    def __init__(self, rows: Rows, ridge: Array, factor: Array, root: Array) -> None:
        self.rows, self.ridge, self.factor, self.root = rows, ridge, factor, root

    def solve(self, g: Array) -> Array:
        v = g / self.ridge
        solved = lapack.spotrs if self.factor.dtype == np.float32 else lapack.dpotrs
        x, _ = solved(self.factor, self.root * self.rows.times(v), lower=1)
        return np.asarray(v - self.rows.combine(self.root * x) / self.ridge)

    def gap(self, g: Array) -> float:
        return 0.5 * float(np.vdot(g, self.solve(g)))

    def state_dict(self) -> dict[str, Array]:
        return {"factor": self.factor, "root": self.root, "ridge": self.ridge}


class RowSpace:
    """Takes such metrics of the rows of a problem, and knows what they cost."""

    def __init__(self, problem: Problem) -> None:
        self.rows, self.n = problem.rows, int(problem.rows.n)
        self.given = np.array(np.broadcast_to(problem.ridge, problem.rows.d), dtype=np.float64)
        self.free = np.flatnonzero(~(self.given > 0.0))  # one column at most
        self.ridge: Array | None = None  # that of the metric last taken
        self.K: Array | None = None  # computed where it is first needed, after a restart as well
        self.rough = not self.rows.sparse and self.n**2 * self.rows.d >= LARGE
        share = SINGLE if self.rough else 1.0
        each = share * PRICES.factor * self.n**3 / 3.0 + ENTRY * self.n**2 + PRICES.matrix
        self.each, self.first = float(each), float(each + share * self._price_of_K())

    @cached_property
    def column(self) -> Array:
        """The entries of the column without a ridge."""
        return self.rows.times(np.where(self.given > 0.0, 0.0, 1.0))

    @staticmethod
    def can(problem: Problem) -> bool:
        """Rows in memory, fewer than columns, and a ridge on all of these but one at most (an
        intercept's)? Not for a quadratic with a Gram matrix, nor on a path, which hands a Hessian
        on."""
        rows = problem.rows
        if not isinstance(rows, (Dense, Csr, Scaled)) or not rows.n < rows.d:
            return False
        if rows.n**2 > MOST_ENTRIES or (rows.sparse and rows.n > SPARSE_ROWS):
            return False
        if (problem.loss.quadratic and problem.gram_fits) or problem.handed_on is not None:
            return False
        free = int(np.count_nonzero(~(problem.ridges > 0.0)))
        return free <= 1

    def _price_of_K(self) -> float:
        if isinstance(self.rows, Csr):
            counts = self.n * self.rows.shares
            return PRICES.sparse_gram * float(counts @ counts)
        return PRICES.gram * float(self.n) ** 2 * float(self.rows.d)

    def ridge_metric(self) -> Metric:
        """P = ridge, which is the identity where variables have been scaled so that their penalties
        are alike; a column without ridge counts as much as the others do together."""
        kept = self.given > 0.0
        if np.ptp(self.given[kept]) == 0.0:
            return Identity()
        some = self.rows.take(np.arange(0, self.n, max(1, self.n // SAMPLED)))
        squares = some.squares(np.ones(some.n))
        level = float((squares[kept] / self.given[kept]).sum()) / self.n
        return FactorMetric.diagonal(np.where(kept, self.given, squares / level), 0.0)

    @property
    def price(self) -> float:
        """Of the next metric."""
        return self.first if self.ridge is None else self.each

    def metric(self, bend: Array) -> RowMetric:
        """The Hessian of all rows with these bends."""
        self.ridge, root, more = self.positive(bend), np.sqrt(bend / self.n), 1.0
        while True:  # rounding may outweigh the 1 where K is huge
            if self.K is None:
                dtype = np.float32 if self.rough else np.float64
                self.K = kernel(self.rows, np.where(self.given > 0.0, self.given, np.inf), dtype)
            scale = root.astype(self.K.dtype)
            M = self.K * scale
            M *= scale[:, None]
            if self.free.size:
                along = (root * self.column / np.sqrt(self.ridge[self.free])).astype(M.dtype)
                M += np.outer(along, along)
            M.flat[:: self.n + 1] += more
            largest = float(M.diagonal().max())
            if self.rough and not largest <= MILD:
                self.rough, self.K = False, None
                continue
            factorised = lapack.spotrf if self.rough else lapack.dpotrf
            factor, failed = factorised(M.T, lower=1, clean=0, overwrite_a=1)  # in its place
            if not failed:
                return RowMetric(self.rows, self.ridge, factor, root)
            more = max(100.0 * more, 1e-14 * largest)

    def positive(self, bend: Array) -> Array:
        """The ridge, and for a column that has none a share of its curvature where the bends are
        these: a step goes nearly as far along it as without."""
        if not self.free.size:
            return self.given
        ridge = self.given.copy()
        ridge[self.free] = SOFT * float(bend @ np.square(self.column)) / self.n or 1.0
        return ridge


class RowSpacePolicy(HessianPolicy):
    """Decides when such a metric is taken: at once where the first costs no more than ``worth``
    steps, and then before every step that costs nearly as much."""

    worth = 8.0  # few steps are to come after it

    def __init__(self, problem: Problem) -> None:
        self.space = RowSpace(problem)
        super().__init__(problem)
        self.regret = 0.0 if self.quadratic else self.worth * self.step

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        return RowSpace.can(problem) and outputs_of(problem) == 1

    def _first_rows(self) -> int:
        return self.n

    def begin(self, ridge: Array) -> Metric:
        return self.space.ridge_metric()

    def price_of(self, rows: int) -> float:
        """Of the next metric: of all rows, whatever is asked for. Plain steps on a quadratic are
        conjugate gradients, which become faster: a metric is taken after four times its price."""
        return 4.0 * self.space.price if self.quadratic else self.space.price

    @property
    def every_step(self) -> bool:
        return bool(self.space.price <= self.first * self.step)

    def update(self, view: View) -> Metric | None:
        if not self.should_refresh(view.gradient_ratio):
            return None
        self.on_refresh()
        return self.space.metric(view.row_curvature())

    def state_dict(self) -> dict[str, Array]:
        """Plain numbers, and whether K is in single precision."""
        return {**super().state_dict(), "rough": np.array([self.space.rough])}

    def load_state_dict(self, state: dict[str, Array], metric: dict[str, Array]) -> Metric:
        """Go on from there; K is computed where it is first needed."""
        super().load_state_dict(state, {})
        self.space.rough = bool(state["rough"][0])
        if "ridge" not in metric:
            return FactorMetric.restored(metric)
        self.space.ridge = np.array(metric["ridge"], dtype=np.float64)
        return RowMetric(self.space.rows, self.space.ridge, metric["factor"], metric["root"])


def kernel(rows: Rows, ridge: Array, dtype: Any = np.float64) -> Array:
    """X R^-1 X^T; dense rows are multiplied in this type."""
    if isinstance(rows, Csr):
        X = rows.X.astype(np.float64, copy=False)
        scaled = sp.csr_array((X.data / ridge[X.indices], X.indices, X.indptr), shape=X.shape)
        return np.asarray((scaled @ X.T).toarray())
    if isinstance(rows, Dense) and (ridge == ridge[0]).all():
        X = rows.X.astype(dtype, copy=False)
        K = X @ X.T
        K /= ridge[0]
        return np.asarray(K)
    K, scale = np.zeros((rows.n, rows.n), dtype=dtype), ridge**-0.5
    if isinstance(rows, Scaled):
        scale = rows.scale * scale[: rows.scale.size]  # the column behind them has no ridge
    for start in range(0, scale.size, COLUMNS):
        part = slice(start, start + COLUMNS)
        x = rows.X[:, part]
        if isinstance(rows, Scaled):
            x = x - rows.centre[part]
        scaled = (x * scale[part]).astype(dtype, copy=False)
        K += scaled @ scaled.T
    return K
