"""The problem on which no heavy ball is faster than its certificate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._checks import integer, real

FloatArray = npt.NDArray[np.float64]


def extremal(
    kappa: float, R: float, copies: int = 1
) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
    """Rows that touch one of two coordinates, all equally long: Theorem S is attained on them.

    Of ``n = copies kappa R`` rows ``copies`` are ``sqrt(R) e_1``, ``copies kappa`` are
    ``sqrt(R) e_2`` and the rest are zero, so that X^T X / n = diag(1/kappa, 1) and L_max = R:
    lambda_max = 1, mu = 1/kappa. y = 0, so w* = 0 (start elsewhere).

    Parameters
    ----------
    kappa : float
        The condition number lambda_max/mu; ``copies kappa`` must be an integer number of rows.
    R : float
        The ratio L_max/lambda_max, at least 1 + 1/kappa; ``copies kappa R`` must be an integer
        number of rows.
    copies : int, default 1
        The number of rows on the slow coordinate; more copies allow finer kappa and R.

    Returns
    -------
    tuple of (csr_array, ndarray, ndarray)
        X of shape (n, 2), y = 0 and w_true = 0.

    Raises
    ------
    ValueError
        If an argument is out of its range; the message names the rule and the remedy.

    Notes
    -----
    Guarantee: for every alpha, beta and batch the mean-square rate of heavy ball
    (``exact.mean_square_rate``) is that of Theorem S (``theory.certified_rate``), and no data with
    these constants have a larger one. So ``theory.best_heavy_ball(kappa, R, zeta2)`` is the best
    that any step and momentum can do here.

    Source: not in the paper; docs/theory/minimax.md.

    Examples
    --------
    >>> X, y, w_true = extremal(kappa=10, R=2)
    >>> X.shape, (X.T @ X / 20).toarray().round(12).diagonal().tolist()
    ((20, 2), [0.1, 1.0])
    """
    where = "extremal"
    kappa = real(where, "kappa", kappa, least=1.0, remedy="kappa is lambda_max/mu")
    R = real(where, "R", R, above=1.0, remedy="R is L_max/lambda_max")
    copies = integer(where, "copies", copies, remedy="rows on the slow coordinate")
    fast = _count(where, "copies kappa", copies * kappa)
    n = _count(where, "copies kappa R", copies * kappa * R)
    if n < copies + fast:
        raise ValueError(
            f"{where}: R={R:g} must be >= 1 + 1/kappa={1 + 1 / kappa:g}: the rows of both "
            "coordinates must fit; raise R."
        )
    touched = copies + fast
    columns = np.repeat([0, 1], [copies, fast])
    ends = np.minimum(np.arange(n + 1), touched)
    X = sparse.csr_array((np.full(touched, np.sqrt(n / fast)), columns, ends), shape=(n, 2))
    return X, np.zeros(n), np.zeros(2)


def _count(where: str, name: str, value: float) -> int:
    count = round(value)
    if abs(value - count) > 1e-9 * value:
        raise ValueError(
            f"{where}: {name}={value:g} must be an integer, because it is a number of rows; raise "
            "copies, or move kappa or R a little."
        )
    return count
