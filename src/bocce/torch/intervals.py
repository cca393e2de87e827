"""Intervals from parts of a batch: what one part more or less changes is the error."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._types import FloatArray

LEVEL = 0.95


class Interval(NamedTuple):
    """An estimate and its 95 % interval.

    Attributes
    ----------
    value, low, high : float
        The estimate; the ends of the interval (``high`` may be infinite).
    """

    value: float
    low: float
    high: float


class Products(NamedTuple):
    """Inner products of K vectors x_j, each the mean over ``rows`` rows of its own part."""

    squares: FloatArray  # |x_j|^2
    dots: FloatArray  # x_j . mean
    mean2: float  # |mean|^2
    rows: int


def moments(x: Products) -> tuple[FloatArray, FloatArray]:
    """(|E x|^2, trace of the covariance of one row), both unbiased.

    Entry 0 is from all parts, entry 1 + j from all parts but the j-th.

    >>> x = Products(np.array([1.0, 1.0, 4.0]), np.array([2/3, 2/3, 4/3]), 8/9, rows=5)  # e1 e1 2e2
    >>> [round(float(part[0]), 6) for part in moments(x)]  # covariance of e1, e1, 2 e2: 5/3
    [0.333333, 8.333333]
    """
    K = len(x.squares)
    without = (K * K * x.mean2 - 2.0 * K * x.dots + x.squares) / (K - 1) ** 2
    total = float(x.squares.sum())
    mean2 = np.concatenate([[x.mean2], without])
    squares = np.concatenate([[total], total - x.squares])
    count = np.concatenate([[K], np.full(K, K - 1)])
    variance = x.rows * (squares - count * mean2) / (count - 1)
    return mean2 - variance / (x.rows * count), variance


def quantile(freedom: float) -> float:
    """Student's two-sided quantile."""
    from scipy.special import stdtrit  # not with torch: importing the module stays quick

    return float(stdtrit(freedom, 0.5 + 0.5 * LEVEL))


def jackknife(*groups: FloatArray) -> Interval:
    """The interval of x from the values of y = 1/x with all parts and without each part.

    x is positive, mostly a sum of squares. Where such an estimate is too small, so is that of its
    error, and the inverse stretches the upper end; there is none where y may be 0. Groups of
    parts that err independently add their variances (Welch).

    >>> jackknife(np.array([0.5, 0.5, 0.5]), np.array([0.5, 0.4, 0.6])).low < 2.0
    True
    """
    if not all(np.isfinite(group).all() for group in groups):
        return Interval(math.nan, 0.0, math.inf)
    centre = float(groups[0][0])
    variances = []
    freedoms = []
    for group in groups:
        K = len(group) - 1
        pseudo = K * group[0] - (K - 1) * group[1:]
        centre += float(pseudo.mean() - group[0])
        variances.append(float(pseudo.var(ddof=1)) / K)
        freedoms.append(K - 1)
    total = sum(variances)
    half = 0.0
    if total > 0.0:
        freedom = total**2 / sum(v * v / f for v, f in zip(variances, freedoms))
        half = quantile(freedom) * math.sqrt(total)
    low = 1.0 / (centre + half) if centre + half > 0.0 else 0.0
    high = 1.0 / (centre - half) if centre > half else math.inf
    value = 1.0 / float(groups[0][0]) if groups[0][0] > 0.0 else math.inf
    return Interval(min(max(value, low), high), low, high)


def positive(*groups: FloatArray) -> Interval:
    """The interval of x from its own values; from 0 to infinity where one of them is not positive.

    >>> positive(np.array([-2.0, -2.0, -2.0]))
    Interval(value=-2.0, low=0.0, high=inf)
    """
    if not all(np.isfinite(group).all() and group.min() > 0.0 for group in groups):
        return Interval(float(groups[0][0]), 0.0, math.inf)
    return jackknife(*(1.0 / group for group in groups))


def mean_interval(values: FloatArray) -> Interval:
    """The mean of independent values, by Student."""
    K = len(values)
    half = quantile(K - 1) * float(values.std(ddof=1)) / math.sqrt(K)
    mean = float(values.mean())
    return Interval(mean, mean - half, mean + half)
