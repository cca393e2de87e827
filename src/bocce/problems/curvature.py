"""L, mu, L_max and kappa~ of a linear problem, exactly where that is cheap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .linear import LinearProblem

LANCZOS_STEPS = 16
LANCZOS_MARGIN = 1.1
ROW_MOMENT_FLOPS = 1e10


@dataclass(frozen=True)
class Constants:
    """Curvature constants; ``exact`` says whether they were computed or estimated (upwards).

    With A_i the Hessian of row i (an upper bound for logistic loss, l2 included) and A their mean:
    R2 is the least rho with E[A_i^2] <= rho A and R2_tilde the least with E[A_i A^-1 A_i] <= rho A:
    what L_max and kappa~ bound, and smaller. None where they are not affordable. ``reads`` is how
    many times the data were read.
    """

    L: float
    mu: float
    L_max: float
    kappa_tilde: float | None
    exact: bool
    R2: float | None = None
    R2_tilde: float | None = None
    reads: int = 1

    @property
    def sharpest(self) -> tuple[float, float | None]:
        """R2 and R2_tilde where they are known, else L_max and kappa~, which bound them."""
        if self.R2 is None:
            return self.L_max, self.kappa_tilde
        return self.R2, self.R2_tilde

    @property
    def kappa(self) -> float:
        """L/mu, infinite when mu = 0."""
        return self.L / self.mu if self.mu > 0 else math.inf


def lanczos_top(problem: LinearProblem, steps: int = LANCZOS_STEPS) -> tuple[float, float]:
    """The largest Ritz value of X^T X/n and its residual norm, from a fixed random start.

    Costs two passes over the data a step; the basis is kept orthogonal.
    """
    d = problem.d
    steps = min(steps, d)
    basis = np.zeros((steps + 1, d))
    start = np.random.default_rng(0).standard_normal(d)
    basis[0] = start / np.linalg.norm(start)
    diagonal, off = np.zeros(steps), np.zeros(steps)
    used = steps
    for j in range(steps):
        v = problem.gram_times(basis[j])
        diagonal[j] = basis[j] @ v
        for _ in range(2):  # once is not enough in floating point
            v -= basis[: j + 1].T @ (basis[: j + 1] @ v)
        off[j] = np.linalg.norm(v)
        if off[j] <= 1e-14 * max(diagonal[: j + 1].max(), 1e-300):
            used = j + 1
            off[j] = 0.0
            break
        basis[j + 1] = v / off[j]
    T = np.diag(diagonal[:used]) + np.diag(off[: used - 1], 1) + np.diag(off[: used - 1], -1)
    values, vectors = np.linalg.eigh(T)
    return float(values[-1]), float(off[used - 1] * abs(vectors[-1, -1]))


def _largest_leverage(
    problem: LinearProblem, eigenvalues: np.ndarray, vectors: np.ndarray
) -> float | None:
    """max_i h x_i^T A^-1 x_i with A = h X^T X/n + l2 I, given A's eigenvalues and vectors."""
    usable = eigenvalues > problem.d * np.finfo(float).eps * eigenvalues[-1]
    if not usable.all() and problem.l2 > 0:
        return None
    root = vectors[:, usable] / np.sqrt(eigenvalues[usable])
    return problem.curvature_bound * problem.largest_projection2(root)


def _row_moments(
    problem: LinearProblem, spectrum: np.ndarray, vectors: np.ndarray
) -> tuple[float | None, float | None]:
    """R2 and R2_tilde, as the largest eigenvalues of whitened second moments of the A_i.

    A_i = h x x^T + l2 I, so E[A_i M A_i] = h^2 E[(x^T M x) x x^T] + l2 (M A_0 + A_0 M) + l2^2 M
    for M = I and M = A^-1; ``spectrum`` is that of A_0 = h X^T X/n.
    """
    dear = 4.0 * problem.n * problem.d**2 > ROW_MOMENT_FLOPS
    if problem.in_parts or dear or spectrum[-1] <= 0.0:
        return None, None
    h, l2 = problem.curvature_bound, problem.l2
    whole = spectrum + l2
    usable = spectrum > problem.d * np.finfo(float).eps * spectrum[-1]
    basis, spectrum, whole = vectors[:, usable], spectrum[usable], whole[usable]
    root = basis / np.sqrt(whole)
    leverages = [
        np.einsum("ij,ij->i", rotated, rotated)
        for rotated in (block @ root for block in problem.blocks(np.float64))
    ]
    found = []
    for weights, inverse in ((problem.row_norms2, 1.0), (np.concatenate(leverages), 1.0 / whole)):
        moment = root.T @ (h * h * problem.weighted_gram(weights)) @ root
        ridge = (2.0 * l2 * spectrum + l2 * l2) * inverse / whole
        top = float(np.linalg.eigvalsh(moment + np.diag(ridge))[-1])
        # where no row reaches, A_i = l2 I
        found.append(
            max(top, 0.0 if usable.all() else (l2 if weights is problem.row_norms2 else 1.0))
        )
    return found[0], found[1]


def constants(problem: LinearProblem) -> Constants:
    h, l2 = problem.curvature_bound, problem.l2
    L_max = h * problem.largest_row2 + l2
    if problem.gram_fits:
        eigenvalues, vectors = np.linalg.eigh(h * problem.gram)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        negligible = problem.d * np.finfo(float).eps * eigenvalues[-1]
        smallest = float(eigenvalues[0]) if eigenvalues[0] > negligible else 0.0
        mu = l2 + (smallest if problem.strongly_convex_loss else 0.0)
        L = float(eigenvalues[-1]) + l2
        kappa_tilde = _largest_leverage(problem, eigenvalues + l2, vectors) if L > 0 else None
        R2, R2_tilde = _row_moments(problem, eigenvalues, vectors) if L > 0 else (None, None)
        R2 = None if R2 is None else min(max(R2, L), max(L, L_max))  # but for rounding
        reads = 3 if R2 is None else 6  # row norms, Gram, leverages, and again with two weights
        return Constants(L, mu, max(L, L_max), kappa_tilde, True, R2, R2_tilde, reads)
    ritz, residual = lanczos_top(problem)
    trace = problem.mean_row2
    L = h * min(LANCZOS_MARGIN * (ritz + residual), trace) + l2
    reads = 1 + 2 * min(LANCZOS_STEPS, problem.d)
    return Constants(min(L, L_max), l2, L_max, None, exact=False, reads=reads)
