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


def quantile(K: int) -> float:
    """Student's two-sided quantile for the mean of K values."""
    from scipy.special import stdtrit  # not with torch: importing the module stays quick

    return float(stdtrit(K - 1, 0.5 + 0.5 * LEVEL))


def jackknife(values: FloatArray) -> Interval:
    """The interval of a positive number from its values with all parts and without each part.

    It is taken of the logarithm, so that an interval of a positive number is positive.
    """
    if not (np.isfinite(values).all() and values.min() > 0.0):
        return Interval(float(values[0]), 0.0, math.inf)
    logs = np.log(values)
    K = len(logs) - 1
    pseudo = K * logs[0] - (K - 1) * logs[1:]
    centre = float(pseudo.mean())
    half = quantile(K) * float(pseudo.std(ddof=1)) / math.sqrt(K)
    return Interval(math.exp(centre), math.exp(centre - half), math.exp(min(centre + half, 700.0)))


def mean_interval(values: FloatArray) -> Interval:
    """The mean of independent values, by Student."""
    K = len(values)
    half = quantile(K) * float(values.std(ddof=1)) / math.sqrt(K)
    mean = float(values.mean())
    return Interval(mean, mean - half, mean + half)


def ratio_interval(above: FloatArray, below: FloatArray) -> Interval:
    """The interval of above/below by Fieller: all r at which above - r below may be 0.

    Where ``below`` cannot be told from 0 the interval has no upper end.
    """
    value = float(above[0] / below[0]) if below[0] > 0.0 else math.inf
    K = len(above) - 1
    a = K * above[0] - (K - 1) * above[1:]
    b = K * below[0] - (K - 1) * below[1:]
    (aa, ab), (_, bb) = quantile(K) ** 2 / K * np.cov(a, b)
    square = float(b.mean() ** 2 - bb)
    linear = float(a.mean() * b.mean() - ab)
    constant = float(a.mean() ** 2 - aa)
    disc = linear * linear - square * constant
    if disc <= 0.0 or square == 0.0 or (square > 0.0 and b.mean() < 0.0):
        return Interval(value, 0.0, math.inf)
    roots = sorted([(linear - math.sqrt(disc)) / square, (linear + math.sqrt(disc)) / square])
    if square > 0.0:
        return Interval(value, max(roots[0], 0.0), max(roots[1], 0.0))
    return Interval(value, max(roots[1], 0.0), math.inf)
