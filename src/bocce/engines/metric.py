"""In which metric the plane's new direction is steepest, and when a better one is worth its price.

A metric is a matrix P that is like the Hessian: the direction is -P^-1 g. The identity costs
nothing; a Hessian of sampled rows costs a Gram matrix and a Cholesky factor, and saves steps. What
is spent is counted in nanoseconds of an imagined machine (``Prices``), never by a clock, so that a
run takes the same course wherever and whenever it is run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

Array = npt.NDArray[np.float64]

SELDOM = 0.5
DENSE = 0.99  # of all entries: fewer are sparse rows
BLANK = 1e-26  # of the largest diagonal entry: less is the rounding of a constant column
MOST_COLUMNS = 2048  # of a d x d factor
EXACT = 0.04  # how much a step shrinks the gradient right after the Hessian of all rows was taken
TAKEN = 1 << 18  # numbers of sampled rows that are copied at a time
TRIAL = 3  # steps that show what a metric which several outputs share is worth


@dataclass(frozen=True)
class Prices:
    """What things cost: nanoseconds on one core, rounded."""

    call: float = 1.7e5  # a step, in Python
    matrix: float = 6e4  # a Hessian, in Python,
    draw: float = 9e4  # and of a sample
    row: float = 25.0  # a step's element-wise work on one row
    column: float = 15.0
    dense: float = 0.45  # a multiplication of X v, read from memory
    sparse: float = 1.3
    gram: float = 0.025  # a multiplication of a dense Gram matrix,
    touch: float = 2.2  # and for each entry that is weighted
    sparse_gram: float = 2.7
    squares: float = 1.5  # an entry squared, weighted and summed
    factor: float = 0.05  # a multiplication of Cholesky's method
    square: float = 14.0  # an entry of a d x d matrix


PRICES = Prices()


class Metric:
    """P^-1 g by a Cholesky factor of P scaled to a unit diagonal; by its diagonal alone where there
    is only the root of that, and the identity without either.

    >>> P = Metric.of(np.array([[4.0, 2.0], [2.0, 2.0]]), 1.0)
    >>> P.solve(np.array([7.0, 5.0])).round(6)
    array([1., 1.])
    >>> Metric.diagonal(np.array([4.0, 2.0]), 1.0).solve(np.array([5.0, 3.0]))
    array([1., 1.])
    """

    def __init__(self, factor: Array | None = None, root: Array | None = None) -> None:
        self.factor, self.root = factor, root

    @property
    def plain(self) -> bool:
        """Is it the identity?"""
        return self.root is None

    @property
    def like_newton(self) -> bool:
        """Is it like the Hessian in all directions, so that -P^-1 g is nearly Newton's step?"""
        return self.factor is not None

    @classmethod
    def of(cls, H: Array, ridge: Any, unseen: float = 1.0) -> Metric:
        """The metric H + ridge. A column without any curvature gets that of the others, times
        ``unseen``; where curvature overflows it is the identity."""
        P = np.array(H, dtype=np.float64)
        if not np.isfinite(P.diagonal()).all():
            return cls()
        root = _root(P.diagonal(), ridge, unseen)
        P /= root
        P /= root[:, None]
        more = 1e-12
        while True:  # rounding leaves a singular P not quite definite
            P.flat[:: P.shape[0] + 1] = 1.0 + more
            factor, failed = lapack.dpotrf(P, lower=1, clean=0)
            if not failed:
                return cls(factor, root)
            more *= 100.0

    @classmethod
    def diagonal(cls, squares: Array, ridge: Any, unseen: float = 1.0) -> Metric:
        """The same, of a diagonal alone."""
        return cls(root=_root(squares, ridge, unseen))

    def solve(self, g: Array) -> Array:
        if self.root is None:
            return g
        x = (g.T / self.root).T
        if self.factor is not None:
            x, _ = lapack.dpotrs(self.factor, x, lower=1)
        return np.asarray((x.T / self.root).T)


def _root(squares: Array, ridge: Any, unseen: float) -> Array:
    """Of a diagonal, without zeros."""
    diagonal = squares + ridge
    blank = ~(diagonal > BLANK * diagonal.max(initial=0.0))
    if blank.any():
        rest = diagonal[~blank]
        diagonal[blank] = unseen * float(rest.mean()) if rest.size else 1.0
    return np.asarray(np.sqrt(diagonal))


def cost_of_step(problem: Any, outputs: int = 1) -> float:
    """Of the plane, in the identity's metric."""
    rows = problem.rows
    entry = PRICES.sparse * outputs if is_sparse(rows) else max(PRICES.dense, PRICES.gram * outputs)
    scores = PRICES.row * float(problem.n) + PRICES.column * float(rows.d)
    return float(PRICES.call + 2.0 * entry * rows.cost + scores * outputs)


def is_sparse(rows: Any) -> bool:
    """Has it enough zeros to be worth passing them over?"""
    return bool(rows.cost < DENSE * rows.n * rows.d)


def sampled_hessian(rows: Any, bend: Array, count: int, turn: int) -> Array:
    """sum_i b_i x_i x_i^T / n, from ``count`` rows drawn in proportion to b_i.

    One draw in each of ``count`` equal parts of the sum of all b_i: rows without curvature are
    never taken, those with much always, and the mean is unbiased. A column that the sample has
    missed, or seen too seldom, would look flat and be moved far too much: where the diagonal is
    below half of that of all rows it is set right. (Elsewhere it is left alone, for more on the
    diagonal spoils directions along which f is flat; and so are dense rows, of which as many can
    be taken for the price.)
    """
    H = part_of_hessian(rows, bend, count, turn, (bend.size, 0.0, float(bend.sum())))
    return set_right(H, rows.squares(bend)) if is_sparse(rows) else H


def part_of_hessian(
    rows: Any, bend: Array, count: int, turn: int, whole: tuple[int, float, float]
) -> Array:
    """What some of the rows add to it. ``whole``: how many rows there are, the sum of the b_i of
    those before these, and that of all."""
    n, before, total = whole
    reach = before + np.cumsum(bend)
    draws = np.random.default_rng([n, turn]).random(count)
    draws += np.arange(count)
    draws *= total / count
    if bend.size < n:
        draws = draws[(draws >= before) & (draws < reach[-1])]
    chosen = np.searchsorted(reach, draws, side="right")
    named, times = np.unique(np.minimum(chosen, bend.size - 1), return_counts=True)
    del reach, draws, chosen  # as long as the data are
    H = np.zeros((rows.d, rows.d))
    step = max(1, int(TAKEN * rows.n / max(1.0, rows.cost)))
    for start in range(0, named.size, step):
        part, often = named[start : start + step], times[start : start + step]
        H += rows.take(part).gram(often * (total / n * part.size / count))
    return H


def set_right(H: Array, truth: Array) -> Array:
    """Diagonal entries below half the true ones, replaced by them."""
    H.flat[:: H.shape[0] + 1] = np.where(H.diagonal() < SELDOM * truth, truth, H.diagonal())
    return H


class Chooser:
    """Decides before each step whether to take the Hessian (anew), and of how many rows.

    Like the skier who rents until the rents have come to the price of skis, then buys: a step that
    shrinks the gradient by less than it would right after a Hessian was taken has lost a part of
    its own price; when the losses since the last Hessian come to the price of the next one, that is
    bought. So no more is lost by waiting than by buying, and where plain steps do as well it is
    never bought.
    """

    expected = 0.15  # how much a step shrinks the gradient, right after a sample's was taken
    rows_a_column = 20
    first = 1.5  # steps that a Hessian may cost to be bought before the first step,
    exact = 8.0  # and where it is that of a quadratic, so that one step is all

    def __init__(self, problem: Any, outputs: int = 1) -> None:
        rows = problem.rows
        self.n, self.d, self.quadratic = int(problem.n), int(rows.d), bool(problem.loss.quadratic)
        self.entries = float(rows.cost) / self.n  # in a row
        self.sparse = is_sparse(rows)
        self.gram_row = PRICES.gram * self.d**2 + PRICES.touch * self.d
        if self.sparse:  # or laid out densely
            self.gram_row = min(self.gram_row, PRICES.sparse_gram * float(rows.pairs))
        self.step = cost_of_step(problem, outputs)
        self.several = outputs > 1
        # does every row bend alike?
        self.alike = self.quadratic and getattr(problem, "weight", None) is None
        self.handed_on = getattr(problem, "handed_on", None)
        self.at_hand = not getattr(problem, "in_parts", False)
        self.rows = self._first_rows()
        self.lost = self.step * (self.exact if self.quadratic and self.whole else self.first)
        self.taken = 0
        self.age = 0  # steps since the Hessian was taken
        self.trial = 0.0  # by how much the first of them made the log of the gradient's norm fall

    @property
    def whole(self) -> bool:
        """Are all rows taken?"""
        return 2 * self.rows >= self.n

    @property
    def at_once(self) -> bool:
        """Is the Hessian of a quadratic, of all rows, to be bought before the first step?"""
        can = self.d <= MOST_COLUMNS and self.at_hand and not self.several
        return can and self.quadratic and self.whole and self.lost >= self.price(self.rows)

    @property
    def anew(self) -> bool:
        """Does the Hessian of all rows cost no more than a step? Then each step has its own: with
        Newton's direction errors are squared. (Not where rows are read or asked for elsewhere.)"""
        cheap = self.at_hand and not self.several and self.whole
        return cheap and self.price(self.n) <= self.step

    def price(self, rows: int) -> float:
        """Of a Hessian of so many rows, with its factor."""
        if 2 * rows >= self.n:
            gram = self.n * self.gram_row
        else:
            gram = rows * (self.gram_row + PRICES.touch * self.entries)
            gram += PRICES.draw + self.sparse * PRICES.squares * self.entries * self.n
        factor = PRICES.factor * self.d**3 / 3.0 + PRICES.square * self.d**2
        return float(gram + factor + PRICES.matrix)

    def _first_rows(self) -> int:
        """All where that is cheap, or for a quadratic, if it pays; else 20 d, or as many as a step
        pays for."""
        least = min(self.n, self.rows_a_column * self.d)
        most = max(self.price(least), self.first * self.step)
        if self.quadratic:
            most = self.price(least) + self.exact * self.step
        if self.price(self.n) <= most:
            return self.n
        one = self.gram_row + PRICES.touch * self.entries
        affordable = (self.step - self.price(0)) / max(one, PRICES.touch)  # rows may be empty
        return int(min(self.n, max(least, affordable)))

    def wants(self, shrank: float) -> bool:
        """Take the Hessian now? ``shrank``: the last step's gradient norm over the one before."""
        if shrank > 0.0:  # not at the first step
            self.age += 1
            self._count(math.log(shrank))
        if self.taken and self.quadratic and self.whole:
            return False
        return bool(self.lost >= self.price(self.rows)) or (self.taken > 0 and self.anew)

    def _count(self, fell: float) -> None:
        """A step by which the log of the gradient's norm fell.

        A metric that several outputs share is none of their Hessians, so what it can do is seen
        from the steps after it was taken; it is taken anew when they become worse.
        """
        if self.several and self.taken and self.age <= TRIAL:
            self.trial += fell / TRIAL
            self.expected = math.exp(min(max(self.trial, math.log(0.15)), math.log(0.95)))
            return
        rate = fell / math.log(self.expected)
        self.lost = max(0.0, self.lost + self.step * (1.0 - rate))

    def take(self) -> None:
        """Count a Hessian, of four times the rows if the last was of little use."""
        if self.taken and self.age <= 2 and not self.several:
            self.rows = min(self.n, 4 * self.rows)
        self.taken += 1
        self.lost, self.age, self.trial = 0.0, 0, 0.0
        if self.whole and not self.several:
            self.expected = EXACT

    def metric(self, plane: Any) -> Metric:
        """The Hessian where the plane stands."""
        found: Metric = plane.scores.metric(plane.ridge, self)
        return found

    def remade(self, factor: Array | None, root: Array | None) -> Metric:
        """A metric that was taken, from what a checkpoint holds of it."""
        return Metric(factor, root)

    def state(self) -> Array:
        numbers = [self.rows, self.lost, self.taken, self.age, self.trial, self.expected]
        return np.array(numbers, dtype=np.float64)

    def restore(self, state: Array) -> None:
        self.rows, self.taken, self.age = int(state[0]), int(state[2]), int(state[3])
        self.lost, self.trial, self.expected = (float(state[j]) for j in (1, 4, 5))


def sampled_metric(rows: Any, bend: Array, ridge: Array, chooser: Chooser) -> Metric:
    """The Hessian where the bends were taken, of as many rows as the chooser pays for."""
    chooser.take()
    if chooser.alike and chooser.whole:
        H = bend[0] * np.asarray(rows.gram())
    elif chooser.whole or not float(bend.max()) > 0.0:
        H = np.asarray(rows.gram(bend))
    else:
        H = sampled_hessian(rows, bend, chooser.rows, chooser.taken)
    if chooser.handed_on is not None:
        chooser.handed_on["H"] = H
    return Metric.of(H, ridge, 1.0 / chooser.rows)


def handed_metric(ridge: Array, chooser: Chooser) -> Metric:
    """The Hessian that the run before has left, with the penalty of this one."""
    H = (chooser.handed_on or {}).get("H")
    if H is None:
        return Metric()
    chooser.take()
    return Metric.of(H, ridge, 1.0 / chooser.rows)
