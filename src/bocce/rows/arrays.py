"""Rows of an array of another library, used on their device: a tensor on a GPU, for example.

Products with all rows are computed on the device, a block at a time. X is never copied as a whole;
an X that does not fit on the device stays on the host, and its blocks go to the device one after
the other. Sums over rows are float64 where the device has float64, whatever the type of X. Vectors
as long as w come from the host and go back to the host.

Columns may be centred and scaled and have a constant behind them (see ``Frame``): this is done to w
and to sums, so no row changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np

from .._types import Array, Foreign, Index
from .backend import Backend, detached, numpy_type, to_host
from .base import Rows, digest
from .limits import LIMITS, RowLimits

FAR_OFF = 4.0  # The most spreads that the centre of a float32 column may be from 0.


class Held:
    """Rows on the device."""

    most: int | None = None  # rows of a block; None where the device has room for any

    def __init__(self, X: Foreign, backend: Backend) -> None:
        self.X = X
        self.backend = backend
        self.shape = X.shape
        self.dtype = numpy_type(backend.real)

    def part(self, part: slice) -> Foreign:
        """Some rows, on the device."""
        return self.X[part, :]

    def picked(self, rows: Index) -> Foreign:
        """The rows with these numbers, on the device."""
        return self.backend.xp.take(self.X, self.backend.indices(rows), axis=0)

    def __getitem__(self, key: slice | tuple[slice, Array]) -> Array:
        """Some rows, or some rows and the columns of a mask, on the host."""
        if not isinstance(key, tuple):
            return to_host(self.X[key, :])
        columns = self.backend.indices(np.flatnonzero(key[1]))
        return to_host(self.backend.xp.take(self.X, columns, axis=1)[key[0], :])


class Ferried(Held):
    """Rows in the host's memory (or mapped from a file) that go to the device in blocks."""

    def __init__(self, X: Array, backend: Backend, most: int | None) -> None:
        super().__init__(X, backend)
        self.most = most or max(1, LIMITS.on_device // X.shape[1])

    def part(self, part: slice) -> Foreign:
        return self.backend.put(self.X[part], self.backend.real)

    def picked(self, rows: Index) -> Foreign:
        return self.backend.put(self.X[rows], self.backend.real)

    def __getitem__(self, key: slice | tuple[slice, Array]) -> Array:
        return np.asarray(self.X[key])


class ArrayRows(Rows):
    """n rows, with columns (x - centre) * scale, and ``unit`` behind them if it is not 0."""

    storage = "array"
    foreign = True

    def __init__(
        self,
        store: Held,
        centre: Array | None = None,
        scale: Array | None = None,
        unit: float = 0.0,
        limits: RowLimits = LIMITS,
    ) -> None:
        self.store = store
        self.limits = limits
        self.backend = store.backend
        self.X = store.X
        self.n, columns = (int(size) for size in store.X.shape)
        self.columns = columns
        self.d = columns + (unit > 0)
        if centre is None:
            self.centre = np.zeros(columns)
        else:
            self.centre = centre
        if scale is None:
            self.scale = np.ones(columns)
        else:
            self.scale = scale
        self.unit = unit
        self.dtype = numpy_type(self.backend.real)

    @classmethod
    def of(cls, X: Foreign, limits: RowLimits = LIMITS) -> ArrayRows:
        """The rows of an array of another library, as float32 or float64."""
        backend = Backend.of(X)
        return cls(Held(backend.to(backend.real, detached(X)), backend), limits=limits)

    @property
    def sampled(self) -> Held:
        return self.store

    @property
    def library(self) -> str:
        return f"{self.backend.name} "

    def framed(self, centre: Array, scale: Array, unit: float) -> ArrayRows:
        """The same rows in other variables."""
        return ArrayRows(self.store, centre, scale, unit, self.limits)

    def with_column(self) -> ArrayRows:
        return self.framed(self.centre, self.scale, 1.0)

    def take(self, rows: Index) -> ArrayRows:
        held = Held(self.store.picked(rows), self.backend)
        return ArrayRows(held, self.centre, self.scale, self.unit, self.limits)

    # -- blocks on the device --------------------------------------------------------------------

    def parts(self, outputs: int = 1) -> list[slice]:
        """The rows of each block; ``outputs``: numbers that are kept for a row."""
        step = max(1, self.limits.on_device // max(self.columns, outputs))
        step = min(step, self.store.most or step)
        return [slice(a, min(a + step, self.n)) for a in range(0, self.n, step)]

    @cached_property
    def moved(self) -> Foreign:
        """The centre on the device, where x - centre must be computed before the product: x is
        float32, and the difference of two products would lose its digits. Else None."""
        spread = FAR_OFF * (self.unit or 1.0)  # the intercept's unit is the largest column's
        if self.dtype == np.float64 or np.max(np.abs(self.centre * self.scale)) <= spread:
            return None
        return self._frame[0]

    def _plain(self, rows: slice | Index) -> Foreign:
        """Rows for a product, on the device."""
        if isinstance(rows, slice):
            X = self.store.part(rows)
        else:
            X = self.store.picked(rows)
        if self.moved is None:
            return X
        return X - self.moved

    def _made(self, X: Foreign) -> Foreign:
        """Rows in the variables: as they are, or an array of their own."""
        xp = self.backend.xp
        real = self.backend.real
        if self.centre.any() or (self.scale != 1.0).any():
            X = (X - self._frame[0]) * self._frame[1]
        if self.unit > 0:
            column = xp.full((X.shape[0], 1), self.unit, dtype=real, device=self.backend.device)
            X = xp.concat([X, column], axis=1)
        return X

    @cached_property
    def _frame(self) -> tuple[Foreign, Foreign]:
        """Centre and scale on the device."""
        put = self.backend.put
        real = self.backend.real
        return put(self.centre, real), put(self.scale, real)

    # -- products on the device ------------------------------------------------------------------

    def _into(self, w: Array) -> tuple[Foreign, Foreign]:
        """(v, a) on the device, so that the scores of w are X v + a."""
        inner = (self.scale * w[: self.columns].T).T
        if self.unit > 0:
            offset = self.unit * w[-1]
        else:
            offset = np.zeros(w.shape[1:])
        if self.moved is None:
            offset = offset - self.centre @ inner
        return self.backend.put(inner, self.backend.real), self.backend.put(offset)

    def _out(self, total: Array, slopes: Array) -> Array:
        """sum_i s_i x_i in the variables, from the sum of the plain rows and from sum_i s_i."""
        if self.moved is None:
            total = total - np.multiply.outer(self.centre, slopes)
        total = (self.scale * total.T).T
        if self.unit > 0:
            return np.concatenate([total, self.unit * slopes[None]])
        return total

    def scores(self, w: Array) -> Iterator[Foreign]:
        """X w on the device, a block at a time."""
        score = self._score_of(w)
        for part in self.parts(w[:1].size):
            yield score(self._plain(part))

    def _score_of(self, w: Array) -> Callable[[Foreign], Foreign]:
        """The function of plain rows that gives their scores."""
        v, offset = self._into(w)
        return lambda X: self.backend.to(self.backend.wide, X @ v) + offset

    def total(self, slopes: list[Foreign]) -> Array:
        """sum_i s_i x_i, of slopes on the device in the blocks of the scores."""
        parts = self.parts(math.prod(slopes[0].shape[1:]))
        return self._sum((self._plain(part), slope) for part, slope in zip(parts, slopes))

    def both(self, w: Array, slopes_at: Callable[[int, Foreign], Foreign]) -> Array:
        """sum_i s_i x_i where block j of the slopes is ``slopes_at(j, scores of w)``: every row
        goes to the device once."""
        score = self._score_of(w)
        blocks = (self._plain(part) for part in self.parts(w[:1].size))
        return self._sum((X, slopes_at(j, score(X))) for j, X in enumerate(blocks))

    def _sum(self, blocks: Iterable[tuple[Foreign, Foreign]]) -> Array:
        """sum_i s_i x_i of (rows, slopes): products in the type of X, sums in the widest type."""
        backend = self.backend
        x = 0.0
        s = 0.0
        for X, slope in blocks:
            x = x + backend.to(backend.wide, X.T @ backend.to(backend.real, slope))
            s = s + backend.xp.sum(slope, axis=0)
        return self._out(to_host(x).astype(np.float64), to_host(s).astype(np.float64))

    # -- the contract of ``Rows``: from the host, and back to it -----------------------------------

    def times(self, w: Array, rows: Index | None = None) -> Array:
        if rows is not None:
            return to_host(self._score_of(w)(self._plain(rows)))
        return np.concatenate([to_host(z) for z in self.scores(w)])

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        if rows is not None:
            return self._sum([(self._plain(rows), self.backend.put(c))])
        parts = self.parts(c[:1].size)
        return self._sum((self._plain(part), self.backend.put(c[part])) for part in parts)

    def _each(self, weights: Array | None = None) -> Iterator[Foreign]:
        """The rows in the variables, times the roots of the weights, a block at a time."""
        for part in self.parts():
            X = self._made(self.store.part(part))
            if weights is not None:
                X = X * self.backend.put(np.sqrt(weights[part])[:, None], self.backend.real)
            yield X

    @cached_property
    def norms2(self) -> Array:
        xp = self.backend.xp
        wide = self.backend.wide
        sums = [to_host(xp.sum(X * X, axis=1, dtype=wide)) for X in self._each()]
        return np.concatenate(sums).astype(np.float64)

    def squares(self, weights: Array | None = None) -> Array:
        xp = self.backend.xp
        total = np.zeros(self.d)
        for X in self._each(weights):
            total += to_host(xp.sum(X * X, axis=0, dtype=self.backend.wide))
        return total / self.n

    def column_moments(self, weights: Array | None = None) -> tuple[Array, Array]:
        mean = self.combine(np.ones(self.n) if weights is None else weights) / self.n
        return mean, self.framed(mean, np.ones(self.d), 0.0).squares(weights)

    def projections2(self, directions: Array) -> Array:
        xp = self.backend.xp
        return np.concatenate([to_host(xp.sum(z * z, axis=1)) for z in self.scores(directions)])

    def gram(self, weights: Array | None = None) -> Array:
        total: Foreign = 0.0
        for X in self._each(weights):
            total = total + self.backend.to(self.backend.wide, X.T @ X)
        return to_host(total).astype(np.float64) / self.n

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        """The rows on the host."""
        made = self._each() if rows is None else [self._made(self.store.picked(rows))]
        for X in made:
            yield to_host(X).astype(np.float64)

    def not_finite(self) -> int | None:
        """The first row that has NaN or infinity."""
        xp = self.backend.xp
        for part in self.parts():
            fine = xp.all(xp.isfinite(self.store.part(part)), axis=1)
            if not bool(xp.all(fine)):
                return int(part.start) + int(np.argmin(to_host(fine)))
        return None

    def fingerprint(self) -> str:
        """A hash of the frame and of the hashes of all blocks."""
        frame = np.concatenate([self.centre, self.scale, [self.unit]])
        said = [digest(to_host(self.store.part(part))) for part in self.parts()]
        return digest(frame, np.frombuffer("".join(said).encode(), dtype=np.uint8))
