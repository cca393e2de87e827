"""Newton's direction for several outputs at once: conjugate gradients on the Hessian.

With K outputs the Hessian has (d K)^2 entries, too many to factor, but its product with a direction
costs two products with X and nothing else: no exponential, no evaluation of f. So each step of the
plane first solves H x = g approximately. Two things make conjugate gradients short: a metric
P = s X^T X/n + ridge, one d x d factor for all outputs; and earlier search directions with their
products with H (``Pairs``), which cost little if n is much larger than d. If X has too many columns
for such a factor, plain steps of the plane take fewer passes (benchmarks/text.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from ..._record import joined, part_of, record
from ..._types import Array
from ...engines.base import Goal
from ...problems import PathCache, Problem
from ..linalg import largest, norm
from .base import PRICES, IdentityPolicy, Metric, ScoresOf, View
from .factor import FactorMetric, Identity
from .hessian_operator import HessianOperator, HessianRows

LEFT = 0.03  # A direction is good enough if H x leaves this share of the gradient's norm.
FIRST_LEFT = 0.1  # The same share for the first direction of a run ...
MOST_LEFT = 0.5  # ... and where the last step did not go as its quadratic model said.
MODEL_ERROR = 0.9  # A step that shrank the gradient by s had a model that was wrong by this s^2.
# A direction is also good enough if it leaves this share of the run's own tolerance.
NEARLY_DONE = 0.5
MOST_INNER_PRODUCTS = 100  # At most this many products with H are made for one direction.
PAIRS = 200  # At most this many pairs are stored.
FEWEST_PAIRS = 10  # At least this many pairs may be stored, however long they are.
ROOM = (
    1 << 24
)  # Pairs take this many bytes, or as many as the scores of all rows if these are more.
STALE = 1.5  # The metric is recomputed if the mean second derivative changed by this factor.
FIRST = 8.0  # A Gram matrix that costs at most this many products with H is computed at once.
GRAM_ROWS_A_COLUMN = 50  # A Gram matrix is summed over about this many rows for each column.
SPREAD = 100  # The mean second derivative is taken at this many places, spread over the rows.
ROWS_AT_A_PLACE = 20  # At each such place this many rows are taken.
# float32 is too rough if conjugate gradients promised to leave less than PROMISED of the gradient,
# and a step left more than KEPT of it, BROKEN times in a row.
PROMISED = 0.1
KEPT = 0.3
BROKEN = 3


# Rows are even if none of them has more than this share of the trace of X^T X.
MOST_OF_TRACE = 0.05


def rows_are_even(problem: Problem) -> bool:
    """Is X^T X/n like the Hessian, up to a factor? Not where it is made of few rows: their own
    curvature vanishes once their class is certain, and conjugate gradients then take a hundred
    products for a direction, where plain steps of the plane are few."""
    return problem.largest_row2 <= MOST_OF_TRACE * problem.n * problem.mean_row2


class Pairs:
    """Search directions s of earlier solutions, and y = H s: they improve the next metric. Without
    them, cross-validation of the digits takes 2.4 times as long.

    The directions of one solution are conjugate (s_i . y_j = 0), so one update makes any metric M
    exact on all of them, and leaves M positive definite:

        M <- (I - S Y^T) M (I - Y S^T) + S S^T        with s_j . y_j = 1

    This is the BFGS update for a block of directions. H changes from step to step, but old pairs
    are still good; a change of the penalty is added to y (``shift``).

    >>> H, pairs = np.diag([1.0, 100.0]), Pairs(10)
    >>> s = np.array([[0.0, 1.0]])
    >>> pairs.add(s, s @ H)
    >>> pairs.solve(np.array([3.0, 100.0]), lambda g: g)
    array([3., 1.])
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.blocks: list[tuple[Array, Array]] = []

    def add(self, S: Array, Y: Array) -> None:
        """Store the directions of one solution, a row each, in place of the oldest if necessary;
        changes both arrays."""
        size = np.einsum("ij,ij->i", S, Y, dtype=np.float64)
        good = np.isfinite(size) & (size > 0.0)
        good[: max(0, len(S) - self.most)] = False
        if not good.all():
            S = S[good]
            Y = Y[good]
            size = size[good]
        if not size.size:
            return
        while self.blocks and sum(len(S) for S, _ in self.blocks) + size.size > self.most:
            del self.blocks[0]
        unit = (size**-0.5)[:, None].astype(S.dtype)
        S *= unit
        Y *= unit
        self.blocks.append((S, Y))

    def shift(self, ridge: Array) -> None:
        """Add this diagonal to H (a number for each entry of a direction)."""
        blocks = self.blocks[::-1]
        self.blocks = []
        while blocks:  # one at a time, because blocks may be large
            S, Y = blocks.pop()
            Y = Y + ridge.astype(Y.dtype) * S
            self.add(S.copy(), Y)

    def solve(self, g: Array, metric: Callable[[Array], Array]) -> Array:
        """M g, where M is ``metric`` improved by the pairs."""
        along = []
        for S, Y in reversed(self.blocks):
            a = S @ g
            g = g - a @ Y
            along.append(a)
        x = metric(g)
        for (S, Y), a in zip(self.blocks, reversed(along)):
            x = x + (a - Y @ x) @ S
        return x

    def copy(self) -> Pairs:
        """The same pairs, to which others can be added."""
        other = Pairs(self.most)
        other.blocks = list(self.blocks)
        return other

    def state(self) -> dict[str, Array]:
        if not self.blocks:
            return {}
        S, Y = (np.concatenate(arrays) for arrays in zip(*self.blocks))
        return {"S": S, "Y": Y, "sizes": np.array([len(S) for S, _ in self.blocks])}

    def restore(self, state: dict[str, Array]) -> None:
        if "S" not in state:
            return
        ends = np.cumsum(state["sizes"])[:-1]
        self.blocks = list(zip(np.split(state["S"], ends), np.split(state["Y"], ends)))


class NewtonMetric:
    """H^-1 g by conjugate gradients: each ``solve`` makes passes over the data."""

    newton_like = False  # the best step along the direction is searched for

    def __init__(self, policy: NewtonPolicy, scores: ScoresOf, gradient_ratio: float) -> None:
        self.policy = policy
        self.scores = scores
        self.gradient_ratio = gradient_ratio

    def solve(self, g: Array) -> Array:
        return self.policy.solve(g, self.scores, self.gradient_ratio)

    def gap(self, g: Array) -> float:
        return self.policy.still_to_fall(g)

    def state_dict(self) -> dict[str, Array]:
        """Nothing: the policy makes another one before each step, and keeps what it is made of."""
        return {}


class NewtonPolicy(IdentityPolicy):
    """Newton's direction before every step, for several outputs and rows in memory.

    ``passes`` counts products with H, each as expensive as a gradient. ``metric`` preconditions the
    conjugate gradients. ``promised`` is the share of the gradient that the last direction was to
    leave.
    """

    each_point: ClassVar[bool] = True

    def __init__(self, problem: Problem, goal: Goal | None = None) -> None:
        super().__init__(problem)
        rows = problem.rows
        outputs = problem.shape[1]
        self.shape = (int(rows.d), outputs)
        self.ridge = np.repeat(problem.ridges, outputs)
        self.free = problem.loss.shift_invariant & (problem.ridges[:, None] == 0.0)
        if problem.handed_on is None:
            self.cache = PathCache()
        else:
            self.cache = problem.handed_on
        self.goal = goal or Goal(passes=MOST_INNER_PRODUCTS)
        self.promised = 1.0
        self.broken = 0
        self.metric: Metric = Identity()
        self.mean_curvature = 0.0  # in the metric
        self._take_products(rough=True)
        pair = 2 * rows.d * outputs * self.products.rows.dtype.itemsize
        room = max(ROOM, 8 * rows.n * outputs) // pair
        self.pairs = Pairs(max(FEWEST_PAIRS, min(PAIRS, room)))
        if self.cache.pairs is not None:  # the run before on a path had another penalty
            self.pairs = self.cache.pairs
            self.pairs.shift(self.ridge - self.cache.pairs_ridge)
        self.cache.keep(pairs=self.pairs, pairs_ridge=self.ridge)

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """For several outputs, rows in memory, and at most 2,048 columns."""
        here = not (problem.in_parts or problem.rows.foreign)
        few = problem.rows.d <= problem.limits.factor_columns
        return bool(here and few and len(problem.shape) > 1)

    def update(self, view: View) -> Metric | None:
        self.prepare(view.goal, view.scores)
        return NewtonMetric(self, view.scores, view.gradient_ratio)

    def prepare(self, goal: Goal, scores: ScoresOf) -> None:
        """Before a step towards the goal, from the point with these scores."""
        self.goal = goal
        self.precondition(scores)

    def _take_products(self, rough: bool) -> None:
        """Use the rows as the run before had them, or in float64 if not ``rough``."""
        if self.cache.hessian_rows is None or not rough:
            rows = self.problem.rows
            outputs = self.shape[1]
            self.cache.keep(hessian_rows=HessianRows.of(rows, outputs, rough))
        assert self.cache.hessian_rows is not None
        self.products = HessianOperator(self.problem, self.cache.hessian_rows)

    # -- the metric ----------------------------------------------------------------------------

    def precondition(self, scores: ScoresOf) -> None:
        """Make the metric s X^T X/n + ridge, where s is the mean second derivative; unless the
        present one is as good, or products with H have not yet cost as much as a Gram matrix."""
        if self.cache.gram is None and not self._pays():
            return
        mean = self._mean_curvature(scores)
        if mean > 0.0 and not mean / STALE <= self.mean_curvature <= mean * STALE:
            self.mean_curvature = mean
            self.metric = FactorMetric.of(mean * self._gram(), self.problem.ridges)

    def _mean_curvature(self, scores: ScoresOf) -> float:
        """The mean second derivative over all outputs and some rows, spread over the data."""
        p = self.problem
        sums = []
        for start in range(0, p.n, max(ROWS_AT_A_PLACE, p.n // SPREAD * ROWS_AT_A_PLACE)):
            rows = slice(start, min(start + ROWS_AT_A_PLACE, p.n))
            sums.append(p.weighted(p.loss.bend(scores(rows), p.y[rows]), rows).mean())
        return float(np.mean(sums))

    def _pays(self) -> bool:
        rows = self.problem.rows
        outputs = self.shape[1]
        share = min(1.0, GRAM_ROWS_A_COLUMN * rows.d / rows.n)
        product = 4.0 * outputs * rows.cost * (PRICES.sparse if rows.sparse else PRICES.gram)
        if rows.sparse:
            price = PRICES.sparse_gram * rows.cost**2 / rows.n * share
        else:
            price = PRICES.gram * rows.gram_cost * share
        price += PRICES.factor * rows.d**3 / 3.0
        return bool(price <= (FIRST + self.passes) * product)

    def _gram(self) -> Array:
        """X^T X/n, of all rows or of a sample."""
        if self.cache.gram is None:
            rows = self.problem.rows
            weight = self.problem.weight
            if 2 * GRAM_ROWS_A_COLUMN * rows.d < rows.n:
                count = GRAM_ROWS_A_COLUMN * rows.d
                few = np.random.default_rng(0).choice(rows.n, count, replace=False)
                few.sort()
                rows = rows.take(few)
                weight = None if weight is None else weight[few]
            self.cache.keep(gram=np.asarray(rows.gram(weight)))
        assert self.cache.gram is not None
        return self.cache.gram

    # -- the direction -------------------------------------------------------------------------

    def solve(self, g: Array, scores: ScoresOf, shrank: float) -> Array:
        """H^-1 g; ``shrank``: the gradient's norm over the norm before the last step."""
        self._doubt(shrank)
        self.products.look(scores)
        size = largest(g)
        enough = max(self._share_left(shrank), NEARLY_DONE * self.goal.gradient / norm(g))
        around = self._balanced(g / size).reshape(-1)
        little = 2.0 * NEARLY_DONE * self.goal.gap / size / size  # squares may overflow
        x = self._conjugate_gradients(around, enough, little).reshape(g.shape)
        x = size * self._balanced(x)
        if np.isfinite(x).all() and float(np.vdot(x, g)) > 0.0:
            return x
        self.pairs.blocks.clear()
        return self.metric.solve(g)

    def _share_left(self, shrank: float) -> float:
        """The share of the gradient that a direction may leave: about as much as the quadratic
        model of the last step was wrong by (Eisenstat and Walker 1996, second choice). Digits with
        l2 = 1e-6 to 1e-8 take half the time of a fixed share."""
        if not 0.0 < shrank < math.inf:
            return FIRST_LEFT
        return max(LEFT, min(MOST_LEFT, MODEL_ERROR * shrank**2))

    def _balanced(self, v: Array) -> Array:
        """Remove the mean over outputs for variables without ridge, if f does not depend on that
        mean: H is zero there, and rounding would move w far."""
        if not self.free.any():
            return v
        return np.where(self.free, v - v.mean(axis=1, keepdims=True), v)

    def _doubt(self, shrank: float) -> None:
        """Is single precision too rough for this Hessian?"""
        if shrank > KEPT and self.promised < PROMISED:
            self.broken = self.broken + 1
        else:
            self.broken = 0
        if self.broken >= BROKEN and self.products.rows.rough:
            self._take_products(rough=False)
            self.pairs.blocks.clear()

    def still_to_fall(self, g: Array) -> float:
        """About how far f is above its minimum if its gradient is g: g . H^-1 g / 2, where the
        metric improved by the pairs stands for H; infinite without a metric."""
        if not (self.metric.newton_like and self.pairs.blocks):
            return float("inf")
        v = self._balanced(g).reshape(-1)
        return 0.5 * float(v @ self._improved(v.astype(self.products.rows.dtype)))

    def _improved(self, v: Array) -> Array:
        def plain(v: Array) -> Array:
            return np.asarray(self.metric.solve(v.reshape(self.shape)), dtype=v.dtype).reshape(-1)

        return self.pairs.solve(v, plain)

    def _conjugate_gradients(self, g: Array, enough: float, little: float) -> Array:
        """Iterate from 0 until the share ``enough`` of g is left, or less than ``little`` of
        g . H^-1 g, or no more passes may be made."""
        dtype = self.products.rows.dtype.type
        ridge = self.ridge.astype(dtype)
        r = g.astype(dtype)

        x = np.zeros(r.size)
        first = norm(r)
        p = step = self._improved(r)
        fall = float(r @ step)
        S = []
        Y = []
        for _ in range(max(1, min(MOST_INNER_PRODUCTS, self.goal.passes))):
            q = self.products.times(p.reshape(self.shape)).reshape(-1) + ridge * p
            self.passes += 1
            curvature = float(p @ q)
            if not curvature > 0.0:
                break
            S.append(p)
            Y.append(q)
            x += (fall / curvature) * p
            r = r - dtype(fall / curvature) * q
            self.promised = norm(r) / first
            if self.promised <= enough:
                break
            step = self._improved(r)
            fall, last = float(r @ step), fall
            if fall <= little:
                break
            p = step + dtype(fall / last) * p
        if S:
            self.pairs.add(_stacked(S), _stacked(Y))
        return x

    # -- to stop and go on ---------------------------------------------------------------------

    def state_dict(self) -> dict[str, Array]:
        own = record(
            mean_curvature=self.mean_curvature,
            promised=self.promised,
            broken=self.broken,
            passes=self.passes,
            rough=self.products.rows.rough,
        )
        return own | joined(pairs=self.pairs.state(), preconditioner=self.metric.state_dict())

    def load_state_dict(self, state: dict[str, Array], metric: dict[str, Array]) -> Metric:
        pairs = part_of(state, "pairs")
        shapes = [np.shape(pairs[name]) for name in ("S", "Y") if name in pairs]
        size = self.ridge.size
        if any(len(shape) != 2 or shape != shapes[0] or shape[1] != size for shape in shapes):
            raise ValueError("its pairs have another shape than w")
        self.mean_curvature = float(state["mean_curvature"])
        self.promised = float(state["promised"])
        self.broken = int(state["broken"])
        self.passes = int(state["passes"])
        if self.products.rows.rough and not state["rough"]:
            self._take_products(rough=False)
        self.pairs.restore(pairs)
        self.metric = super().load_state_dict({}, part_of(state, "preconditioner"))
        if np.shape(self.metric.solve(np.zeros(self.shape))) != self.shape:
            raise ValueError("its preconditioner has another shape than w")
        return Identity()


def _stacked(vectors: list[Array]) -> Array:
    """The vectors as rows of one array. The list is emptied meanwhile, to save memory."""
    made = np.empty((len(vectors), vectors[0].size), dtype=vectors[0].dtype)
    while vectors:
        made[len(vectors) - 1] = vectors.pop()
    return made
