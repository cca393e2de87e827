"""Rows of an array of another library, used where they lie: a tensor on a GPU, for example.

Products with all rows are made on the device, a block at a time: X is never copied as a whole, and
where it does not fit on the device its blocks are brought there one after the other. Sums over rows
are float64 where the device has it, whatever the type of X. Vectors as long as w come from the host
and go back to it.

Columns may be centred and scaled and have a constant behind them (see ``Frame``): that is done to
w, and to sums, so no row changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from .._types import Array, Foreign, Index
from .backend import Backend, numpy_type, to_host
from .base import Rows, digest

NUMBERS = 1 << 24  # of X, or of its scores, in a block
FAR_OFF = 4.0  # spreads that a centre may be from 0 where rounding is coarse


class RowStore(Protocol):
    """Where rows are had from."""

    X: Foreign
    backend: Backend
    most: int | None  # rows of a block; None where the device has room for any

    def part(self, part: slice) -> Foreign:
        """Some rows, on the device."""

    def picked(self, rows: Index) -> Foreign:
        """Those rows, on the device."""

    def seen(self, rows: slice, columns: Index | None) -> Array:
        """Some rows and columns, on the host."""


class Held:
    """Rows on the device."""

    def __init__(self, X: Foreign, backend: Backend) -> None:
        self.X, self.backend = X, backend
        self.most: int | None = None

    def part(self, part: slice) -> Foreign:
        return self.X[part, :]

    def picked(self, rows: Index) -> Foreign:
        return self.backend.xp.take(self.X, self.backend.indices(rows), axis=0)

    def seen(self, rows: slice, columns: Index | None) -> Array:
        X = self.X
        if columns is not None:
            X = self.backend.xp.take(X, self.backend.indices(columns), axis=1)
        return to_host(X[rows, :])


class Ferried:
    """Rows in the host's memory (or mapped from a file), brought to the device in blocks."""

    def __init__(self, X: Array, backend: Backend, most: int | None) -> None:
        self.X, self.backend = X, backend
        self.most: int | None = most or max(1, NUMBERS // X.shape[1])

    def part(self, part: slice) -> Foreign:
        return self.backend.put(self.X[part], self.backend.real)

    def picked(self, rows: Index) -> Foreign:
        return self.backend.put(self.X[rows], self.backend.real)

    def seen(self, rows: slice, columns: Index | None) -> Array:
        return np.asarray(self.X[rows] if columns is None else self.X[rows, columns])


class ArrayRows(Rows):
    """n rows in a ``RowStore``, with columns (x - centre) * scale, and ``unit`` behind if not 0."""

    foreign = True

    def __init__(
        self,
        store: RowStore,
        centre: Array | None = None,
        scale: Array | None = None,
        unit: float = 0.0,
    ) -> None:
        self.store, self.backend, self.X = store, store.backend, store.X
        self.n, columns = (int(size) for size in store.X.shape)
        self.columns, self.d = columns, columns + (unit > 0)
        self.centre = np.zeros(columns) if centre is None else centre
        self.scale = np.ones(columns) if scale is None else scale
        self.unit = unit
        self.dtype = numpy_type(self.backend.real)

    @classmethod
    def of(cls, X: Foreign) -> ArrayRows:
        """The rows of an array of another library, as float32 or float64."""
        backend = Backend.of(X)
        return cls(Held(backend.to(backend.real, getattr(X, "detach", lambda: X)()), backend))

    @property
    def library(self) -> str:
        """Its name, to be shown."""
        return f"{self.backend.name} "

    def framed(self, centre: Array, scale: Array, unit: float) -> ArrayRows:
        """The same rows in other variables."""
        return ArrayRows(self.store, centre, scale, unit)

    def with_column(self) -> ArrayRows:
        return self.framed(self.centre, self.scale, 1.0)

    def take(self, rows: Index) -> ArrayRows:
        held = Held(self.store.picked(rows), self.backend)
        return ArrayRows(held, self.centre, self.scale, self.unit)

    # -- blocks on the device --------------------------------------------------------------------

    def parts(self, outputs: int = 1) -> list[slice]:
        """The blocks; ``outputs``: numbers that are kept for a row."""
        step = max(1, NUMBERS // max(self.columns, outputs))
        step = min(step, self.store.most or step)
        return [slice(a, min(a + step, self.n)) for a in range(0, self.n, step)]

    @cached_property
    def moved(self) -> Foreign:
        """The centre on the device, where x - centre must be formed before it is multiplied: x is
        float32, and the difference of two products would lose its digits. Else None."""
        spread = FAR_OFF * (self.unit or 1.0)  # the intercept's unit is the largest column's
        if self.dtype == np.float64 or np.max(np.abs(self.centre * self.scale)) <= spread:
            return None
        return self._frame[0]

    def _plain(self, X: Foreign) -> Foreign:
        """Rows that are to be multiplied."""
        return X if self.moved is None else X - self.moved

    def _made(self, X: Foreign) -> Foreign:
        """Rows in the variables: as they are, or an array of their own."""
        xp, real = self.backend.xp, self.backend.real
        if self.centre.any() or (self.scale != 1.0).any():
            X = (X - self._frame[0]) * self._frame[1]
        if self.unit > 0:
            column = xp.full((X.shape[0], 1), self.unit, dtype=real, device=self.backend.device)
            X = xp.concat([X, column], axis=1)
        return X

    @cached_property
    def _frame(self) -> tuple[Foreign, Foreign]:
        """Centre and scale on the device."""
        put, real = self.backend.put, self.backend.real
        return put(self.centre, real), put(self.scale, real)

    # -- products on the device ------------------------------------------------------------------

    def _into(self, w: Array) -> tuple[Foreign, Foreign]:
        """(v, a) on the device, so that the scores of w are X v + a."""
        inner = (self.scale * w[: self.columns].T).T
        offset = self.unit * w[-1] if self.unit > 0 else np.zeros(w.shape[1:])
        if self.moved is None:
            offset = offset - self.centre @ inner
        return self.backend.put(inner, self.backend.real), self.backend.put(offset)

    def _out(self, total: Array, slopes: Array) -> Array:
        """sum_i s_i x_i in the variables, from that of the plain rows and from sum_i s_i."""
        if self.moved is None:
            total = total - np.multiply.outer(self.centre, slopes)
        total = (self.scale * total.T).T
        return np.concatenate([total, self.unit * slopes[None]]) if self.unit > 0 else total

    def scores(self, w: Array) -> Iterator[Foreign]:
        """X w on the device, a block at a time."""
        v, offset = self._into(w)
        for part in self.parts(w[:1].size):
            yield self._score(self._plain(self.store.part(part)), v, offset)

    def _score(self, X: Foreign, v: Foreign, offset: Foreign) -> Foreign:
        return self.backend.to(self.backend.wide, X @ v) + offset

    def total(self, slopes: list[Foreign]) -> Array:
        """sum_i s_i x_i, of slopes on the device that lie in blocks as scores do."""
        parts = self.parts(math.prod(slopes[0].shape[1:]))
        adding = _Sum(self)
        for part, slope in zip(parts, slopes):
            adding.add(self._plain(self.store.part(part)), slope)
        return adding.result()

    def both(self, w: Array, slopes_at: Callable[[int, Foreign], Foreign]) -> Array:
        """sum_i s_i x_i where block j of the slopes is ``slopes_at(j, scores of w)``: rows are
        brought to the device once."""
        v, offset = self._into(w)
        adding = _Sum(self)
        for j, part in enumerate(self.parts(w[:1].size)):
            X = self._plain(self.store.part(part))
            adding.add(X, slopes_at(j, self._score(X, v, offset)))
        return adding.result()

    # -- what is asked of all rows: from the host, and back to it ----------------------------------

    def times(self, w: Array, rows: Index | None = None) -> Array:
        if rows is not None:
            v, offset = self._into(w)
            return to_host(self._score(self._plain(self.store.picked(rows)), v, offset))
        return np.concatenate([to_host(z) for z in self.scores(w)])

    def combine(self, c: Array, rows: Index | None = None) -> Array:
        adding = _Sum(self)
        if rows is not None:
            adding.add(self._plain(self.store.picked(rows)), self.backend.put(c))
            return adding.result()
        for part in self.parts(c[:1].size):
            adding.add(self._plain(self.store.part(part)), self.backend.put(c[part]))
        return adding.result()

    def _each(self) -> Iterator[tuple[slice, Foreign]]:
        for part in self.parts():
            yield part, self._made(self.store.part(part))

    @cached_property
    def norms2(self) -> Array:
        xp, wide = self.backend.xp, self.backend.wide
        sums = [to_host(xp.sum(X * X, axis=1, dtype=wide)) for _, X in self._each()]
        return np.concatenate(sums).astype(np.float64)

    def squares(self, weights: Array | None = None) -> Array:
        xp, total = self.backend.xp, np.zeros(self.d)
        for part, X in self._each():
            if weights is not None:
                X = X * self._roots(weights[part])
            total += to_host(xp.sum(X * X, axis=0, dtype=self.backend.wide))
        return total / self.n

    def column_moments(self, weights: Array | None = None) -> tuple[Array, Array]:
        mean = self.combine(np.ones(self.n) if weights is None else weights) / self.n
        return mean, self.framed(mean, np.ones(self.d), 0.0).squares(weights)

    def _roots(self, weights: Array) -> Foreign:
        return self.backend.put(np.sqrt(weights)[:, None], self.backend.real)

    def projections2(self, directions: Array) -> Array:
        xp = self.backend.xp
        return np.concatenate([to_host(xp.sum(z * z, axis=1)) for z in self.scores(directions)])

    def gram(self, weights: Array | None = None) -> Array:
        total: Foreign = 0.0
        for part, X in self._each():
            if weights is not None:
                X = X * self._roots(weights[part])
            total = total + self.backend.to(self.backend.wide, X.T @ X)
        return to_host(total).astype(np.float64) / self.n

    # -- the rows themselves -----------------------------------------------------------------------

    def blocks(self, rows: Index | None = None) -> Iterator[Array]:
        """On the host: for what is computed there."""
        if rows is not None:
            yield to_host(self._made(self.store.picked(rows))).astype(np.float64)
            return
        for _, X in self._each():
            yield to_host(X).astype(np.float64)

    @property
    def seen(self) -> HostView:
        """The rows that were given, as NumPy would show them."""
        return HostView(self.store)

    def not_finite(self) -> int | None:
        """The first row that has NaN or infinity."""
        xp = self.backend.xp
        for part in self.parts():
            fine = xp.all(xp.isfinite(self.store.part(part)), axis=1)
            if not bool(xp.all(fine)):
                return int(part.start) + int(np.argmin(to_host(fine)))
        return None

    def fingerprint(self) -> str:
        """A block at a time, for they may be many."""
        frame = np.concatenate([self.centre, self.scale, [self.unit]])
        said = [digest(to_host(self.store.part(part))) for part in self.parts()]
        return digest(frame, np.frombuffer("".join(said).encode(), dtype=np.uint8))


class _Sum:
    """sum_i s_i x_i, block by block: products in the type of X, added up in the widest."""

    def __init__(self, rows: ArrayRows) -> None:
        self.rows, self.backend = rows, rows.backend
        self.x: Foreign = 0.0
        self.s: Foreign = 0.0

    def add(self, X: Foreign, slope: Foreign) -> None:
        backend = self.backend
        self.x = self.x + backend.to(backend.wide, X.T @ backend.to(backend.real, slope))
        self.s = self.s + backend.xp.sum(slope, axis=0)

    def result(self) -> Array:
        x, s = (to_host(total).astype(np.float64) for total in (self.x, self.s))
        return self.rows._out(x, s)


class HostView:
    """What a look at an array's rows and columns gives: on the host."""

    def __init__(self, store: RowStore) -> None:
        self.store, self.shape = store, store.X.shape

    def __getitem__(self, key: slice | tuple[slice, Array]) -> Array:
        if isinstance(key, tuple):
            return self.store.seen(key[0], np.flatnonzero(key[1]))
        return self.store.seen(key, None)
