"""Ridge regression."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .linear import LinearProblem


@dataclass(frozen=True)
class Noise:
    """chi2 = mean ||grad f_i(w*)||^2 and sigma2 = mean (f_i(w*) - min f_i)."""

    chi2: float
    sigma2: float


class LeastSquares(LinearProblem):
    """f(w) = 1/(2n) ||X w - y||^2 + l2/2 ||w||^2.

    X is a dense array (float32 or float64, any memory order, or ``np.memmap``; never copied
    whole) or a SciPy sparse matrix (converted to CSR).

    >>> import numpy as np
    >>> p = LeastSquares(np.diag([2.0, 1.0]), np.array([2.0, 1.0]))
    >>> p.minimiser(), p.constants().kappa
    (array([1., 1.]), 4.0)
    """

    strongly_convex_loss = True

    def _targets(self, y: np.ndarray) -> np.ndarray:
        if y.dtype.kind not in "fiub":
            raise TypeError(
                f"LeastSquares: y has dtype {y.dtype}, must be numeric; use Logistic for labels."
            )
        return np.array(y, dtype=np.float64)

    def loss(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 0.5 * (z - y) ** 2

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return z - y

    def hessian(self, w: np.ndarray) -> np.ndarray:
        """The Hessian of f, which is the same everywhere, without the l2 term."""
        return self.gram

    def minimiser(self) -> np.ndarray:
        """w*, of least norm when there are several; by eigenvalues, or LSQR where d is large."""
        return self._minimiser.copy()

    @cached_property
    def _minimiser(self) -> np.ndarray:
        if not self.gram_fits:
            return self._by_lsqr()
        ridge = np.diag(np.broadcast_to(self.ridge, self.d))
        eigenvalues, vectors = np.linalg.eigh(self.gram + ridge)
        usable = eigenvalues > self.d * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
        inverse = np.divide(1.0, eigenvalues, where=usable, out=np.zeros(self.d))
        w = vectors @ (inverse * (vectors.T @ self.moment))
        for _ in range(2):  # refinement: the Gram matrix squares the condition number
            w = w - vectors @ (inverse * (vectors.T @ self.gradient(w)))
        return w

    def _by_lsqr(self) -> np.ndarray:
        """Rows times sqrt(c_i), then sqrt(n l2 r_j) on the diagonal: an ordinary least squares."""
        from scipy.sparse.linalg import LinearOperator, lsqr

        root = np.ones(self.n) if self.weight is None else np.sqrt(self.weight)
        damp = np.sqrt(self.n * np.broadcast_to(self.ridge, self.d))
        operator = LinearOperator(
            (self.n + self.d, self.d),
            matvec=lambda w: np.concatenate([root * self.predict(w), damp * w]),
            rmatvec=lambda z: self.combine(root * z[: self.n]) + damp * z[self.n :],
            dtype=np.float64,
        )
        target = np.concatenate([root * self.y, np.zeros(self.d)])
        return lsqr(operator, target, atol=1e-14, btol=1e-14, iter_lim=10_000)[0]

    def noise(self) -> Noise:
        """The gradient noise at the minimiser."""
        return self.noise_at(self.minimiser())

    def noise_at(self, w: np.ndarray) -> Noise:
        self.needs_one_ridge("noise")
        norms2 = self.weighted(self.row_norms2)
        values = self.losses(self.predict(w)) + self.ridge_value(w)
        pull = self.l2 + norms2
        # min over w of c (x.w - y)^2/2 + l2/2 |w|^2; a zero row cannot be fitted at all
        share = np.divide(self.l2, pull, where=pull > 0, out=np.ones(self.n))
        lowest = self.weighted(0.5 * self.y**2) * np.where(norms2 > 0, share, 1.0)
        sigma2 = max(0.0, float((values - lowest).mean()))
        return Noise(self.row_gradient_mean2(w), sigma2)
