"""The factors r_j of the penalty l2/2 sum_j r_j w_j^2, one a variable."""

from __future__ import annotations

import numpy as np

from .._types import Vector
from ..rows import Array, Rows
from ._input import check_penalty

# A standard deviation below this share of the mean is rounding: the column is constant.
CONSTANT = 1e-12


def penalty_factors(
    where: str,
    rows: Rows,
    penalty: Vector | None = None,
    standardize: bool = False,
    weight: Array | None = None,
    intercept: bool = False,
) -> Array | None:
    """The factors of the columns, and 0 for an intercept; None where all are 1.

    With ``standardize`` the factor of a column is multiplied by the column's variance: l2 is then
    the penalty on coefficients of columns divided by their standard deviation.
    """
    factors = check_penalty(where, penalty, rows.d)
    if standardize:
        factors = _variances(where, rows, weight) * (1.0 if factors is None else factors)
    if intercept:
        factors = np.append(np.ones(rows.d) if factors is None else factors, 0.0)
    return factors


def _variances(where: str, rows: Rows, weight: Array | None) -> Array:
    """The variance of each column; 1 for a constant column, which has no scale."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, variance = rows.column_moments(weight)
    if not np.isfinite(variance).all():
        raise ValueError(
            f"{where}: standardize=True needs variances, and the squares of column "
            f"{int(np.argmin(np.isfinite(variance)))} overflow; divide it by a constant."
        )
    variance[variance <= np.square(CONSTANT * mean)] = 1.0
    return variance
