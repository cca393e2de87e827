"""Inner variables in which columns of any size look alike, and an intercept is one more column.

    x . coef + intercept = ((x - centre) * scale) . u + unit u_d

so f is the same function in other coordinates: nothing is approximated by a rough centre or scale.
Small data are copied into these coordinates, large dense data stay where they are (``Framed``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

COPIED_BYTES = 1 << 26  # dense data up to this size are copied
SAMPLE = 1 << 14  # rows that are looked at for centre and scale, where there are more
UNEVEN = 100.0  # sparse columns whose largest entries differ by less are left as they are
CONSTANT = 1e-13  # of a column's size: a smaller spread is rounding


class Framed:
    """The rows (x - centre) * scale, and a 1 behind each where ``ones``; made when asked for."""

    ndim = 2

    def __init__(self, X: np.ndarray, centre: np.ndarray, scale: np.ndarray, ones: bool) -> None:
        self.X, self.centre, self.scale, self.ones = X, centre, scale, ones
        self.shape = (X.shape[0], X.shape[1] + ones)
        self.dtype, self.nbytes = X.dtype, X.nbytes

    def __getitem__(self, rows: Any) -> np.ndarray:
        x = np.asarray(self.X[rows], dtype=np.float64)
        made = np.ones((x.shape[0], self.shape[1]))
        np.subtract(x, self.centre, out=made[:, : x.shape[1]])
        made[:, : x.shape[1]] *= self.scale
        return made


@dataclass(frozen=True)
class Frame:
    """Where the columns are centred, what they are multiplied by, and the intercept's unit.

    >>> X = np.array([[1e6, 1.0], [3e6, 5.0]])
    >>> frame = Frame.fit(X, l2=0.0, fit_intercept=True, h=1.0)
    >>> frame.design(X)
    array([[-1., -1.,  1.],
           [ 1.,  1.,  1.]])
    >>> coef, intercept = frame.out(np.array([2.0, 4.0, 1.0]))
    >>> bool(np.allclose(X @ coef + intercept, frame.design(X) @ [2.0, 4.0, 1.0]))
    True
    """

    centre: np.ndarray
    scale: np.ndarray
    unit: float  # of the intercept; 0 where there is none

    @classmethod
    def fit(
        cls, X: Any, *, l2: float, fit_intercept: bool, h: float, sample_weight: Any = None
    ) -> Frame:
        """Look at the columns of X; h is the loss's largest second derivative.

        Dense columns are centred (where an intercept takes that up) and divided by their standard
        deviation, l2/h added to its square, so that the Hessian has a diagonal of about h.
        Sparse ones are not centred, and divided by their largest entry if these are uneven.
        """
        if sp.issparse(X):
            return cls._of_sparse(X, fit_intercept)
        rows = slice(None, None, -(-X.shape[0] // SAMPLE) if X.nbytes > COPIED_BYTES else 1)
        sample = np.asarray(X[rows], dtype=np.float64)
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        d = X.shape[1]
        centre = np.average(sample, axis=0, weights=weights) if fit_intercept else np.zeros(d)
        spread2 = np.average(np.square(sample - centre), axis=0, weights=weights)
        flat = spread2 <= np.square(CONSTANT * centre)
        if rows.step > 1 and flat.any():  # rare in the sample, perhaps not in the data
            whole = np.asarray(X[:, flat], dtype=np.float64) - centre[flat]
            spread2[flat] = np.square(whole).mean(axis=0)
            flat = spread2 <= np.square(CONSTANT * centre)
        spread2[flat] = 0.0
        inverse2 = spread2 + l2 / h
        scale = np.where(inverse2 > 0, 1.0 / np.sqrt(np.where(inverse2 > 0, inverse2, 1.0)), 1.0)
        return cls(centre, scale, float(fit_intercept))

    @classmethod
    def _of_sparse(cls, X: Any, fit_intercept: bool) -> Frame:
        d = X.shape[1]
        columns = X.tocsc() if X.nnz else X
        largest = np.asarray(abs(columns).max(axis=0).todense()).ravel().astype(np.float64)
        used = largest > 0
        scale = np.ones(d)
        if used.any() and largest[used].max() > UNEVEN * largest[used].min():
            scale[used] = 1.0 / largest[used]
        size2 = np.asarray(X.multiply(X).mean(axis=0)).ravel() * scale**2
        unit = np.sqrt(size2.max()) if used.any() else 1.0
        return cls(np.zeros(d), scale, float(unit) if fit_intercept else 0.0)

    @property
    def penalty(self) -> np.ndarray | None:
        """What l2 is multiplied by in each inner variable; None where by 1."""
        if self.unit == 0.0 and (self.scale == 1.0).all():
            return None
        free = np.zeros(int(self.unit > 0))
        return np.concatenate([self.scale**2, free])

    def design(self, X: Any) -> Any:
        """X in the inner variables."""
        ones = int(self.unit > 0)
        if sp.issparse(X):
            X = sp.csr_array(X)
            if (self.scale != 1.0).any():
                data = X.data * self.scale[X.indices].astype(X.dtype)
                X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
            if ones:
                column = np.full((X.shape[0], 1), self.unit, dtype=X.dtype)
                X = sp.csr_array(sp.hstack([X, sp.csr_array(column)], format="csr"))
            return X
        framed = Framed(X, self.centre, self.scale, bool(ones))
        return framed if X.nbytes > COPIED_BYTES else framed[:]

    def out(self, u: np.ndarray) -> tuple[np.ndarray, float]:
        """Inner variables as (coef, intercept)."""
        coef = self.scale * u[: self.scale.size]
        return coef, float(self.unit * u[-1] - self.centre @ coef) if self.unit > 0 else 0.0

    def into(self, coef: np.ndarray, intercept: float) -> np.ndarray:
        """(coef, intercept) as inner variables."""
        if self.unit == 0.0:
            return coef / self.scale
        return np.append(coef / self.scale, (intercept + self.centre @ coef) / self.unit)

    def gradient_out(self, g: np.ndarray) -> tuple[np.ndarray, float]:
        """A gradient in the inner variables as that in (coef, intercept)."""
        by_intercept = float(g[-1] / self.unit) if self.unit > 0 else 0.0
        return g[: self.scale.size] / self.scale + self.centre * by_intercept, by_intercept
