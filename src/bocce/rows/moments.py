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
        return self.gamma * reach * self.roots + UNDERFLOW * (1.0 + float(size.sum()))

    def value_error(self, w: Array) -> float:
        """The same of 1/2 w . H w - b . w + c/2."""
        reach = float(self.roots @ np.abs(w)) + math.sqrt(self.target2)
        return self.gamma * reach * reach

    @property
    def gamma(self) -> float:
        """1 % more than it is, for the roundings of the bound itself."""
        count = 1.01 * UNIT * (self.longest + self.moment.size + BEYOND)
        if count < 1.0:
            return count / (1.0 - count)
        return math.inf

    def scaled(self, factors: Array) -> Moments:
        """Of the same rows with their columns multiplied."""
        gram = self.gram * factors
        gram *= factors[:, None]
        return Moments(gram, self.moment * factors, self.target2, self.longest)

    def with_targets(self, moment: Array, target2: float, longest: int) -> Moments:
        """Of the same rows with other targets, whose sums went through so many roundings."""
        return Moments(self.gram, moment, target2, max(longest, self.longest))


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
