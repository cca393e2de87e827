"""How the noise of a step returns: the response of the update, and linear algebra with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, solve
from scipy.sparse.linalg import LinearOperator, cg, eigsh

from .moments import FloatArray, RowNoise


@dataclass(frozen=True)
class IterationLimits:
    """When an iteration takes the place of a dense matrix, and when it gives up.

    Attributes
    ----------
    dense : int
        Up to this D all eigenvalues by LAPACK are cheaper than an iteration.
    products : int
        The most products of a solve by conjugate gradients.
    """

    dense: int = 400
    products: int = 2000


LIMITS = IterationLimits()


def response(
    lam: FloatArray,
    alpha: float,
    beta: float,
    theta: float,
    rate: float = 1.0,
    *,
    pairs: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """How covariance injected into w comes back, summed over time: at y (G) and at w (R).

    With ``a_i(l)`` the error at y (at w) l steps after a unit push along eigenvalue i,
    ``G_ij = sum_l rate^(-2 l - 2) a_i(l) a_j(l)``. In x = alpha lambda, s = theta x - beta::

        sigma = x_i (1 + s_j) + x_j (1 + s_i);     delta = 1 - s_i s_j
        R_ij  = delta / (delta sigma - (x_i + s_i x_j)(x_j + s_j x_i))
        G_ij  = R_ij (1 + theta (1 + theta) sigma / delta)

    at rate 1; another rate is the same with the recurrence's coefficients divided by it. theta = 0
    and theta = beta give the heavy-ball and Nesterov forms. All entries are positive where
    the noise-free update is faster than ``rate``; elsewhere the sum diverges and they mean nothing.
    ``pairs=False`` gives the diagonals alone.

    >>> G, R = response(np.array([1.0]), alpha=1.0, beta=0.0, theta=0.0)
    >>> float(G[0, 0]), float(R[0, 0])
    (1.0, 1.0)
    """
    c2 = theta * alpha * lam - beta
    c1 = 1.0 - alpha * lam - c2
    x = _slowness(c1, c2, alpha * lam, rate)
    s = c2 / rate**2
    look = 1.0 + theta
    back = -theta / rate
    x_i, s_i = (x[:, None], s[:, None]) if pairs else (x, s)
    x_j = x
    s_j = s
    sigma = x_i * (1.0 + s_j) + x_j * (1.0 + s_i)
    delta = 1.0 - s_i * s_j
    scale = rate**2 * (delta * sigma - (x_i + s_i * x_j) * (x_j + s_j * x_i))
    return ((look + back) ** 2 * delta - look * back * sigma) / scale, delta / scale


def _slowness(c1: FloatArray, c2: FloatArray, step: FloatArray, rate: float) -> FloatArray:
    """1 - c1/rate - c2/rate^2, equal to ``step`` at rate 1 and without cancellation near it."""
    if rate < 0.5:
        return (rate**2 - c1 * rate - c2) / rate**2
    return ((rate - 1.0) * (rate + 1.0 - c1) + step) / rate**2


def _scaled(
    noise: RowNoise, G: FloatArray
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """sqrt(G), packed, and Q -> sqrt(G) o N_h(sqrt(G) o Q): similar to N_h(G o Q), symmetric."""
    root = np.sqrt(G[noise.triangle.rows, noise.triangle.columns])
    return root, lambda q: root * noise.homogeneous(root * q)


def _matrix(apply: Callable[[FloatArray], FloatArray], D: int) -> FloatArray:
    return np.column_stack([apply(column) for column in np.eye(D)])


def perron(noise: RowNoise, G: FloatArray, limits: IterationLimits = LIMITS) -> float:
    """Spectral radius of Q -> N_h(G o Q).

    The map keeps positive semidefinite matrices so (Krein and Rutman: its radius is an eigenvalue),
    and it is similar to a symmetric one: the radius is the largest eigenvalue.
    """
    D = noise.triangle.D
    root, apply = _scaled(noise, G)
    if limits.dense >= D:
        top = [D - 1, D - 1]
        return float(eigh(_matrix(apply, D), eigvals_only=True, subset_by_index=top)[0])
    # its product with the answer is a trace, > 0
    start = noise.triangle.pack(np.eye(noise.triangle.d)) / root
    operator = LinearOperator((D, D), matvec=apply, dtype=np.float64)
    return float(
        eigsh(operator, k=1, which="LA", v0=start, return_eigenvectors=False, tol=1e-13)[0]
    )


def injected(
    noise: RowNoise, G: FloatArray, strength: float, limits: IterationLimits = LIMITS
) -> FloatArray:
    """Diagonal of the q that solves q = strength (N_h(G o q) + S)."""
    triangle = noise.triangle
    root, apply = _scaled(noise, G)
    at_minimiser = noise.covariance(np.zeros((triangle.d, triangle.d)), np.zeros(triangle.d))
    right = strength * root * triangle.pack(at_minimiser)
    if limits.dense >= triangle.D:
        system = np.eye(triangle.D) - strength * _matrix(apply, triangle.D)
        solution = solve(system, right, assume_a="pos")
    else:
        operator = LinearOperator(
            (triangle.D, triangle.D), matvec=lambda q: q - strength * apply(q), dtype=np.float64
        )
        solution, failed = cg(operator, right, rtol=1e-12, maxiter=limits.products)
        if failed:
            raise ArithmeticError(
                "stationary: the covariance did not settle to 1e-12 in "
                f"{limits.products} products, b is too near b_c; take more rows a batch."
            )
    return np.asarray(triangle.unpack(solution / root).diagonal())
