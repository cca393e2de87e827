"""Sums over all rows in which a squared loss is a function of d numbers.

    1/2n sum_i c_i (x_i . w - y_i)^2 = 1/2 w . H w - b . w + c/2

One pass, a block of rows that stays in the cache at a time: each is read from memory once and used
for all three. The sums of two sets of rows add up to those of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack

from .._threads import threads_for
from .._types import Array

CACHED_BLOCK = 1 << 16  # numbers of a block
LARGEST_BLOCK = 1 << 20  # where columns are many
UNIT = 0.5 * float(np.finfo(np.float64).eps)  # a product, or a sum, is wrong by this share
BEYOND = 20  # roundings of a term that are not additions: weights, centres, means
UNDERFLOW = 1e-280  # what terms too small for a double come to, on average
MOVED = 16  # roundings of a term that sums about another centre, or of two sets of rows, add


@dataclass(frozen=True)
class Moments:
    """H = sum_i c_i x_i x_i^T / n, b = sum_i c_i y_i x_i / n and c = sum_i c_i y_i^2 / n.

    The matrix ``moment`` has a column for each target where there are several, and ``target2`` a
    number. ``longest``: the most roundings that any of the terms goes through when they are added
    up, in whatever order that is done. The bounds below are for one target.

    Rows whose last number is the same, ``unit``, know their sum of weights and their mean. So
    their sums can be had ``about`` another centre, without the rows, and the sums of two sets of
    rows are added (``+``) about their joint mean, which loses no digits wherever the two lie.
    ``centre`` is what the d columns and then the targets have been centred by, and ``sizes`` how
    large terms were, those that cancel when sums move among them: root mean squares of the columns
    and of the target; None: those of the sums themselves.

    Sums in float32 (single.py) are ``rough``: of H and b so many roundings of float64 would be as
    bad. ``through`` corrects b with the gradient at a point near the minimum, computed from the
    rows. From then on the gradient there is exact, and an error of H counts only for the way
    from that point, ``near``.

    >>> sums = of_blocks([np.array([[1.0, 0.0], [1.0, 2.0]])], np.array([1.0, 5.0]), None, 2, 2)
    >>> sums.gram.tolist(), sums.moment.tolist(), sums.target2
    ([[1.0, 1.0], [1.0, 2.0]], [3.0, 5.0], 13.0)
    >>> sums.gradient(np.array([1.0, 2.0])).tolist()
    [0.0, 0.0]
    >>> first = Moments.of(np.array([[1.0], [3.0]]), np.array([2.0, 0.0]))
    >>> both = first + Moments.of(np.array([[8.0]]), np.array([1.0]))
    >>> both.weight, both.mean.tolist(), both.gram.round(12).tolist()
    (3.0, [4.0, 1.0], [[8.666666666667, 0.0], [0.0, 1.0]])
    """

    gram: Array
    moment: Array
    target2: Any  # a number, or one a target
    longest: int
    rough: int = 0
    near: Array | None = None
    n: float = 1.0  # what the sums are divided by
    unit: float = 0.0  # the last number of every row; 0: there is none
    centre: Array | None = None
    sizes: tuple[Array, float] | None = None

    @classmethod
    def of(
        cls, X: Array, y: Array, weights: Array | None = None, centre: Array | None = None
    ) -> Moments:
        """Of rows in memory, with a 1 behind each, about their mean unless another centre is given;
        divided by the sum of the weights."""
        d = X.shape[1]
        c = np.ones(len(X)) if weights is None else weights
        n = float(c.sum())
        if centre is None:
            centre = np.append(c @ X, c @ y) / n
        blocks = np.array_split(X, max(1, len(X) // rows_in_cache(d)))
        less = (block - centre[:d] for block in blocks)
        return replace(of_blocks(less, y - centre[d:], weights, n, d, 1.0), centre=centre)

    @cached_property
    def roots(self) -> Array:
        """sqrt(H_jj): the root mean square of each column."""
        return np.sqrt(self.gram.diagonal())

    @cached_property
    def sound(self) -> bool:
        """Has nothing overflowed, and was every number finite? A NaN or an infinity among the rows
        or targets makes its own square so."""
        return math.isfinite(float(self.gram.diagonal().sum() + np.sum(self.target2)))

    # -- sums of several sets of rows, about any centre --------------------------------------------

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return self.n * float(self.gram[-1, -1]) / self.unit**2

    @property
    def mean(self) -> Array:
        """The means of the columns and then of the targets."""
        assert self.centre is not None
        last = np.append(self.gram[-1, :-1], self.moment[-1])
        return np.asarray(self.centre + last * (self.unit / self.gram[-1, -1]))

    @property
    def variances(self) -> Array:
        """Of the columns."""
        last = self.gram[-1]
        centred = self.gram.diagonal() - last * last / last[-1]
        return np.asarray(np.maximum(centred[:-1], 0.0) * (self.unit**2 / last[-1]))

    def about(self, centre: Array) -> Self:
        """Of the same rows and targets, less another centre: with t = (centre - the present one)
        over the unit, and 0 for the unit itself, rows are (I - t e^T) x, e the last unit vector."""
        assert self.centre is not None
        d = self.moment.shape[0] - 1
        shift = centre - self.centre
        t = np.append(shift[:d] / self.unit, 0.0)
        last = self.gram[-1]
        across = np.multiply.outer(t, last)
        gram = self.gram - (across + across.T) + last[-1] * np.multiply.outer(t, t)
        less = shift[d:].reshape(self.moment.shape[1:]) / self.unit
        sums = self.moment[-1]  # of the targets, times the unit
        moment = self.moment - np.multiply.outer(t, sums) - np.multiply.outer(gram[-1], less)
        target2 = self.target2 - 2.0 * less * sums + less * less * last[-1]
        root = math.sqrt(float(last[-1]))
        sizes, target = self._sizes
        return replace(
            self,
            gram=gram,
            moment=moment,
            target2=np.maximum(target2, 0.0),
            longest=self.longest + MOVED,
            near=None,
            centre=centre,
            sizes=(sizes + root * np.abs(t), target + root * np.abs(less)),
        )

    def __add__(self, other: Self) -> Self:
        """Of both sets of rows: about the centre that both have, else about their joint mean."""
        if self.unit == 0.0 or np.array_equal(self.centre, other.centre):  # type: ignore[arg-type]
            return self._joined(other)
        share = other.weight / (self.weight + other.weight)
        centre = self.mean + share * (other.mean - self.mean)
        return self.about(centre)._joined(other.about(centre))

    def _joined(self, other: Self) -> Self:
        """Of both sets of rows, about the same centre."""
        n = self.n + other.n
        ours = self.n / n
        theirs = other.n / n
        sizes, target = self._sizes
        sizes_, target_ = other._sizes
        columns = np.sqrt(ours * sizes**2 + theirs * sizes_**2)
        return replace(
            self,
            gram=ours * self.gram + theirs * other.gram,
            moment=ours * self.moment + theirs * other.moment,
            target2=ours * self.target2 + theirs * other.target2,
            longest=max(self.longest, other.longest) + MOVED,
            rough=max(self.rough, other.rough),
            near=None,
            n=n,
            sizes=(columns, np.sqrt(ours * target**2 + theirs * target_**2)),
        )

    def without_unit(self) -> Moments:
        """Of the rows without their last number, which is the same in all."""
        sizes, target = self._sizes
        return replace(
            self,
            gram=self.gram[:-1, :-1],
            moment=self.moment[:-1],
            near=None,
            unit=0.0,
            sizes=(sizes[:-1], target),
        )

    def eigen(self) -> tuple[Array, Array]:
        """The eigenvalues of H, none below 0, and its eigenvectors as columns."""
        values, vectors = np.linalg.eigh(self.gram)
        return np.maximum(values, 0.0), vectors

    # -- the gradient, and how wrong it is ---------------------------------------------------------

    @property
    def _sizes(self) -> tuple[Array, Any]:
        """How large terms are: root mean squares of the columns, and of the target."""
        return self.sizes or (self.roots, np.sqrt(self.target2))

    def value(self, w: Array) -> Any:
        """1/2 w . H w - b . w + c/2, for each target."""
        return np.sum(w * (0.5 * (self.gram @ w) - self.moment), axis=0) + 0.5 * self.target2

    def gradient(self, w: Array) -> Array:
        """H w - b."""
        return np.asarray(self.gram @ w - self.moment)

    def error(self, w: Array) -> Array:
        """By how much an entry of ``gradient(w)``, as computed, may differ from the true one.

        A sum of N rounded products, in any order, is wrong by at most gamma = N u/(1 - N u) times
        the sum of their sizes, u = 2^-53. For an entry of H or b Cauchy's inequality bounds that
        sum by s_j s_k or s_j t, with the sizes s_j = sqrt(H_jj) of the columns and t = sqrt(c) of
        the target. So

            |error_j| <= gamma s_j (sum_k s_k |w_k| + t).

        About another centre a term x_j x_k becomes four, whose sizes add up to (s_j + |t_j| r)
        (s_k + |t_k| r) with r the size of the last column: these are the sizes from then on. Of two
        sets of rows the squares of sizes are averaged (Cauchy's inequality again).
        """
        sizes, _ = self._sizes
        if not (sizes.any() or self.moment.any()):
            return np.zeros(w.size)  # rows of zeros
        worst = self._gamma(self.longest) * self._reach(w) + self._gamma(self.rough) * self._way(w)
        return worst * sizes + UNDERFLOW * (1.0 + float(np.abs(w).sum()))

    def value_error(self, w: Array) -> float:
        """The same of 1/2 w . H w - b . w + c/2."""
        rough = self._gamma(self.rough) * self._way(w) ** 2
        return float(self._gamma(self.longest) * self._reach(w) ** 2 + rough)

    def _reach(self, w: Array) -> float:
        """sum_k s_k |w_k| + t."""
        sizes, target = self._sizes
        return float(sizes @ np.abs(w)) + float(target)

    def _way(self, w: Array) -> float:
        """What rough sums are multiplied by at w: how far the scores are from those at ``near``."""
        if self.near is None:
            return self._reach(w)
        return float(self._sizes[0] @ np.abs(w - self.near))

    def _gamma(self, roundings: int) -> float:
        """1 % more than it is, for the roundings of the bound itself."""
        if not roundings:
            return 0.0
        count: float = 1.01 * UNIT * (roundings + self.moment.shape[0] + BEYOND)
        if count < 1.0:
            return count / (1.0 - count)
        return math.inf

    @property
    def corrected(self) -> bool:
        """Is the gradient near the minimum exact?"""
        return self.rough == 0 or self.near is not None

    def solve(self, ridge: Array) -> Array:
        """The minimum with this ridge on the variables, nearly: a column for each target. Where
        rounding has made H indefinite, the ridge grows until it is not.

        >>> Moments(np.eye(2), np.array([2.0, 3.0]), 13.0, 2).solve(np.ones(2)).round(6).tolist()
        [1.0, 1.5]
        """
        diagonal = self.gram.diagonal() + ridge
        unit = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
        H = (self.gram + np.diag(ridge)) * unit * unit[:, None]
        b = (self.moment.T * unit).T
        more = 1e-10
        while True:
            H.flat[:: unit.size + 1] = 1.0 + more
            _, u, failed = lapack.dposv(H, b, lower=1)
            if not failed:
                return np.asarray((u.T * unit).T)
            more *= 100.0

    def through(self, w: Array, gradient: Array, value: float, roundings: int) -> Moments:
        """The sums with this gradient and this value at w, which went through so many roundings."""
        product = self.gram @ w
        moment = product - gradient
        target2 = 2.0 * (value + float(w @ (moment - 0.5 * product)))
        longest = max(self.longest, roundings)
        return replace(self, moment=moment, target2=max(target2, 0.0), longest=longest, near=w)

    def scaled(self, factors: Array) -> Moments:
        """Of the same rows with their columns multiplied."""
        gram = self.gram * factors
        gram *= factors[:, None]
        moment = (self.moment.T * factors).T
        scaled = replace(self, gram=gram, moment=moment, centre=None)
        scaled = replace(scaled, unit=self.unit * float(factors[-1]))
        if self.near is not None:
            scaled = replace(scaled, near=self.near / factors)
        if self.sizes is not None:
            scaled = replace(scaled, sizes=(self.sizes[0] * factors, self.sizes[1]))
        return scaled

    def with_targets(self, moment: Array, target2: float, longest: int) -> Moments:
        """Of the same rows with other targets, whose sums went through so many roundings."""
        longest = max(longest, self.longest)
        return Moments(self.gram, moment, target2, longest, self.rough, n=self.n)


def _add_gram(total: Array, x: Array, weights: Array | None) -> None:
    """Add sum_i c_i x_i x_i^T of a block of rows."""
    if weights is None:
        x = x
    else:
        x = x * np.sqrt(weights)[:, None]
    with threads_for(0.5 * x.size * x.shape[1]):  # the upper triangle
        total += x.T @ x


def gram_of(blocks: Iterable[Array], weights: Array | None, n: int, d: int) -> Array:
    """sum_i c_i x_i x_i^T / n of rows that come as blocks that stay in the cache."""
    total = np.zeros((d, d))
    start = 0
    for x in blocks:
        part = slice(start, start + len(x))
        _add_gram(total, x, None if weights is None else weights[part])
        start = part.stop
    total /= n
    return total


def of_blocks(
    blocks: Iterable[Array],
    y: Array,
    weights: Array | None,
    n: float,
    d: int,
    unit: float = 0.0,
) -> Moments:
    """The sums of rows that come as blocks that stay in the cache, divided by n. ``unit``: where it
    is not 0, rows have one more number, which is this."""
    squares = np.zeros((d, d))
    start = 0
    longest = 0
    added = 0
    targets = y.reshape(len(y), -1)
    outputs = targets.shape[1]
    count = outputs + (unit > 0.0)
    # of c_i y_i and c_i, times x_i and y_i
    sums = np.zeros((count, d))
    across = np.zeros((count, outputs))
    for x in blocks:
        part = slice(start, start + len(x))
        c = None if weights is None else weights[part]
        slopes = targets[part].T if c is None else c * targets[part].T
        if unit > 0.0:
            slopes = np.vstack([slopes, np.ones(len(x)) if c is None else c])
        sums += slopes @ x
        across += slopes @ targets[part]
        _add_gram(squares, x, c)
        start = part.stop
        longest = max(longest, len(x))
        added = added + 1
    if weights is None:
        weight = float(start)
    else:
        weight = float(weights.sum())
    longest = 2 * longest + added
    made = _moments(squares, sums, across, weight, n, unit, longest)
    if y.ndim == 1:
        return replace(made, moment=made.moment[:, 0], target2=float(made.target2[0]))
    return made


def _moments(
    squares: Array, sums: Array, across: Array, weight: float, n: float, unit: float, longest: int
) -> Moments:
    """From sum x x^T, and the sums of the targets, and of 1 where there is a unit, times x^T and
    times y^T."""
    d = len(squares)
    outputs = across.shape[1]
    H = np.empty((d + (unit > 0.0),) * 2)
    b = np.empty((len(H), outputs))
    np.divide(squares, n, out=H[:d, :d])
    b[:d] = sums[:outputs].T / n
    if unit > 0.0:
        H[d, :d] = H[:d, d] = unit / n * sums[outputs]
        H[d, d] = unit**2 * (weight / n)
        b[d] = unit / n * across[outputs]
    return Moments(H, b, across.diagonal() / n, longest, n=n, unit=unit)


def rows_in_cache(d: int) -> int:
    """How many rows a block has: few enough to stay in the cache, but several times as many as
    there are columns, for H is read and written with each."""
    return max(1, min(max(CACHED_BLOCK // d, 4 * d), LARGEST_BLOCK // d))
