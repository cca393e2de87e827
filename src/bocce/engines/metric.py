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

MOST_COLUMNS = 2048  # of a d x d factor


@dataclass(frozen=True)
class Prices:
    """What things cost: nanoseconds of one core of 2023, rounded."""

    dense: float = 0.45  # a multiplication of X v, read from memory
    sparse: float = 1.3
    row: float = 25.0  # the element-wise work of a step on one row
    column: float = 15.0
    gram: float = 0.05  # a multiplication of a Gram matrix
    copy: float = 1.5  # an entry of a sampled row
    solve: float = 1.2  # an entry of the factor, twice
    call: float = 5e4  # what Python costs a step


PRICES = Prices()


class Metric:
    """P^-1 g by a Cholesky factor of P scaled to a unit diagonal; the identity without one.

    >>> P = Metric.of(np.array([[4.0, 2.0], [2.0, 3.0]]), 1.0)
    >>> P.solve(np.array([7.0, 6.0])).round(6)
    array([1., 1.])
    """

    def __init__(self, factor: Array | None = None, root: Array | None = None) -> None:
        self.factor, self.root = factor, root

    @classmethod
    def of(cls, H: Array, ridge: Any, unseen: float = 0.0) -> Metric:
        """The metric H + ridge.

        ``unseen``: what is taken for the curvature of a column that is zero in H, as a share of
        the others' mean.
        """
        P = H.copy()
        diagonal = P.diagonal() + ridge
        blank = diagonal <= 0.0
        if blank.any():
            diagonal = np.where(blank, _mean_of_rest(diagonal, blank) * (unseen or 1.0), diagonal)
        root = np.sqrt(diagonal)
        P /= root
        P /= root[:, None]
        more = 1e-12
        while True:  # rounding leaves a singular P not quite definite
            P.flat[:: P.shape[0] + 1] = 1.0 + more
            factor, failed = lapack.dpotrf(P, lower=1, clean=0)
            if not failed:
                return cls(factor, root)
            more *= 100.0

    def solve(self, g: Array) -> Array:
        if self.factor is None or self.root is None:
            return g
        x, _ = lapack.dpotrs(self.factor, (g.T / self.root).T, lower=1)
        return np.asarray((x.T / self.root).T)


def _mean_of_rest(diagonal: Array, blank: npt.NDArray[np.bool_]) -> float:
    rest = diagonal[~blank]
    return float(rest.mean()) if rest.size else 1.0


def sampled_hessian(rows: Any, bend: Array, count: int, turn: int) -> Array:
    """sum_i b_i x_i x_i^T / n, from ``count`` rows drawn in proportion to b_i.

    One draw in each of ``count`` equal parts of the sum of all b_i: rows without curvature are
    never taken, those with much always, and the mean is unbiased. All rows where it asks for most.
    """
    n = bend.size
    if 2 * count >= n:
        return np.asarray(rows.gram(bend))
    reach = np.cumsum(bend)
    total = float(reach[-1])
    draws = np.random.default_rng([n, turn]).random(count)
    draws += np.arange(count)
    chosen = np.searchsorted(reach, draws * (total / count), side="right")
    named, times = np.unique(np.minimum(chosen, n - 1), return_counts=True)
    weights = times * (total / n * named.size / count)
    return np.asarray(rows.take(named).gram(weights))


class Chooser:
    """Decides before each step whether to take the Hessian (anew), and of how many rows.

    A step that shrinks the gradient by less than a Hessian just taken would is a loss of so much
    of its price; the Hessian is bought when the losses since the last one have come to ``share``
    of what it costs. So never more is lost on waiting than a fixed share of what buying costs, and
    where plain steps are as good it is never bought.
    """

    share = 0.5
    expected = 0.15  # how much a step shrinks the gradient, right after the Hessian was taken
    rows_a_column = 20

    def __init__(self, problem: Any) -> None:
        rows = problem.rows
        self.n, self.d, self.quadratic = int(problem.n), int(rows.d), bool(problem.loss.quadratic)
        one = PRICES.sparse if rows.cost < 0.99 * self.n * self.d else PRICES.dense
        self.gram_row = PRICES.gram * rows.gram_cost / self.n
        self.copy_row = PRICES.copy * rows.cost / self.n
        self.step = (
            2.0 * one * rows.cost + PRICES.row * self.n + PRICES.column * self.d + PRICES.call
        )
        self.affordable = self.d <= MOST_COLUMNS
        self.rows = self._first_rows()
        self.lost = self.step
        self.taken = 0
        self.age = 0  # steps since the Hessian was taken

    def price(self, rows: float) -> float:
        """Of a Hessian of so many rows, with its factor."""
        whole = 2 * rows >= self.n
        gram = self.n * self.gram_row if whole else rows * (self.gram_row + self.copy_row)
        return gram + PRICES.gram * self.d**3 / 3.0 + 3.0 * self.d**2 + PRICES.call

    def _first_rows(self) -> int:
        least = self.rows_a_column * self.d
        fixed = self.price(0)
        if self.quadratic and self.price(self.n) <= self.price(least) + 6.0 * self.step:
            return self.n
        affordable = (1.0 * self.step - fixed) / (self.gram_row + self.copy_row)
        return int(min(self.n, max(least, affordable)))

    def wants(self, shrank: float | None) -> bool:
        """Take the Hessian now? ``shrank``: the last step's gradient norm over the one before."""
        if not self.affordable:
            return False
        if shrank is not None:
            rate = math.log(max(shrank, 1e-300)) / math.log(self.expected)
            self.lost = max(0.0, self.lost + self.step * (1.0 - rate))
            self.age += 1
        if self.taken and self.quadratic and 2 * self.rows >= self.n:
            return False
        if self.lost < self.share * self.price(self.rows):
            return False
        if self.taken and self.age <= 2:
            self.rows = min(self.n, 4 * self.rows)
        return True

    def took(self) -> None:
        self.taken += 1
        self.lost, self.age = 0.0, 0

    def state(self) -> Array:
        return np.array([self.rows, self.lost, self.taken, self.age], dtype=np.float64)

    def restore(self, state: Array) -> None:
        self.rows, self.taken, self.age = int(state[0]), int(state[2]), int(state[3])
        self.lost = float(state[1])
