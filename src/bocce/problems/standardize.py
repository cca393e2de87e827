"""A problem in standardised columns: of deviation 1, and of mean 0 where there is an intercept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..rows import Array
from ._input import penalty_factors
from .frame import Frame
from .problem import Problem


class Standardized(NamedTuple):
    """A problem in standardised columns, and the way back.

    Attributes
    ----------
    problem : Problem
        The same objective as a function of the coefficients of standardised columns.
    frame : Frame
        The centre and the scale of each column.
    """

    problem: Problem
    frame: Frame

    def out(self, w: Array, intercept: Any) -> tuple[Array, Any]:
        """Coefficients and intercept for the columns as they were.

        Parameters
        ----------
        w, intercept : ndarray, float or ndarray
            Those of ``problem``.

        Returns
        -------
        tuple of (ndarray, float or ndarray)
        """
        u = self.problem.join_intercept(w, intercept)
        return self.problem.split_intercept(self.frame.out(u))


def standardized(p: Problem) -> Standardized:
    """The problem with columns divided by their standard deviation.

    With an intercept, columns of an array are centred, too; sparse rows stay sparse. Constants,
    step sizes and batch sizes of the new problem do not depend on the units of the columns. It has
    the minimiser of ``p`` if ``p`` was made with ``standardize=True`` (or without a penalty).

    Parameters
    ----------
    p : Problem
        A problem without a ``penalty`` by column; rows in memory are copied.

    Returns
    -------
    Standardized

    Raises
    ------
    ValueError
        If the squares of a column overflow.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X = np.array([[1000.0, 0.1], [2000.0, 0.1], [3000.0, 0.4], [6000.0, 0.2]])
    >>> p = bocce.LeastSquares(X, X @ [0.001, 10.0] + 5.0, intercept=True)
    >>> scaled = standardized(p)
    >>> w, intercept = scaled.out(*p.split_intercept(scaled.problem.minimiser()))
    >>> w.round(6), round(intercept, 6)
    (array([1.e-03, 1.e+01]), 5.0)
    >>> p.constants().kappa > 1e7, scaled.problem.constants().kappa < 10.0
    (True, True)
    """
    where = p.loss.problem_name
    variance = penalty_factors(where, p.given, None, True, p.weight)
    assert variance is not None
    centre = np.zeros(p.d)
    if p.intercept and not p.sparse:
        centre = p.given.column_moments(p.weight)[0]
    frame = Frame(centre, 1.0 / np.sqrt(variance), float(p.intercept))
    factors = penalty_factors(where, p.given, intercept=p.intercept)
    rows = p.given.standardized(centre, frame.scale)
    if p.in_parts:
        return Standardized(p.with_fields(given=rows, penalty=factors), frame)
    scaled = p.with_rows(rows, penalty=factors, has_column=False, adapts=p.adapts)
    return Standardized(scaled, frame)
