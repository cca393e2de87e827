"""Designs with a spectrum that is known: the paper's synthetic problems, and the worst cases."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._checks import choice, integer, real

FloatArray = npt.NDArray[np.float64]

DESIGNS = ("haar", "gaussian", "student", "heavy")
SPECTRA = ("linear", "sqrt")


def regression(
    n: int,
    d: int,
    kappa: float,
    noise_var: float = 0.0,
    design: str = "haar",
    mu: float = 1.0,
    spectrum: str = "linear",
    seed: int = 0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows and targets of a linear model, ``y = X w_true + s`` with ``s ~ N(0, noise_var I)``.

    The wanted eigenvalues of ``A = X^T X / n`` run from mu to kappa mu::

        linear:  lambda = mu linspace(1, kappa, d)
        sqrt:    lambda = mu linspace(1, sqrt(kappa), d)^2        (linear singular values)

    and the rows are one of::

        haar:      X = sqrt(n) U diag(lambda)^(1/2) V^T, with U, V uniformly random orthogonal
        gaussian:  rows independent, N(0, V diag(lambda) V^T)
        student:   the same with entries of Student's t, 3 degrees of freedom, in place of normal
        heavy:     d rows q diag(n lambda)^(1/2) q^T, then n - d rows uniform on [0, 1)^d

    ``haar`` has this spectrum to rounding, ``gaussian`` and ``student`` in expectation. ``heavy``
    is what the authors' code builds (mu=10, spectrum="sqrt", and it keeps the first 80 % of the
    rows): d rows carry the spectrum, so L_max / lambda_max is of the order n, near the worst case
    for sampling, and the uniform rows make the true kappa smaller. X does not depend on
    ``noise_var``; w_true is uniform on [0, 1)^d.

    Parameters
    ----------
    n, d : int
        The numbers of rows and of columns.
    kappa : float
        The condition number of A, at least 1.
    noise_var : float, default 0.0
        The variance of the noise in y, >= 0: r of the paper's text (the authors' code takes its
        root).
    design : {"haar", "gaussian", "student", "heavy"}, default "haar"
        How the rows are made, see above.
    mu : float, default 1.0
        The smallest eigenvalue of A, > 0.
    spectrum : {"linear", "sqrt"}, default "linear"
        How the eigenvalues are spread, see above.
    seed : int, default 0
        The seed of all random numbers.

    Returns
    -------
    tuple of (ndarray, ndarray, ndarray)
        X of shape (n, d), y of shape (n,) and w_true of shape (d,), all float64.

    Raises
    ------
    ValueError
        If an argument is out of its range, or n < d where the design needs n >= d.

    Notes
    -----
    Source: the paper's section sec:experiments.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, w_true = regression(n=1000, d=3, kappa=50)
    >>> np.linalg.eigvalsh(X.T @ X / 1000).round(9).tolist()
    [1.0, 25.5, 50.0]
    >>> bool(np.allclose(y, X @ w_true))
    True
    """
    where = "regression"
    n = integer(where, "n", n)
    d = integer(where, "d", d)
    kappa = real(where, "kappa", kappa, least=1.0)
    mu = real(where, "mu", mu, above=0.0)
    noise_var = real(where, "noise_var", noise_var, least=0.0)
    choice(where, "design", design, DESIGNS)
    choice(where, "spectrum", spectrum, SPECTRA)
    rng = np.random.default_rng(integer(where, "seed", seed, least=0))
    if d == 1 and kappa > 1.0:
        raise ValueError(f"{where}: kappa={kappa:g} must be 1 when d=1 (one eigenvalue); raise d.")
    if design in ("haar", "heavy") and n < d:
        raise ValueError(
            f"{where}: n={n} must be >= d={d} for design={design!r}, or X^T X has eigenvalues 0; "
            "raise n, or use design='gaussian'."
        )
    eigenvalues = mu * np.linspace(1.0, kappa, d)
    if spectrum == "sqrt":
        eigenvalues = mu * np.linspace(1.0, np.sqrt(kappa), d) ** 2
    w_true = rng.random(d)
    X = _rows(design, n, eigenvalues, rng)
    y = X @ w_true
    if noise_var > 0.0:
        y += np.sqrt(noise_var) * rng.standard_normal(n)
    return X, y, w_true


def _rows(design: str, n: int, eigenvalues: FloatArray, rng: np.random.Generator) -> FloatArray:
    d = eigenvalues.size
    if design == "haar":
        U = _orthonormal_columns(n, d, rng)
        V = _orthonormal_columns(d, d, rng)
        return (U * np.sqrt(n * eigenvalues)) @ V.T
    if design == "heavy":
        Q, _ = np.linalg.qr(rng.random((d, d)))  # of a uniform matrix, as the authors do: not Haar
        return np.vstack([(Q * np.sqrt(n * eigenvalues)) @ Q.T, rng.random((n - d, d))])
    V = _orthonormal_columns(d, d, rng)
    if design == "gaussian":
        return (rng.standard_normal((n, d)) * np.sqrt(eigenvalues)) @ V.T
    # t with 3 degrees of freedom has variance 3
    return (rng.standard_t(3, (n, d)) * np.sqrt(eigenvalues / 3.0)) @ V.T


def _orthonormal_columns(n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """Uniformly random: QR of a Gaussian matrix, with the signs that make the factor unique."""
    Q, R = np.linalg.qr(rng.standard_normal((n, d)))
    return Q * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)


def diagonal(n: int, kappa: float) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
    """The lower bound's problem: n = d, sample i touches coordinate i alone, and w* = 0.

    ``x_i = sqrt(n lambda_i) e_i`` and ``y = 0``, so ``A = X^T X / n = diag(lambda)`` with
    ``lambda = linspace(1, kappa, n)``: mu = 1, lambda_max = kappa, and L_max = n kappa is as large
    as n samples allow. The theorem follows the growth of the last coordinate. Theorem S is sharp
    here: heavy ball with alpha = 1/kappa diverges in mean square iff
    ``b < n / (1 + (1-beta)(1+2 beta)/(1+beta))``. Start elsewhere than w* = 0: the paper takes
    w_0 = (100, .., 100).

    Parameters
    ----------
    n : int
        The number of rows and of columns.
    kappa : float
        The ratio of the largest and the smallest eigenvalue, at least 1.

    Returns
    -------
    tuple of (csr_array, ndarray, ndarray)
        X of shape (n, n) with one entry a row, y = 0 and w_true = 0.

    Raises
    ------
    ValueError
        If an argument is out of its range; the message names the rule and the remedy.

    Notes
    -----
    Source: thm:divergence-n-case (n = 100 there).

    Examples
    --------
    >>> X, y, w_true = diagonal(n=4, kappa=10)
    >>> (X.T @ X / 4).toarray().round(12).diagonal().tolist()
    [1.0, 4.0, 7.0, 10.0]
    """
    n = integer("diagonal", "n", n)
    kappa = real("diagonal", "kappa", kappa, least=1.0)
    if n == 1 and kappa > 1.0:
        raise ValueError(f"diagonal: kappa={kappa:g} must be 1 when n=1 (one eigenvalue); raise n.")
    entries = np.sqrt(n * np.linspace(1.0, kappa, n))
    X = sparse.csr_array((entries, np.arange(n), np.arange(n + 1)), shape=(n, n))
    return X, np.zeros(n), np.zeros(n)


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
        The condition number lambda_max/mu; ``copies kappa`` is a number of rows.
    R : float
        The ratio L_max/lambda_max, at least 1 + 1/kappa; ``copies kappa R`` is a number of rows.
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
    Guarantee: for every alpha, beta and batch the mean-square rate (``exact.mean_square_rate``) is
    that of Theorem S (``theory.certified_rate``), and no data with these constants have a larger
    one; ``theory.best_heavy_ball(kappa, R, zeta2)`` is the best step and momentum here. Source: not
    in the paper; docs/theory/minimax.md.

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
