"""Inner variables in which columns of any size look alike, and an intercept is one more column.

    x . w + intercept = ((x - centre) * scale) . u + unit u_d

so f is the same function in other coordinates: nothing is approximated by a rough centre or scale.
Small data are copied into these coordinates, large dense data stay where they are (``Scaled``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..rows import Array, ArrayRows, Copied, Csr, Rows, Scaled
from ..rows.dense import COPIED_BYTES
from .problem import Problem

COPIED_SINGLE = 1 << 23  # bytes of float32, which a copy in float64 doubles
SAMPLE = 1 << 12  # rows that are looked at for centre and scale, where there are more,
WIDER = 1 << 16  # and then those of columns which seem to be constant
BETTER = 2.0  # columns are scaled where that makes the diagonal so many times more even
CONSTANT = 1e-13  # of a column's size: a smaller spread is rounding


@dataclass(frozen=True)
class Frame:
    """Where the columns are centred, what they are multiplied by, and the intercept's unit.

    >>> from bocce.rows import Dense
    >>> X = np.array([[1048576.0, 1.0], [3145728.0, 5.0]])
    >>> frame = Frame.of(Problem(X, [0.0, 1.0], intercept=True))
    >>> frame.rows(Dense(X)).X
    array([[-1., -1.,  1.],
           [ 1.,  1.,  1.]])
    >>> w = frame.out(np.array([2.0, 4.0, 1.0]))
    >>> bool(np.allclose(X @ w[:2] + w[2], frame.rows(Dense(X)).X @ [2.0, 4.0, 1.0]))
    True
    """

    centre: Array
    scale: Array
    unit: float  # of the intercept; 0 where there is none

    @classmethod
    def of(cls, p: Problem) -> Frame:
        """Look at the columns of the problem's rows.

        Dense columns are centred (where an intercept takes that up). A column is divided by the
        spread of its entries other than zero: rare ones stay as rare as they are, for blown up to
        the size of the others they would be the noise of every batch. No column is scaled where
        that would not help: where tr A is not nearer to d min A_jj, A the Hessian with its l2.
        Scales are powers of two, so that scaling rounds nothing.
        """
        rows, ridge = p.given, p.l2 / (p.loss.curvature or 1.0)
        if rows.in_parts:
            return cls._of_parts(p, ridge)
        with np.errstate(over="ignore", invalid="ignore"):  # told where the gradient overflows
            if isinstance(rows, Csr):
                found = rows.squares(), rows.shares
                return cls._with_unit(np.zeros(p.d), *found, ridge, p.intercept)
            X = rows.seen if isinstance(rows, ArrayRows) else rows.X
            return cls._of_dense(X, p.weight, ridge, p.intercept)

    @classmethod
    def _of_parts(cls, p: Any, ridge: float) -> Frame:
        """As the parts say, if they know."""
        seen = p.columns_seen()
        if seen is None:
            return identity(p)
        centre, spread2, share = seen
        return cls._with_unit(centre, spread2, share, ridge, p.intercept)

    @classmethod
    def _of_dense(cls, X: Any, weight: Array | None, ridge: float, intercept: bool) -> Frame:
        rows = slice(None, None, -(-X.shape[0] // SAMPLE))
        sample = np.asarray(X[rows], dtype=np.float64)
        weights = None if weight is None else weight[rows]
        centre = np.zeros(X.shape[1])
        if intercept:
            centre = np.average(sample, axis=0, weights=weights)
        apart = sample - centre if intercept else sample
        if weights is None:
            spread2 = np.einsum("ij,ij->j", apart, apart) / sample.shape[0]
        else:
            spread2 = np.einsum("i,ij,ij->j", weights, apart, apart) / weights.sum()
        share = np.ones(sample.shape[0]) @ (sample != 0.0) / sample.shape[0]
        flat = spread2 <= np.square(CONSTANT * centre)
        for step in sorted({1, -(-X.shape[0] // WIDER)}, reverse=True):
            if rows.step > step and flat.any():  # rare in the sample, perhaps not in the data
                more = np.asarray(X[::step, flat], dtype=np.float64)
                spread2[flat] = np.square(more - centre[flat]).mean(axis=0)
                share[flat] = np.count_nonzero(more, axis=0) / more.shape[0]
                flat = spread2 <= np.square(CONSTANT * centre)
        spread2[flat] = 0.0
        if intercept:  # to the bit, so that a constant column becomes zero
            same = flat & (sample == sample[0]).all(axis=0)
            centre[same] = sample[0, same]
        return cls._with_unit(centre, spread2, share, ridge, intercept)

    @classmethod
    def _with_unit(
        cls, centre: Array, spread2: Array, share: Array, ridge: float, intercept: bool
    ) -> Frame:
        """The intercept's column is as large as the largest of the others."""
        scale = _powers_of_two(_scales(spread2, share, ridge))
        unit = float(_powers_of_two(np.sqrt(np.max(spread2 * scale**2)) or 1.0))
        return cls(centre, scale, unit if intercept else 0.0)

    @cached_property
    def plain(self) -> bool:
        """Are the columns as they were?"""
        return not self.centre.any() and bool((self.scale == 1.0).all())

    def rows(self, given: Rows) -> Rows:
        """Rows in the inner variables."""
        if self.plain and self.unit in (0.0, 1.0):
            return given.with_column() if self.unit else given
        if isinstance(given, Csr):
            return given.scaled(self.scale, self.unit)
        if isinstance(given, ArrayRows):
            return given.framed(self.centre, self.scale, self.unit)
        made = Scaled(given.X, self.centre, self.scale, self.unit)
        single = given.dtype != np.float64
        most = min(COPIED_BYTES, COPIED_SINGLE) if single else COPIED_BYTES
        return made if given.X.nbytes > most else Copied(made)

    def problem(self, p: Problem) -> Problem:
        """The same objective as a function of the inner variables."""
        if self.plain and self.unit in (0.0, 1.0):
            return p
        if p.in_parts:
            return p.in_frame(self)  # type: ignore[attr-defined,no-any-return]
        factors = np.ones(p.d) if p.penalty is None else p.penalty[: p.d]
        penalty = np.append(self.scale**2 * factors, np.zeros(int(p.intercept)))
        return Problem.of(
            self.rows(p.given),
            p.y,
            p.loss,
            p.l2,
            weight=p.weight,
            penalty=None if (penalty == 1.0).all() else penalty,
            classes=p.classes,
            intercept=p.intercept,
        )

    def out(self, u: Array) -> Array:
        """Inner variables as w (and then the intercept)."""
        w = (self.scale * u[: self.scale.size].T).T
        if self.unit == 0.0:
            return w
        return np.concatenate([w, (self.unit * u[-1] - self.centre @ w)[None]])

    def into(self, w: Array) -> Array:
        """w (and then the intercept) as inner variables."""
        coef = w[: self.scale.size]
        inner = (coef.T / self.scale).T
        if self.unit == 0.0:
            return inner
        return np.concatenate([inner, ((w[-1] + self.centre @ coef) / self.unit)[None]])

    def gradient_out(self, g: Array) -> Array:
        """A gradient in the inner variables as that in w (and the intercept)."""
        inner = (g[: self.scale.size].T / self.scale).T
        if self.unit == 0.0:
            return inner
        by_intercept = g[-1] / self.unit
        outer = inner + np.multiply.outer(self.centre, by_intercept)
        return np.concatenate([outer, np.asarray(by_intercept)[None]])

    def error_out(self, error: Array) -> Array:
        """Bounds on the errors of ``gradient_out(g)``, from those of the entries of g."""
        return np.asarray(replace(self, centre=np.abs(self.centre)).gradient_out(error))


def identity(p: Problem) -> Frame:
    """The problem's own variables."""
    return Frame(np.zeros(p.d), np.ones(p.d), float(p.intercept))


def _powers_of_two(sizes: Any) -> Any:
    """Rounded to powers of two: multiplying by them is exact, in float32 too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded = np.exp2(np.round(np.log2(sizes)))
    return np.where(np.isfinite(rounded) & (rounded > 0.0), rounded, sizes)


def _scales(spread2: Array, share: Array, ridge: float) -> Array:
    """What to multiply columns by, given their mean squares and the share of their entries."""
    entry2 = np.divide(spread2, share, where=share > 0, out=np.zeros(share.size)) + ridge
    scale2 = np.divide(1.0, entry2, where=entry2 > 0, out=np.ones(share.size))

    def uneven(scale2: Array) -> float:
        diagonal = (spread2 + ridge) * scale2
        diagonal = diagonal[diagonal > 0]
        return float(diagonal.mean() / diagonal.min()) if diagonal.size else 1.0

    even = np.ones(share.size)
    return np.sqrt(scale2) if BETTER * uneven(scale2) < uneven(even) else even
