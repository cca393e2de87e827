"""The largest eigenvalue of a symmetric matrix that is known by its products with vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from .._types import FloatArray
from .closure import Vector

MOST_HESSIAN_PRODUCTS = 12  # Products with the matrix until its largest eigenvalue is found.
RESIDUAL = 0.05  # The residual of an eigenvector, relative to its eigenvalue, that is enough.


def dot(x: Vector, y: Vector) -> float:
    """x . y in double precision."""
    return float(torch.dot(x.double(), y.double()))


class RitzPairs:
    """Eigenpairs of a symmetric matrix within a subspace that grows by residuals (Lanczos)."""

    def __init__(self, product: Callable[[Vector], Vector]) -> None:
        self.product = product
        self.basis: list[Vector] = []
        self.images: list[Vector] = []
        self.values: FloatArray = np.zeros(0)
        self.vectors: FloatArray = np.zeros((0, 0))

    def add(self, direction: Vector) -> bool:
        """One more direction; False if it lies in the subspace already."""
        norm = float(direction.norm())
        if not norm > 0.0:
            return False
        q = direction / norm
        for basis in (self.basis, self.basis):  # orthogonalised twice, which is enough
            for other in basis:
                q = q - torch.dot(q, other) * other
        left = float(q.norm())
        if not left > 100.0 * torch.finfo(q.dtype).eps:
            return False
        q = q / left
        self.basis.append(q)
        self.images.append(self.product(q))
        T = np.array([[dot(x, y) for y in self.images] for x in self.basis])
        self.values, self.vectors = np.linalg.eigh(0.5 * (T + T.T))
        return True

    def vector(self, i: int, of: list[Vector] | None = None) -> Vector:
        """The i-th Ritz vector, or its image under the matrix (``of=self.images``)."""
        weights = self.vectors[:, i]
        return sum(float(c) * q for c, q in zip(weights, self.basis if of is None else of))

    def refine(self) -> None:
        """Grow until the largest pair is accurate."""
        while 0 < len(self.basis) < MOST_HESSIAN_PRODUCTS:
            largest = float(self.values[-1])
            residual = self.vector(-1, self.images) - largest * self.vector(-1)
            if float(residual.norm()) <= RESIDUAL * abs(largest) or not self.add(residual):
                break
