"""Inner variables in which columns of any size look alike, and an intercept is one more column.

    x . w + intercept = ((x - centre) * scale) . u + unit u_d

so f is the same function in other coordinates: nothing is approximated by a rough centre or scale.
Small data are copied into these coordinates, large dense data stay where they are (``Scaled``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..rows import Array, Held, Rows
from .limits import LIMITS, ProblemLimits
from .problem import Problem

# Columns are scaled where the diagonal of the Hessian becomes this many times more even.
BETTER = 2.0
# A column whose spread is below this share of its size is constant: the rest is rounding.
LEAST_UNIT = 1e-3  # of the root of the ridge: the least size of the intercept's column
CONSTANT_SPREAD = 1e-13
# Columns of a size above this number, or below its inverse, are first brought near 1.
EXTREME = 2.0**50


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
    spread2: Array | None = field(default=None, compare=False)  # mean squares about the centre

    @classmethod
    def of(cls, p: Problem) -> Frame:
        """Look at the columns of the problem's rows.

        Dense columns are centred (where an intercept takes that up). A column is divided by the
        spread of its entries other than zero: rare ones stay as rare as they are, for blown up to
        the size of the others they would be the noise of every batch. No column is scaled where
        that would not help: where tr A is not nearer to d min A_jj, A the Hessian with its l2.
        Scales are powers of two, so that scaling rounds nothing.
        """
        rows = p.given
        ridge = p.ridges[: p.d] / (p.loss.curvature or 1.0)
        if rows.in_parts:
            return cls._of_parts(p, ridge)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # overflow is reported with the first gradient
            if rows.sparse:
                return cls._of_sparse(p, rows, ridge)
            return cls._of_dense(rows.sampled, p.weight, ridge, p.intercept, limits=p.limits)

    @classmethod
    def _of_parts(cls, p: Any, ridge: Array) -> Frame:
        """As the parts say, if they know."""
        found = p.columns_seen()
        if found is None:
            return identity(p)
        centre, spread2, share = found
        scale = _scales(spread2, lambda: share, ridge)
        return cls._with_unit(centre, spread2, scale, ridge, p.intercept)

    @classmethod
    def _of_sparse(cls, p: Problem, rows: Any, ridge: Array) -> Frame:
        """No A_jj is below the ridge: where their mean is not much above it, as in text that is
        penalised by 1/n, no column will be scaled, and none is looked at. With fewer rows than
        columns none is scaled either: where all columns have the same ridge, gradients never leave
        the span of the rows, along which f is curved."""
        mean = float(np.vdot(rows.X.data, rows.X.data)) / (p.n * p.d)
        if not p.intercept and mean <= (BETTER - 1.0) * ridge.min():
            return identity(p)
        squares = rows.squares()
        units = np.ones(p.d)
        usual = (squares > EXTREME**-2) & (squares < EXTREME**2)
        if not usual.all() and not (usual | (rows.shares == 0.0)).all():
            units = _units(abs(rows.X).max(axis=0).toarray().reshape(1, -1), ridge)
            squares = rows.scaled(units, 0.0).squares()
        ridge = ridge * units * units
        if p.n < p.d and (ridge == ridge[0]).all():
            scale = np.ones(p.d)
        else:
            scale = _scales(squares, lambda: rows.shares, ridge)
        return cls._with_unit(np.zeros(p.d), squares, scale, ridge, p.intercept)._times(units)

    @classmethod
    def _of_dense(
        cls,
        X: Array | Held,
        weight: Array | None,
        ridge: Array,
        intercept: bool,
        units: Array | None = None,
        limits: ProblemLimits = LIMITS,
    ) -> Frame:
        """``units``: numbers to multiply the columns by first, where squares would overflow."""
        columns = DenseColumns(X, weight, intercept, units, limits)
        if units is None and not columns.usual:
            units = _units(columns.sample, ridge)
            if (units != 1.0).any():
                inner = cls._of_dense(X, weight, ridge * units * units, intercept, units, limits)
                return inner._times(units)
        columns.look_at_more_rows(limits.rare_rows)
        scale = _scales(columns.spread2, columns.shares, ridge)
        return cls._with_unit(columns.centre, columns.spread2, scale, ridge, intercept)

    def _times(self, units: Array) -> Frame:
        """The frame of columns that were multiplied by ``units``, for the columns themselves."""
        if (units == 1.0).all():
            return self
        spread2 = None if self.spread2 is None else self.spread2 / units / units
        return Frame(self.centre / units, self.scale * units, self.unit, spread2)

    @classmethod
    def _with_unit(
        cls, centre: Array, spread2: Array, scale: Array, ridge: Array, intercept: bool
    ) -> Frame:
        """The intercept's column is as large as the largest of the others. Where all of these are
        next to nothing beside the ridge, the ridge decides: an intercept of their size would have
        no curvature. Where squares overflow the columns stay as they are."""
        if not np.isfinite(spread2).all():
            return cls(np.zeros(centre.size), np.ones(centre.size), float(intercept))
        if not intercept:
            return cls(centre, scale, 0.0, spread2)
        sizes = np.maximum(np.sqrt(spread2), LEAST_UNIT * np.sqrt(ridge)) * scale
        largest = float(np.maximum.reduce(sizes))
        if largest > 0.0:
            unit = 2.0 ** round(math.log2(largest))
        else:
            unit = 1.0
        return cls(centre, scale, unit, spread2)

    @cached_property
    def plain(self) -> bool:
        """Are the columns as they were?"""
        return not self.centre.any() and bool((self.scale == 1.0).all())

    @cached_property
    def same(self) -> bool:
        """Are the inner variables the caller's?"""
        return self.plain and self.unit in (0.0, 1.0)

    def rows(self, given: Rows) -> Rows:
        """Rows in the inner variables."""
        if self.same:
            if self.unit:
                return given.with_column()
            return given
        return given.framed(self.centre, self.scale, self.unit)

    def problem(self, p: Problem) -> Problem:
        """The same objective as a function of the inner variables."""
        if self.same:
            return p
        if p.in_parts:
            return p.in_frame(self)  # type: ignore[attr-defined,no-any-return]
        penalty = np.zeros(p.d + p.intercept)
        with np.errstate(over="ignore"):
            penalty[: p.d] = np.square(self.scale)
        penalty[np.isinf(penalty)] = 1.0  # only without l2: a ridge bounds the scale
        if p.penalty is not None:
            penalty[: p.d] *= p.penalty[: p.d]
        factors = None if (penalty == 1.0).all() else penalty
        return p.with_rows(self.rows(p.given), penalty=factors)

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
        if g.ndim == 1:
            outer = g / self._units
            if self.unit:
                outer[:-1] += self.centre * outer[-1]
            return outer
        outer = (g.T / self._units).T
        if self.unit:
            outer[:-1] += np.outer(self.centre, outer[-1])
        return outer

    @cached_property
    def measure(self) -> Frame:
        """The frame whose ``gradient_out`` measures gradients: that in the caller's variables, but
        columns of tiny size count as columns of size 1. Beside an intercept their gradient is less
        than its rounding."""
        tiny = self.scale > EXTREME
        if not tiny.any():
            return self
        centre = np.where(tiny, self.centre * self.scale, self.centre)
        return Frame(centre, np.where(tiny, 1.0, self.scale), self.unit)

    def measured(self, g: Array) -> Array:
        """A gradient in the caller's variables, as ``measure`` counts it."""
        factors = np.where(self.scale > EXTREME, self.scale, 1.0)
        outer = np.array(g)
        outer[: factors.size] = (g[: factors.size].T * factors).T
        return outer

    @cached_property
    def _units(self) -> Array:
        """What every variable is multiplied by."""
        if self.unit:
            return np.append(self.scale, self.unit)
        return self.scale

    def error_out(self, error: Array) -> Array:
        """Bounds on the errors of ``gradient_out(g)``, from bounds on the errors of g."""
        return np.asarray(replace(self, centre=np.abs(self.centre)).gradient_out(error))


class DenseColumns:
    """What some rows, evenly spread, say of the columns of dense rows.

    ``centre`` is where a column is centred (0 without an intercept), and ``spread2`` the mean
    square about it, 0 for a constant column. ``units``: numbers to multiply the columns by first.
    """

    def __init__(
        self,
        X: Array | Held,
        weight: Array | None,
        intercept: bool,
        units: Array | None,
        limits: ProblemLimits,
    ) -> None:
        self.X = X
        self.units = units
        self.intercept = intercept
        n, d = X.shape
        enough = limits.sample_numbers // max(1, d)
        most = min(limits.sample_rows, max(limits.sample_rows // 4, enough))
        self.step = -(-n // most)
        self.stride = np.full(d, self.step)  # of the rows that say what a column is like
        self.sample = np.asarray(X[:: self.step], dtype=np.float64)
        if units is not None:
            self.sample = self.sample * units
        weights = np.ones(len(self.sample)) if weight is None else weight[:: self.step]
        weights = weights / weights.sum()
        self.centre = np.zeros(d)
        if not intercept:
            self.spread2 = weights @ np.square(self.sample)
            return
        self.centre = weights @ self.sample
        if units is None and X.dtype == np.float32:  # x - centre may be in float32, too
            self.centre = self.centre.astype(np.float32).astype(np.float64)
        # In place: a second new array of 2,000 x 50 takes ten times as long as the arithmetic.
        apart = self.sample - self.centre
        self.spread2 = weights @ np.square(apart, out=apart)

    @property
    def usual(self) -> bool:
        """Can the columns be squared as they are?"""
        return bool(((self.spread2 > EXTREME**-2) & (self.spread2 < EXTREME**2)).all())

    @property
    def flat(self) -> Array:
        """Which columns are constant, as far as was looked."""
        return np.asarray(self.spread2 <= np.square(CONSTANT_SPREAD * self.centre))

    def look_at_more_rows(self, rare_rows: int) -> None:
        """A column that is constant in the sample is looked at in more rows, and then in all."""
        flat = self.flat
        for step in sorted({1, -(-self.X.shape[0] // rare_rows)}, reverse=True):
            if self.step > step and flat.any():
                self.stride[flat] = step
                more = np.asarray(self.X[::step, flat], dtype=np.float64)
                if self.units is not None:
                    more = more * self.units[flat]
                self.spread2[flat] = np.square(more - self.centre[flat]).mean(axis=0)
                flat = self.flat
        self.spread2[flat] = 0.0
        if self.intercept and flat.any():  # to the bit, so that a constant column becomes zero
            same = flat & (self.sample == self.sample[0]).all(axis=0)
            self.centre[same] = self.sample[0, same]

    def shares(self) -> Array:
        """The share of entries other than zero."""
        found: Array = np.count_nonzero(self.sample, axis=0) / self.sample.shape[0]
        for step in set(self.stride.tolist()) - {self.step}:
            more = self.X[::step, self.stride == step]
            found[self.stride == step] = np.count_nonzero(more, axis=0) / more.shape[0]
        return found


def _units(sample: Array, ridge: Array) -> Array:
    """Powers of two that bring columns of extreme size near 1; 1 for all other columns."""
    size = np.maximum(np.abs(sample).max(axis=0, initial=0.0), np.sqrt(ridge))
    extreme = (size > 0.0) & ~((size > 1.0 / EXTREME) & (size < EXTREME))
    exponent = np.frexp(np.where(extreme, size, 1.0))[1].clip(-1000, 1000)
    return np.where(extreme, np.ldexp(1.0, -exponent), 1.0)


def identity(p: Problem) -> Frame:
    """The problem's own variables."""
    return Frame(np.zeros(p.d), np.ones(p.d), float(p.intercept))


def _powers_of_two(sizes: Array) -> Array:
    """Rounded to powers of two: multiplying by them is exact, in float32 too."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded = np.exp2(np.rint(np.log2(sizes)))
    return np.where(np.isfinite(rounded) & (rounded > 0.0), rounded, sizes)


def _scales(spread2: Array, share: Callable[[], Array], ridge: Array) -> Array:
    """What to multiply columns by, given their mean squares and (asked for only where it matters)
    the share of their entries."""
    even = np.ones(spread2.size)
    if not np.isfinite(spread2).all():
        return even
    before = _uneven(spread2 + ridge)
    if not before > BETTER:  # which no scale makes better than 1
        return even
    shares = share()
    entry2 = np.divide(spread2, shares, where=shares > 0, out=np.zeros(even.size)) + ridge
    scale2 = np.divide(1.0, entry2, where=entry2 > 0, out=np.ones(even.size))
    if BETTER * _uneven((spread2 + ridge) * scale2) < before:
        return np.asarray(_powers_of_two(np.sqrt(scale2)))
    return even


def _uneven(diagonal: Array) -> float:
    """Its mean over its least entry, of those above zero."""
    if not diagonal.min(initial=np.inf) > 0.0:
        diagonal = diagonal[diagonal > 0.0]
    if not diagonal.size:
        return 1.0
    return float(np.add.reduce(diagonal)) / diagonal.size / float(diagonal.min())
