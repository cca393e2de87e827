"""The problems that most people have, by name."""

from __future__ import annotations

from typing import Any

from .._types import Design, Vector
from .problem import Problem


def LeastSquares(X: Design, y: Vector | None = None, l2: float = 0.0, **keywords: Any) -> Problem:
    """f(w) = 1/(2n) ||X w - y||^2 + l2/2 ||w||^2: ``Problem`` with the squared loss.

    Parameters
    ----------
    X, y, l2, **keywords : object
        As for ``Problem``; the targets are numbers.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> p = LeastSquares(np.diag([2.0, 1.0]), np.array([2.0, 1.0]))
    >>> p.minimiser(), p.constants().kappa
    (array([1., 1.]), 4.0)
    """
    return Problem(X, y, "squared", l2, **keywords)


def Logistic(X: Design, y: Vector | None = None, l2: float = 0.0, **keywords: Any) -> Problem:
    """Logistic regression: ``Problem`` with the logistic loss.

    f(w) = 1/n sum_i log(1 + exp(-s_i x_i . w)) + l2/2 ||w||^2, s_i = +-1. The labels may be any two
    values; ``classes`` holds them sorted, and the second one is +1.

    Parameters
    ----------
    X, y, l2, **keywords : object
        As for ``Problem``; the targets are labels.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> p = Logistic(np.array([[1.0], [2.0], [-1.0]]), ["yes", "no", "no"], l2=0.1)
    >>> p.classes.tolist(), p.y.tolist(), round(p.value(np.zeros(1)), 6)
    (['no', 'yes'], [1.0, -1.0, -1.0], 0.693147)
    """
    return Problem(X, y, "logistic", l2, **keywords)
