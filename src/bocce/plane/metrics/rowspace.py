"""The metric where rows are fewer than columns: a factor of n x n numbers instead of d x d.

With b_i the second derivatives of the rows, S = diag(sqrt(b_i / n)) and R = diag(ridge),

    P = X^T S^2 X + R,    P^-1 = R^-1 - R^-1 X^T S (I + S K S)^-1 S X R^-1,    K = X R^-1 X^T

(Woodbury's identity). K is computed once; other second derivatives need a Cholesky factor of n x n
numbers. K and the factor are in single precision if K is large and I + S K S is not: half the
work, and as good a metric.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from ..._record import record
from ..._types import Array
from ...problems import Problem
from ...rows import Rows
from .base import PRICES, Metric, View, outputs_of
from .factor import FactorMetric, Identity
from .hessian import HessianPolicy

# The sizes of the columns are estimated from about this many rows.
SIZED_ROWS = 64
# This many rows tell whether float32 is exact enough.
ROWS_LOOKED_AT = 8
# A multiplication in float32 costs this share of a multiplication in float64.
SINGLE = 0.5
# A column without a ridge gets, in the metric alone, a ridge of this share of its curvature.
SOFT = 1e-4
# Scaling one entry of an n x n matrix costs this many nanoseconds.
ENTRY = 2.0
# If K needs fewer multiplications than this, K is computed in float64.
LARGE_PRODUCT = 1 << 22
# Above this diagonal entry of I + S K S, rounding in float32 would lose the identity.
MILD = 1e5


class RowMetric:
    """P^-1 g by a factor of I + S K S; ``root`` is the diagonal of S."""

    newton_like = True

    def __init__(self, rows: Rows, ridge: Array, factor: Array, root: Array) -> None:
        self.rows = rows
        self.ridge = ridge
        self.factor = factor
        self.root = root

    def solve(self, g: Array) -> Array:
        v = g / self.ridge
        if self.factor.dtype == np.float32:
            solved = lapack.spotrs
        else:
            solved = lapack.dpotrs
        x, _ = solved(self.factor, self.root * self.rows.times(v), lower=1)
        return np.asarray(v - self.rows.combine(self.root * x) / self.ridge)

    def gap(self, g: Array) -> float:
        return 0.5 * float(np.vdot(g, self.solve(g)))

    def state_dict(self) -> dict[str, Array]:
        return {"factor": self.factor, "root": self.root, "ridge": self.ridge}


class RowSpacePolicy(HessianPolicy):
    """Decides when such a metric is computed: at once if the first one costs no more than ``worth``
    steps (for a quadratic, when slow steps have cost as much as the metric), and later before every
    step that costs nearly as much."""

    worth = 8.0  # few steps follow the first such metric

    def __init__(self, problem: Problem) -> None:
        n = self.n = int(problem.rows.n)
        self.X = problem.rows
        self.given = np.array(np.broadcast_to(problem.ridge, self.X.d), dtype=np.float64)
        self.free = np.flatnonzero(~(self.given > 0.0))  # at most one column
        self.ridge: Array | None = None  # the ridge in the last metric
        self.K: Array | None = None  # computed at first use, also after a restart
        large = not self.X.sparse and n**2 * self.X.d >= LARGE_PRODUCT
        self.rough = large and self._mild(problem.loss.curvature or 1.0)
        share = SINGLE if self.rough else 1.0
        each = share * PRICES.factor * n**3 / 3.0 + ENTRY * n**2 + PRICES.matrix
        if self.X.sparse:
            price_of_K = PRICES.sparse_gram * self.X.shared_entries
        else:
            price_of_K = PRICES.gram * float(n) ** 2 * float(self.X.d)
        self.each_price = float(each)
        self.first_price = float(each + share * price_of_K)
        super().__init__(problem)
        if self.quadratic:
            self.regret = 0.0
        else:
            self.regret = self.worth * self.step

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """For rows in memory, fewer than columns, and a ridge on all columns but one at most (the
        intercept's). Not on a path, which hands a Hessian on."""
        rows = problem.rows
        if not rows.in_memory or not rows.n < rows.d:
            return False
        limits = problem.limits
        if rows.n**2 > limits.kernel_entries:
            return False
        if rows.sparse and rows.n > limits.sparse_kernel_rows:
            return False
        if problem.handed_on is not None:
            return False
        free = int(np.count_nonzero(~(problem.ridges > 0.0)))
        return free <= 1 and outputs_of(problem) == 1

    @property
    def bounded(self) -> Array:
        """The ridges; infinite for the column without a ridge, which K leaves out."""
        return np.where(self.given > 0.0, self.given, np.inf)

    @cached_property
    def column(self) -> Array:
        """The entries of the column without a ridge."""
        return self.X.times(np.where(self.given > 0.0, 0.0, 1.0))

    def _first_rows(self) -> int:
        return self.n

    def begin(self, ridge: Array) -> Metric:
        """P = ridge, which is the identity where variables were scaled to equal penalties. A column
        without ridge counts as much as all others together."""
        kept = self.given > 0.0
        if np.ptp(self.given[kept]) == 0.0:
            return Identity()
        some = self.X.take(np.arange(0, self.n, max(1, self.n // SIZED_ROWS)))
        squares = some.squares(np.ones(some.n))
        level = float((squares[kept] / self.given[kept]).sum()) / self.n
        return FactorMetric.of(np.where(kept, self.given, squares / level), 0.0)

    @property
    def price(self) -> float:
        """The price of the next metric, in nanoseconds."""
        if self.ridge is None:
            return self.first_price
        return self.each_price

    def price_of(self, rows: int) -> float:
        """The price of the next metric, which is always of all rows."""
        return self.price

    @property
    def every_step(self) -> bool:
        return bool(self.price <= self.first * self.step)

    def update(self, view: View) -> Metric | None:
        if not self.should_refresh(view.gradient_ratio, view.goal.remaining):
            return None
        self.on_refresh()
        return self.metric(view.row_curvature())

    def metric(self, curvature: Array) -> Metric:
        """The Hessian of all rows, whose second derivatives are given."""
        self.ridge, root, more = self.positive(curvature), np.sqrt(curvature / self.n), 1.0
        while True:  # rounding may exceed the identity where K is huge
            if self.K is None:
                dtype = np.float32 if self.rough else np.float64
                self.K = self.X.row_products(self.bounded, dtype)
            scale = root.astype(self.K.dtype)
            M = self.K * scale
            M *= scale[:, None]
            if self.free.size:
                along = (root * self.column / np.sqrt(self.ridge[self.free])).astype(M.dtype)
                M += np.outer(along, along)
            M.flat[:: self.n + 1] += more
            largest = float(M.diagonal().max())
            if self.rough and not largest <= MILD:
                self.rough = False
                self.K = None
                continue
            if self.rough:
                factorised = lapack.spotrf
            else:
                factorised = lapack.dpotrf
            factor, failed = factorised(M.T, lower=1, clean=0, overwrite_a=1)  # in place
            if not failed:
                return RowMetric(self.X, self.ridge, factor, root)
            more = max(100.0 * more, 1e-14 * largest)

    def _mild(self, curvature: float) -> bool:
        """Is the diagonal of I + S K S mild, where all rows have this second derivative? Some rows
        tell; if they are wrong, ``metric`` computes K again."""
        some = self.X.take(np.arange(0, self.n, max(1, self.n // ROWS_LOOKED_AT)))
        diagonal = some.row_products(self.bounded).diagonal()
        return bool(curvature / self.n * diagonal.max() <= MILD)

    def positive(self, curvature: Array) -> Array:
        """The ridge; a column without one gets a small share of its curvature, so a step goes
        nearly as far along that column as without a ridge."""
        if not self.free.size:
            return self.given
        ridge = self.given.copy()
        ridge[self.free] = SOFT * float(curvature @ np.square(self.column)) / self.n or 1.0
        return ridge

    def state_dict(self) -> dict[str, Array]:
        saved = super().state_dict() | record(rough=self.rough)
        if self.ridge is not None:
            saved["ridge"] = self.ridge
        return saved

    def load_state_dict(self, state: dict[str, Array], metric: dict[str, Array]) -> Metric:
        self.rough = bool(state["rough"])
        if "ridge" in state:
            self.ridge = np.array(state["ridge"], dtype=np.float64)
        if "ridge" not in metric:
            return super().load_state_dict(state, metric)
        super().load_state_dict(state, {})
        ridge = np.array(metric["ridge"], dtype=np.float64)
        return RowMetric(self.X, ridge, metric["factor"], metric["root"])
