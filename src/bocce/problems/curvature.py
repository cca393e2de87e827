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


@dataclass(frozen=True)
class Constants:
    """Curvature constants; ``exact`` says whether they were computed or estimated (upwards)."""

    L: float
    mu: float
    L_max: float
    kappa_tilde: float | None
    exact: bool

    @property
    def kappa(self) -> float:
        """L/mu, infinite when mu = 0."""
        return self.L / self.mu if self.mu > 0 else math.inf


def lanczos_top(problem: LinearProblem, steps: int = LANCZOS_STEPS) -> tuple[float, float]:
    """The largest Ritz value of X^T X/n and its residual norm, from a fixed random start.

    Costs two passes over the data a step; the basis is kept orthogonal.
    """
    d, n = problem.d, problem.n
    steps = min(steps, d)
    basis = np.zeros((steps + 1, d))
    start = np.random.default_rng(0).standard_normal(d)
    basis[0] = start / np.linalg.norm(start)
    diagonal, off = np.zeros(steps), np.zeros(steps)
    used = steps
    for j in range(steps):
        v = problem.combine(problem.predict(basis[j])) / n
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
    largest = 0.0
    for block in problem.blocks(np.float64):
        rotated = block @ root
        largest = max(largest, float(np.einsum("ij,ij->i", rotated, rotated).max()))
    return problem.curvature_bound * largest


def constants(problem: LinearProblem) -> Constants:
    h, l2 = problem.curvature_bound, problem.l2
    L_max = h * float(problem.row_norms2.max()) + l2
    if problem.gram_fits:
        eigenvalues, vectors = np.linalg.eigh(h * problem.gram)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        negligible = problem.d * np.finfo(float).eps * eigenvalues[-1]
        smallest = float(eigenvalues[0]) if eigenvalues[0] > negligible else 0.0
        mu = l2 + (smallest if problem.strongly_convex_loss else 0.0)
        L = float(eigenvalues[-1]) + l2
        kappa_tilde = _largest_leverage(problem, eigenvalues + l2, vectors) if L > 0 else None
        return Constants(L, mu, max(L, L_max), kappa_tilde, exact=True)
    ritz, residual = lanczos_top(problem)
    trace = float(problem.row_norms2.mean())
    L = h * min(LANCZOS_MARGIN * (ritz + residual), trace) + l2
    return Constants(min(L, L_max), l2, L_max, None, exact=False)
