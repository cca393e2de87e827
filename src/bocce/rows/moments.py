"""Sums over all rows in which a squared loss is a function of d numbers.

    1/2n sum_i c_i (x_i . w - y_i)^2 = 1/2 w . H w - b . w + c/2

One pass, a block of rows that stays in the cache at a time: each is read from memory once and used
for all three.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from .._threads import threads_for
from .._types import Array

CACHED_BLOCK = 1 << 16  # numbers of a block
LARGEST_BLOCK = 1 << 20  # where columns are many
UNIT = 0.5 * float(np.finfo(np.float64).eps)  # a product, or a sum, is wrong by this share
BEYOND = 20  # roundings of a term that are not additions: weights, centres, means
UNDERFLOW = 1e-280  # what terms too small for a double come to, on average


@dataclass(frozen=True)
class Moments:
    """H = sum_i c_i x_i x_i^T / n, b = sum_i c_i y_i x_i / n and c = sum_i c_i y_i^2 / n.

    ``longest``: the most roundings that any of the terms goes through when they are added up, in
    whatever order that is done.

    Sums in float32 (single.py) are ``rough``: of H and b so many roundings of float64 would be as
    bad. ``through`` corrects b with the gradient at a point near the minimum, computed from the
    rows. From then on the gradient there is exact, and an error of H counts only for the way
    from that point, ``near``.

    >>> sums = of_blocks([np.array([[1.0, 0.0], [1.0, 2.0]])], np.array([1.0, 5.0]), None, 2, 2)
    >>> sums.gram.tolist(), sums.moment.tolist(), sums.target2
    ([[1.0, 1.0], [1.0, 2.0]], [3.0, 5.0], 13.0)
    >>> sums.gradient(np.array([1.0, 2.0])).tolist()
    [0.0, 0.0]
    """

    gram: Array
    moment: Array
    target2: float
    longest: int
    rough: int = 0
    near: Array | None = None

    @cached_property
    def roots(self) -> Array:
        """sqrt(H_jj): the root mean square of each column."""
        return np.sqrt(self.gram.diagonal())

    @cached_property
    def sound(self) -> bool:
        """Has nothing overflowed, and was every number finite? A NaN or an infinity among the rows
        or targets makes its own square so."""
        return math.isfinite(float(self.gram.diagonal().sum()) + self.target2)

    def gradient(self, w: Array) -> Array:
        """H w - b."""
        return np.asarray(self.gram @ w - self.moment)

    def error(self, w: Array) -> Array:
        """By how much an entry of ``gradient(w)``, as computed, may differ from the true one.

        A sum of N rounded products, in any order, is wrong by at most gamma = N u/(1 - N u) times
        the sum of their sizes, u = 2^-53. For an entry of H or b Cauchy's inequality bounds that
        sum by sqrt(H_jj H_kk) or sqrt(H_jj c). So

            |error_j| <= gamma sqrt(H_jj) (sum_k sqrt(H_kk) |w_k| + sqrt(c)).
        """
        if not (self.roots.any() or self.moment.any()):
            return np.zeros(w.size)  # rows of zeros
        size = np.abs(w)
        reach = float(self.roots @ size) + math.sqrt(self.target2)
        worst = self._gamma(self.longest) * reach + self._gamma(self.rough) * self._way(w)
        return worst * self.roots + UNDERFLOW * (1.0 + float(size.sum()))

    def value_error(self, w: Array) -> float:
        """The same of 1/2 w . H w - b . w + c/2."""
        reach = float(self.roots @ np.abs(w)) + math.sqrt(self.target2)
        return self._gamma(self.longest) * reach**2 + self._gamma(self.rough) * self._way(w) ** 2

    def _way(self, w: Array) -> float:
        """What rough sums are multiplied by at w: how far the scores are from those at ``near``."""
        if self.near is None:
            return float(self.roots @ np.abs(w)) + math.sqrt(self.target2)
        return float(self.roots @ np.abs(w - self.near))

    def _gamma(self, roundings: int) -> float:
        """1 % more than it is, for the roundings of the bound itself."""
        if not roundings:
            return 0.0
        count = 1.01 * UNIT * (roundings + self.moment.size + BEYOND)
        if count < 1.0:
            return count / (1.0 - count)
        return math.inf

    @property
    def corrected(self) -> bool:
        """Is the gradient near the minimum exact?"""
        return self.rough == 0 or self.near is not None

    def minimum(self, ridge: Array) -> Array:
        """About the minimum with this ridge on the variables: where ``through`` is of most use."""
        diagonal = self.gram.diagonal() + ridge
        unit = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
        H = (self.gram + np.diag(ridge)) * unit * unit[:, None]
        more = 1e-10
        while True:  # rounding may have made H indefinite
            H.flat[:: unit.size + 1] = 1.0 + more
            _, u, failed = lapack.dposv(H, self.moment * unit, lower=1)
            if not failed:
                return np.asarray(u * unit)
            more *= 100.0

    def through(self, w: Array, gradient: Array, value: float, roundings: int) -> Moments:
        """The sums with this gradient and this value at w, which went through so many roundings."""
        product = self.gram @ w
        moment = product - gradient
        target2 = 2.0 * (value + float(w @ (moment - 0.5 * product)))
        longest = max(self.longest, roundings)
        return Moments(self.gram, moment, max(target2, 0.0), longest, self.rough, w)

    def scaled(self, factors: Array) -> Moments:
        """Of the same rows with their columns multiplied."""
        gram = self.gram * factors
        gram *= factors[:, None]
        if self.near is None:
            near = None
        else:
            near = self.near / factors
        moment = self.moment * factors
        return Moments(gram, moment, self.target2, self.longest, self.rough, near)

    def with_targets(self, moment: Array, target2: float, longest: int) -> Moments:
        """Of the same rows with other targets, whose sums went through so many roundings."""
        return Moments(self.gram, moment, target2, max(longest, self.longest), self.rough)


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
    n: int,
    d: int,
    unit: float = 0.0,
) -> Moments:
    """The sums of n rows that come as blocks that stay in the cache. ``unit``: where it is not 0,
    rows have one more number, which is this."""
    squares = np.zeros((d, d))
    start = 0
    longest = 0
    added = 0
    count = 1 + (unit > 0.0)
    # of c_i y_i and c_i, times x_i and y_i
    sums = np.zeros((count, d))
    across = np.zeros(count)
    for x in blocks:
        part = slice(start, start + len(x))
        c = None if weights is None else weights[part]
        pulls = y[part] if c is None else c * y[part]
        if unit > 0.0:
            pulls = np.stack([pulls, np.ones(len(x)) if c is None else c])
        sums += pulls @ x
        across += pulls @ y[part]
        _add_gram(squares, x, c)
        start = part.stop
        longest = max(longest, len(x))
        added = added + 1
    H = np.empty((d + count - 1,) * 2)
    b = sums[0] / n
    np.divide(squares, n, out=H[:d, :d])
    if unit > 0.0:
        H[d, :d] = H[:d, d] = unit / n * sums[1]
        H[d, d] = unit**2 * (1.0 if weights is None else float(weights.mean()))
        b = np.append(b, unit / n * across[1])
    return Moments(H, b, float(across[0]) / n, 2 * longest + added)


def rows_in_cache(d: int) -> int:
    """How many rows a block has: few enough to stay in the cache, but several times as many as
    there are columns, for H is read and written with each."""
    return max(1, min(max(CACHED_BLOCK // d, 4 * d), LARGEST_BLOCK // d))
