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

    def losses(self, z: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        return 0.5 * self.slopes(z, rows) ** 2

    def slopes(self, z: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        return z - (self.y if rows is None else self.y[rows])

    @cached_property
    def moment(self) -> np.ndarray:
        """X^T y / n."""
        return self.combine(self.y) / self.n

    def minimiser(self) -> np.ndarray:
        """w*, of least norm when there are several; by eigenvalues, or LSQR where d is large."""
        return self._minimiser.copy()

    @cached_property
    def _minimiser(self) -> np.ndarray:
        if not self.gram_fits:
            from scipy.sparse.linalg import LinearOperator, lsqr

            operator = LinearOperator(
                (self.n, self.d), matvec=self.predict, rmatvec=self.combine, dtype=np.float64
            )
            damp = np.sqrt(self.n * self.l2)
            return lsqr(operator, self.y, damp=damp, atol=1e-14, btol=1e-14, iter_lim=10_000)[0]
        eigenvalues, vectors = np.linalg.eigh(self.gram + self.l2 * np.eye(self.d))
        usable = eigenvalues > self.d * np.finfo(float).eps * max(eigenvalues[-1], 0.0)
        inverse = np.divide(1.0, eigenvalues, where=usable, out=np.zeros(self.d))
        w = vectors @ (inverse * (vectors.T @ self.moment))
        for _ in range(2):  # refinement: the Gram matrix squares the condition number
            w = w - vectors @ (inverse * (vectors.T @ self.gradient(w)))
        return w

    def noise(self) -> Noise:
        """The gradient noise at the minimiser."""
        return self.noise_at(self.minimiser())

    def noise_at(self, w: np.ndarray) -> Noise:
        norms2 = self.row_norms2
        values = self.losses(self.predict(w)) + 0.5 * self.l2 * (w @ w)
        pull = self.l2 + norms2
        # min over w of (x.w - y)^2/2 + l2/2 |w|^2; a zero row cannot be fitted at all
        share = np.divide(self.l2, pull, where=pull > 0, out=np.ones(self.n))
        lowest = 0.5 * self.y**2 * np.where(norms2 > 0, share, 1.0)
        sigma2 = max(0.0, float((values - lowest).mean()))
        return Noise(self.row_gradient_mean2(w), sigma2)
