"""l2-regularised logistic regression with two classes."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .least_squares import Noise
from .linear import LinearProblem

NEWTON_STEPS = 100


class Logistic(LinearProblem):
    """f(w) = 1/n sum_i log(1 + exp(-s_i x_i . w)) + l2/2 ||w||^2, s_i = +-1.

    The labels may be any two values; ``classes`` holds them sorted, and the second is +1.

    >>> import numpy as np
    >>> p = Logistic(np.array([[1.0], [2.0], [-1.0]]), ["yes", "no", "no"], l2=0.1)
    >>> p.classes.tolist(), p.y.tolist(), round(p.value(np.zeros(1)), 6)
    (['no', 'yes'], [1.0, -1.0, -1.0], 0.693147)
    """

    curvature_bound = 0.25
    strongly_convex_loss = False

    def _targets(self, y: np.ndarray) -> np.ndarray:
        self.classes = np.unique(y)
        if self.classes.size != 2:
            shown = ", ".join(repr(c) for c in self.classes[:5].tolist())
            more = ", ..." if self.classes.size > 5 else ""
            raise ValueError(
                f"Logistic: y has {self.classes.size} different labels ({shown}{more}), must have "
                "exactly two; make one class against the rest first."
            )
        return np.where(y == self.classes[1], 1.0, -1.0)

    @property
    def signs(self) -> np.ndarray:
        """The labels as +-1."""
        return self.y

    def loss(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -y * z)

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -y * _sigmoid(-y * z)

    def minimiser(self) -> np.ndarray:
        """w*, by Newton's method (conjugate gradients inside where d is large)."""
        return self._minimiser.copy()

    @cached_property
    def _minimiser(self) -> np.ndarray:
        w = np.zeros(self.d)
        value, g = self.value(w), self.gradient(w)
        scale = np.sqrt(self.row_gradient_mean2(w))
        for _ in range(NEWTON_STEPS):
            if np.linalg.norm(g) <= 1e-13 * scale:
                break
            p = self._newton_direction(w, g)
            step, decrease = 1.0, float(g @ p)
            slack = 1e-15 * value  # a decrease that drowns in rounding counts as made
            while self.value(w + step * p) > value + 1e-4 * step * decrease + slack:
                step /= 2
            trial = w + step * p
            new_value, new_g = self.value(trial), self.gradient(trial)
            if np.linalg.norm(new_g) >= np.linalg.norm(g) and new_value >= value:
                break  # rounding: no further progress can be measured
            w, value, g = trial, new_value, new_g
        if np.linalg.norm(g) > 1e-8 * scale or self._escapes(w, g):
            raise ValueError(
                f"Logistic: l2={self.l2!r} leaves no finite minimiser that could be reached "
                "(separable data?), must be > 0 then; add regularisation, for example l2=1e-4."
            )
        return w

    def _escapes(self, w: np.ndarray, g: np.ndarray) -> bool:
        """Would Newton's method still move some x_i . w by a good part of 1?

        On the way to infinity the gradient vanishes but the steps do not.
        """
        if self.l2 > 0 or not g.any():
            return False
        step = self._newton_direction(w, g)
        return self.largest_projection2(step[:, None]) > 0.01**2

    def _newton_direction(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        if self.gram_fits:
            H = self.hessian(w)
            H[np.diag_indices(self.d)] += self.ridge + 1e-14 * max(np.trace(H), 1e-300)
            return -np.linalg.solve(H, g)
        from scipy.sparse.linalg import LinearOperator, cg

        weights = self._curvatures(w)

        def multiply(v: np.ndarray) -> np.ndarray:
            return self.combine(weights * self.predict(v)) / self.n + self.ridge * v

        H = LinearOperator((self.d, self.d), matvec=multiply, dtype=np.float64)
        return cg(H, -g, rtol=1e-6, maxiter=500)[0]

    def hessian(self, w: np.ndarray) -> np.ndarray:
        """The Hessian of f at w, without the l2 term."""
        return self.weighted_gram(self._curvatures(w))

    def _curvatures(self, w: np.ndarray) -> np.ndarray:
        q = _sigmoid(self.predict(w))
        return self.weighted(q * (1.0 - q))

    def noise(self) -> Noise:
        """The gradient noise at the minimiser."""
        return self.noise_at(self.minimiser())

    def noise_at(self, w: np.ndarray) -> Noise:
        self.needs_one_ridge("noise")
        values = self.losses(self.predict(w)) + self.ridge_value(w)
        sigma2 = max(0.0, float((values - self._lowest()).mean()))
        return Noise(self.row_gradient_mean2(w), sigma2)

    def _lowest(self) -> np.ndarray:
        """min over w of f_i: c_i times min over m of log(1 + e^-m) + l2 m^2/(2 c_i |x_i|^2)."""
        norms2 = self.weighted(self.row_norms2)  # c_i comes out in front of both terms
        if self.l2 == 0.0:
            return self.weighted(np.where(norms2 > 0, 0.0, np.log(2.0)))
        pull = np.divide(self.l2, norms2, where=norms2 > 0, out=np.full(self.n, np.inf))
        margin = np.zeros(self.n)
        live = norms2 > 0
        for _ in range(100):  # Newton on a convex scalar function with monotone convergence
            q = _sigmoid(-margin[live])
            slope = pull[live] * margin[live] - q
            margin[live] -= slope / (pull[live] + q * (1.0 - q))
        penalty = np.where(live, 0.5 * np.where(live, pull, 0.0) * margin**2, 0.0)
        return self.weighted(np.logaddexp(0.0, -margin) + penalty)


def _sigmoid(z: np.ndarray) -> np.ndarray:
    """1/(1 + e^-z) without overflow."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, e) / (1.0 + e)
