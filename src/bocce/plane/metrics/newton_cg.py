"""Newton's direction for several outputs at once: conjugate gradients on the Hessian.

With K outputs the Hessian has (d K)^2 entries, too many to factor, but its product with a direction
costs two products with X and nothing else: no exponential, no look at f. So each step of the plane
first solves H x = g, nearly. Two things make that short: a metric P = s X^T X/n + ridge, one d x d
factor for all outputs; and the directions of earlier solutions, with what H made of them
(``Pairs``), which cost next to nothing to use where n is much larger than d. Where X has too many
columns for such a factor, plain steps of the plane take fewer passes (benchmarks/text.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from ..._types import Array
from ...engines.base import Goal
from ...problems import PathCache, Problem
from ..linalg import largest, norm
from .base import PRICES, IdentityPolicy, Metric, View
from .factor import FactorMetric, Identity
from .hessian import MOST_COLUMNS
from .hessian_operator import HessianOperator, HessianRows, ScoresOf

LEFT = 0.03  # of the gradient: a direction that leaves so little of it is good enough,
NEARLY = 0.5  # and one that leaves so much of what is wanted
MOST = 100  # products of H for one direction
PAIRS, FEWEST = 200, 10  # that are kept, at most;
ROOM = 1 << 24  # and no more than take so many bytes, or as many as the scores of all rows
STALE = 1.5  # the metric is taken anew where the mean bend has changed by such a factor
FIRST = 8.0  # products of H that a Gram matrix may cost to be bought at once
ROWS_A_COLUMN = 50  # of a Gram matrix
SPREAD, FEW = 100, 20  # of so many places, with so many rows each, the mean bend is taken
PROMISED, KEPT, BROKEN = 0.1, 0.3, 3  # where less than the first is promised and more than the
# second is left, so many times on end, float32 is too rough


class Pairs:
    """Directions s of earlier solutions, and y = H s: by them the next one is begun.

    Those of one solution are conjugate (s_i . y_j = 0), so one update makes any metric M exact on
    all of them, and leaves it positive definite:

        M <- (I - S Y^T) M (I - Y S^T) + S S^T        with s_j . y_j = 1

    That is the BFGS update, of a block of directions. H changes from step to step, and y with the
    penalty, which is set right; a pair that is old is still a good one.

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
        """The directions of one solution, a row each; the oldest go where there are too many.

        The arrays are the caller's no more.
        """
        size = np.einsum("ij,ij->i", S, Y, dtype=np.float64)
        good = np.isfinite(size) & (size > 0.0)
        good[: max(0, len(S) - self.most)] = False
        if not good.all():
            S, Y, size = S[good], Y[good], size[good]
        if not size.size:
            return
        while self.blocks and sum(len(S) for S, _ in self.blocks) + size.size > self.most:
            del self.blocks[0]
        unit = (size**-0.5)[:, None].astype(S.dtype)
        S *= unit
        Y *= unit
        self.blocks.append((S, Y))

    def shift(self, ridge: Array) -> None:
        """H has grown by this diagonal (a number for each entry of a direction)."""
        blocks, self.blocks = self.blocks[::-1], []
        while blocks:  # one at a time, for they may be large
            S, Y = blocks.pop()
            Y = Y + ridge.astype(Y.dtype) * S
            self.add(S.copy(), Y)

    def solve(self, g: Array, metric: Callable[[Array], Array]) -> Array:
        """M g, by the metric that the pairs improve."""
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
        """Another that goes its own way from here."""
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


class Newton:
    """H^-1 g, nearly, where the scores are.

    ``iterations`` counts products of H so far, each as dear as a gradient, ``spent`` those of the
    last direction. ``wanted`` is how small a gradient is small enough, ``fall`` how far f may be
    left above its minimum, ``left`` how many products may be spent: a run says so.
    """

    def __init__(self, problem: Problem, outputs: int, ridge: Array) -> None:
        rows = problem.rows
        self.problem, self.shape = problem, (int(rows.d), outputs)
        self.ridge = np.broadcast_to(ridge, self.shape).reshape(-1)
        free = bool(problem.loss.shift_invariant) & (self.ridge == 0.0)
        self.free = free.reshape(self.shape)[:, :1]
        self.cache = PathCache() if problem.handed_on is None else problem.handed_on
        self.goal = Goal(passes=MOST)
        self.iterations = self.spent = 0
        self.bend = 0.0  # the mean for which the metric was taken
        self.promised, self.broken = 1.0, 0  # what the last direction was to leave of the gradient
        self._take_products(rough=True)
        pair = 2 * rows.d * outputs * self.products.rows.dtype.itemsize
        room = max(ROOM, 8 * rows.n * outputs) // pair
        self.pairs = Pairs(max(FEWEST, min(PAIRS, room)))
        self._take_over()

    def aim(self, goal: Goal) -> None:
        """What the next directions are for."""
        self.goal = goal

    def _take_products(self, rough: bool) -> None:
        """By the rows as the run before had them."""
        if self.cache.hessian_rows is None or not rough:
            rows, outputs = self.problem.rows, self.shape[1]
            self.cache.keep(hessian_rows=HessianRows.of(rows, outputs, rough))
        assert self.cache.hessian_rows is not None
        self.products = HessianOperator(self.problem, self.cache.hessian_rows)

    def _take_over(self) -> None:
        """The pairs of the run before, with the penalty of this one."""
        if self.cache.pairs is not None:
            self.pairs = self.cache.pairs
            self.pairs.shift(self.ridge - self.cache.pairs_ridge)
        self.cache.keep(pairs=self.pairs, pairs_ridge=self.ridge)

    # -- the metric ----------------------------------------------------------------------------

    def metric(self, scores: ScoresOf, now: Metric) -> Metric:
        """s X^T X/n + ridge, s the mean of the second derivatives; the one there is where that is
        as good, or where products of H have not yet come to the price of a Gram matrix."""
        if self.cache.gram is None and not self._pays():
            return now
        bend = self._mean_bend(scores)
        if not bend > 0.0 or self.bend / STALE <= bend <= self.bend * STALE:
            return now
        self.bend = bend
        return FactorMetric.of(bend * self._gram(), self.ridge[:: self.shape[1]])

    def _mean_bend(self, scores: ScoresOf) -> float:
        """Over outputs, and parts of rows spread over the data."""
        p, sums = self.problem, []
        for start in range(0, p.n, max(FEW, p.n // SPREAD * FEW)):
            rows = slice(start, min(start + FEW, p.n))
            sums.append(p.weighted(p.loss.bend(scores(rows), p.y[rows]), rows).mean())
        return float(np.mean(sums))

    def _pays(self) -> bool:
        rows, outputs = self.problem.rows, self.shape[1]
        share = min(1.0, ROWS_A_COLUMN * rows.d / rows.n)
        product = 4.0 * outputs * rows.cost * (PRICES.sparse if rows.sparse else PRICES.gram)
        if rows.sparse:
            price = PRICES.sparse_gram * rows.cost**2 / rows.n * share
        else:
            price = PRICES.gram * rows.gram_cost * share
        return bool(price <= (FIRST + self.iterations) * product)

    def _gram(self) -> Array:
        """X^T X/n, of all rows or of enough of them."""
        if self.cache.gram is None:
            rows, weight = self.problem.rows, self.problem.weight
            if 2 * ROWS_A_COLUMN * rows.d < rows.n:
                few = np.random.default_rng(0).choice(rows.n, ROWS_A_COLUMN * rows.d, replace=False)
                few.sort()
                rows, weight = rows.take(few), None if weight is None else weight[few]
            self.cache.keep(gram=np.asarray(rows.gram(weight)))
        assert self.cache.gram is not None
        return self.cache.gram

    # -- the direction -------------------------------------------------------------------------

    def solve(self, g: Array, scores: ScoresOf, metric: Metric, shrank: float) -> Array:
        """H^-1 g; ``shrank``: the gradient's norm by the last step over the one before."""
        self._doubt(shrank)
        self.products.look(scores)
        size, enough = largest(g), max(LEFT, NEARLY * self.goal.gradient / norm(g))
        around = self._balanced(g / size).reshape(-1)
        little = 2.0 * NEARLY * self.goal.gap / size / size  # squares may overflow
        x = self._conjugate_gradients(around, metric, enough, little).reshape(g.shape)
        x = size * self._balanced(x)
        if np.isfinite(x).all() and float(np.vdot(x, g)) > 0.0:
            return x
        self.pairs.blocks.clear()
        return metric.solve(g)

    def _balanced(self, v: Array) -> Array:
        """Without what is the same for all outputs, where f does not depend on that: there H is
        zero, and rounding would move w far."""
        if not self.free.any():
            return v
        return np.where(self.free, v - v.mean(axis=1, keepdims=True), v)

    def _doubt(self, shrank: float) -> None:
        """Is single precision too rough for this Hessian?"""
        self.broken = self.broken + 1 if shrank > KEPT and self.promised < PROMISED else 0
        if self.broken >= BROKEN and self.products.rows.rough:
            self._take_products(rough=False)
            self.pairs.blocks.clear()

    def still_to_fall(self, g: Array, metric: Metric) -> float:
        """About how far f is above its minimum where its gradient is g: g . H^-1 g / 2, by the
        metric that the pairs improve; infinite where there is none."""
        if not (metric.newton_like and self.pairs.blocks):
            return float("inf")
        v = self._balanced(g).reshape(-1)
        return 0.5 * float(v @ self._improved(v.astype(self.products.rows.dtype), metric))

    def _improved(self, v: Array, metric: Metric) -> Array:
        return self.pairs.solve(v, lambda v: self._by(metric, v))

    def _conjugate_gradients(
        self, g: Array, metric: Metric, enough: float, little: float = 0.0
    ) -> Array:
        """From 0, until ``enough`` of g is left, or less than ``little`` of g . H^-1 g, or nothing
        may be spent any more."""
        dtype = self.products.rows.dtype.type
        ridge, r = self.ridge.astype(dtype), g.astype(dtype)

        x, first, before = np.zeros(r.size), norm(r), self.iterations
        p = step = self._improved(r, metric)
        fall, S, Y = float(r @ step), [], []
        for _ in range(max(1, min(MOST, self.goal.passes))):
            q = self.products.times(p.reshape(self.shape)).reshape(-1) + ridge * p
            self.iterations += 1
            bent = float(p @ q)
            if not bent > 0.0:
                break
            S.append(p)
            Y.append(q)
            x += (fall / bent) * p
            r = r - dtype(fall / bent) * q
            self.promised = norm(r) / first
            if self.promised <= enough:
                break
            step = self._improved(r, metric)
            fall, last = float(r @ step), fall
            if fall <= little:
                break
            p = step + dtype(fall / last) * p
        if S:
            self.pairs.add(_stacked(S), _stacked(Y))
        self.spent = self.iterations - before
        return x

    def _by(self, metric: Metric, v: Array) -> Array:
        return np.asarray(metric.solve(v.reshape(self.shape)), dtype=v.dtype).reshape(-1)

    # -- to stop and go on ---------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        numbers = [self.bend, self.promised, self.broken, self.iterations, self.products.rows.rough]
        return {"newton": np.array(numbers, dtype=np.float64), **self.pairs.state()}

    def restore(self, state: dict[str, Array]) -> None:
        self.bend, self.promised, broken, iterations, rough = state["newton"].tolist()
        self.broken, self.iterations = int(broken), int(iterations)
        if self.products.rows.rough > rough:
            self._take_products(rough=False)
        self.pairs.restore(state)


def _stacked(vectors: list[Array]) -> Array:
    """The vectors as rows of one array; the list is emptied, so that nothing is there twice."""
    made = np.empty((len(vectors), vectors[0].size), dtype=vectors[0].dtype)
    while vectors:
        made[len(vectors) - 1] = vectors.pop()
    return made


class NewtonMetric:
    """H^-1 g, nearly, by conjugate gradients: each ``solve`` makes passes over the data."""

    newton_like = False  # a step along the direction is searched for thoroughly

    def __init__(
        self, policy: NewtonPolicy, scores: ScoresOf, metric: Metric, gradient_ratio: float
    ) -> None:
        self.policy, self.scores, self.metric = policy, scores, metric
        self.gradient_ratio = gradient_ratio

    def solve(self, g: Array) -> Array:
        """H^-1 g; what is left of g is 3 %, or what the goal allows."""
        return self.policy.solve(g, self)

    def gap(self, g: Array) -> float:
        return self.policy.newton.still_to_fall(g, self.metric)

    def state_dict(self) -> dict[str, Array]:
        """Of the metric that preconditions the conjugate gradients."""
        return self.metric.state_dict()


class NewtonPolicy(IdentityPolicy):
    """Newton's direction before every step, for several outputs whose rows are in memory."""

    each_point: ClassVar[bool] = True

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        ridge = np.broadcast_to(problem.ridge, problem.rows.d).reshape(-1, 1)
        self.newton = Newton(problem, problem.shape[1], ridge)
        self.metric: Metric = Identity()

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """For several outputs, rows that are here, and not too many columns for a factor."""
        here = not (problem.in_parts or problem.rows.foreign)
        return here and len(problem.shape) > 1 and bool(problem.rows.d <= MOST_COLUMNS)

    def update(self, view: View) -> Metric | None:
        self.newton.aim(view.goal)
        self.metric = self.newton.metric(view.scores, self.metric)
        return NewtonMetric(self, view.scores, self.metric, view.gradient_ratio)

    def solve(self, g: Array, at: NewtonMetric) -> Array:
        """H^-1 g; products of H, each as dear as a gradient, are counted."""
        x = self.newton.solve(g, at.scores, at.metric, at.gradient_ratio)
        self.passes = self.newton.iterations
        return x

    def state_dict(self) -> dict[str, Array]:
        return self.newton.state()

    def load_state_dict(self, state: dict[str, Array], metric: dict[str, Array]) -> Metric:
        shapes = [np.shape(state[name]) for name in ("S", "Y") if name in state]
        size = self.newton.ridge.size
        if any(len(shape) != 2 or shape != shapes[0] or shape[1] != size for shape in shapes):
            raise ValueError("its pairs have another shape than w")
        self.newton.restore(state)
        self.passes = self.newton.iterations
        self.metric = FactorMetric.restored(metric)
        return self.metric
