"""Inner variables in which columns of any size look alike, and an intercept is one more column.

    x . coef + intercept = ((x - centre) * scale) . u + unit u_d

so f is the same function in other coordinates: nothing is approximated by a rough centre or scale.
Small data are copied into these coordinates, large dense data stay where they are (``Framed``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK_BYTES = 1 << 20  # rows of other types become float64 this many bytes at a time
COPIED_BYTES = 1 << 26  # dense data up to this size are copied
SAMPLE = 1 << 14  # rows that are looked at for centre and scale, where there are more
BETTER = 2.0  # columns are scaled where that makes the diagonal so many times more even
CONSTANT = 1e-13  # of a column's size: a smaller spread is rounding


class Framed:
    """The rows (x - centre) * scale, and ``unit`` behind each if it is not 0; made when asked."""

    ndim = 2

    def __init__(self, X: np.ndarray, centre: np.ndarray, scale: np.ndarray, unit: float) -> None:
        self.X, self.centre, self.scale, self.unit = X, centre, scale, unit
        self.shape = (X.shape[0], X.shape[1] + (unit > 0))
        self.dtype, self.nbytes = X.dtype, X.nbytes

    def __getitem__(self, rows: Any) -> np.ndarray:
        x = np.asarray(self.X[rows], dtype=np.float64)
        made = np.full((x.shape[0], self.shape[1]), self.unit)
        np.subtract(x, self.centre, out=made[:, : x.shape[1]])
        made[:, : x.shape[1]] *= self.scale
        return made

    def times(self, u: np.ndarray) -> np.ndarray:
        """All rows times u, from x where it lies."""
        w = self.scale * u[: self.scale.size]
        offset = self.unit * u[-1] if self.unit > 0 else 0.0
        return np.concatenate([x @ w for x in self._blocks()]) + (offset - self.centre @ w)

    def combined(self, c: np.ndarray) -> np.ndarray:
        """sum_i c_i times row i."""
        total, start = np.zeros(self.scale.size), 0
        for x in self._blocks():
            total += c[start : start + x.shape[0]] @ x
            start += x.shape[0]
        total = self.scale * (total - self.centre * c.sum())
        return np.append(total, self.unit * c.sum()) if self.unit > 0 else total

    def _blocks(self) -> Iterator[np.ndarray]:
        step = self.X.shape[0]
        if self.X.dtype != np.float64:
            step = max(1, BLOCK_BYTES // (8 * self.X.shape[1]))
        for start in range(0, self.X.shape[0], step):
            yield np.asarray(self.X[start : start + step], dtype=np.float64)


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

        Dense columns are centred (where an intercept takes that up). A column is divided by the
        spread of its entries other than zero: rare ones stay as rare as they are, for blown up to
        the size of the others they would be the noise of every batch. No column is scaled where
        that would not help: where tr A is not nearer to d min A_jj, A the Hessian with its l2.
        """
        if sp.issparse(X):
            return cls._of_sparse(X, l2 / h, fit_intercept)
        rows = slice(None, None, -(-X.shape[0] // SAMPLE))
        sample = np.asarray(X[rows], dtype=np.float64)
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        d = X.shape[1]
        centre = np.average(sample, axis=0, weights=weights) if fit_intercept else np.zeros(d)
        spread2 = np.average(np.square(sample - centre), axis=0, weights=weights)
        share = np.count_nonzero(sample, axis=0) / sample.shape[0]
        flat = spread2 <= np.square(CONSTANT * centre)
        if rows.step > 1 and flat.any():  # rare in the sample, perhaps not in the data
            whole = np.asarray(X[:, flat], dtype=np.float64)
            spread2[flat] = np.square(whole - centre[flat]).mean(axis=0)
            share[flat] = np.count_nonzero(whole, axis=0) / X.shape[0]
            flat = spread2 <= np.square(CONSTANT * centre)
        spread2[flat] = 0.0
        return cls._with_unit(centre, spread2, share, l2 / h, fit_intercept)

    @classmethod
    def _of_sparse(cls, X: Any, ridge: float, fit_intercept: bool) -> Frame:
        n, d = X.shape
        X = X.tocsr()
        size2 = np.bincount(X.indices, np.square(X.data, dtype=np.float64), minlength=d) / n
        share = np.bincount(X.indices, minlength=d) / n
        return cls._with_unit(np.zeros(d), size2, share, ridge, fit_intercept)

    @classmethod
    def _with_unit(
        cls,
        centre: np.ndarray,
        spread2: np.ndarray,
        share: np.ndarray,
        ridge: float,
        fit_intercept: bool,
    ) -> Frame:
        """The intercept's column is as large as the largest of the others."""
        scale = _scales(spread2, share, ridge)
        unit = float(np.sqrt(np.max(spread2 * scale**2)) or 1.0)
        return cls(centre, scale, unit if fit_intercept else 0.0)

    @property
    def penalty(self) -> np.ndarray | None:
        """What l2 is multiplied by in each inner variable; None where by 1."""
        if self.unit == 0.0 and (self.scale == 1.0).all():
            return None
        free = np.zeros(int(self.unit > 0))
        return np.concatenate([self.scale**2, free])

    def design(self, X: Any) -> Any:
        """X in the inner variables."""
        if sp.issparse(X):
            X = sp.csr_array(X)
            if (self.scale != 1.0).any():
                data = X.data * self.scale[X.indices].astype(X.dtype)
                X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
            if self.unit > 0:
                column = np.full((X.shape[0], 1), self.unit, dtype=X.dtype)
                X = sp.csr_array(sp.hstack([X, sp.csr_array(column)], format="csr"))
            return X
        framed = Framed(X, self.centre, self.scale, self.unit)
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


def _scales(spread2: np.ndarray, share: np.ndarray, ridge: float) -> np.ndarray:
    """What to multiply columns by, given their mean squares and the share of their entries."""
    entry2 = np.divide(spread2, share, where=share > 0, out=np.zeros(share.size)) + ridge
    scale2 = np.divide(1.0, entry2, where=entry2 > 0, out=np.ones(share.size))

    def uneven(scale2: np.ndarray) -> float:
        diagonal = (spread2 + ridge) * scale2
        diagonal = diagonal[diagonal > 0]
        return float(diagonal.mean() / diagonal.min()) if diagonal.size else 1.0

    even = np.ones(share.size)
    return np.sqrt(scale2) if BETTER * uneven(scale2) < uneven(even) else even
