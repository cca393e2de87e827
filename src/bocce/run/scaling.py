"""Columns that a penalty keeps out of the model because their values are small."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..problems import Problem
from ..rows import Array

# Standard deviations that differ by this factor are those of columns in different units.
APART = 1e3
# A coefficient is held back where the penalty takes at least this share of it ...
HELD_BACK = 0.1
# ... and the log likelihood would rise by this much without the penalty: beyond chance at 5 %.
GAIN = 2.0


def apart(spread2: Array | None) -> bool:
    """Do mean squares of columns differ so much that the columns have different units?"""
    if spread2 is None:
        return False
    positive = spread2[spread2 > 0.0]
    return bool(positive.size and positive.max() >= APART**2 * positive.min())


def held_back(
    p: Problem, w: Array, count: float | None = None, scale: Array | None = None
) -> list[int]:
    """The small columns whose coefficients the penalty keeps from being as large as the data say.

    At the minimiser the gradient of the loss in w_j is -ridge_j w_j. A Newton step in w_j alone
    raises the log likelihood by count (ridge_j w_j)^2 / (2 h_j dispersion), with h_j the mean
    curvature times the variance of the column; a step in all coefficients raises it by more.
    ``w`` is the minimiser of ``p`` with the intercept, ``count`` the number of observations that
    the weights stand for (the number of rows unless given), ``scale`` what the columns of ``p`` are
    multiplied by.

    >>> import bocce
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 2)) * [1.0, 1e-4]
    >>> y = X @ [1.0, 1e4] + 0.1 * rng.standard_normal(500)
    >>> p = bocce.LeastSquares(X, y, l2=1e-4)
    >>> held_back(p, p.minimiser())
    [1]
    """
    ridge = p.ridges[: p.d]
    if not ridge.any():
        return []
    with np.errstate(all="ignore"):
        facts = _facts_by_sums(p, w) or _facts(p, w)
        variance, bend, dispersion = facts
        unscaled = variance if scale is None else variance / scale**2
        small = APART**2 * unscaled <= unscaled.max()
        curvature = np.outer(variance, bend)
        share = (ridge[:, None] / (ridge[:, None] + curvature)).max(axis=1)
        pull2 = np.square(ridge * w[: p.d].T).T.reshape(p.d, -1)
        gain = (count or p.n) * (pull2 / curvature).sum(axis=1) / (2.0 * dispersion)
        return [int(j) for j in np.flatnonzero(small & (share >= HELD_BACK) & (gain >= GAIN))]


def _facts(p: Problem, w: Array) -> tuple[Array, Array, float]:
    """The variance of each column, the mean second derivative of each score, the dispersion."""
    variance = p.given.column_moments(p.weight)[1]
    z = p.predict(w)
    slope, bend = (values.reshape(p.n, -1) for values in (p.slopes(z), p.bends(z)))
    if p.weight is None:
        weights = np.ones((p.n, 1))
    else:
        weights = p.weight[:, None]
    dispersion = np.square(slope / np.sqrt(weights)).mean() / bend.mean()
    return variance[: p.d], bend.mean(axis=0), float(dispersion)


def _facts_by_sums(p: Problem, w: Array) -> tuple[Array, Array, float] | None:
    """The same of a squared loss whose sums are known, with the sums of the columns themselves."""
    sums = p.known("sums")
    if sums is None or sums.unit == 0.0 or not sums.sound:
        return None
    return sums.variances, np.ones(1), 2.0 * sums.value(w)


def advice(p: Problem, columns: list[int], names: Sequence[str]) -> str:
    """What the penalty does to these columns, and what to do."""
    shown = ", ".join(names[j] for j in columns[:3]) + ", ..." * (len(columns) > 3)
    many = len(columns) > 1
    return (
        f"l2={p.l2:g} holds back the coefficient{'s' * many} of {shown}: columns differ in size by "
        f"more than {APART:g}, and small values need large coefficients, which a penalty shrinks; "
        "use standardize=True, or scale the columns."
    )
