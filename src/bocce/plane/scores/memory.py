"""The scores of rows in memory, with one output or several.

Scores of w and of the directions are kept. With one output the derivatives of all rows are kept as
well. With several outputs the derivatives are n x K numbers each, so they are computed for a part
of the rows at a time and forgotten. If even the scores are too many, they are computed from X
whenever they are needed (``RecomputedScores``).

With a good metric a step ends near where Newton's method says. Where reading X is expensive (files,
Ray workers) the gradient at that point is computed together with the scores of the direction, a
block of rows at a time: rows are read once a step instead of twice. If the step ends elsewhere, a
second pass computes the gradient there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._types import Array
from ...problems import Problem
from ...rows import Rows
from ..linalg import largest
from ..parts import LIMITS, PartLimits, parts_of, slices
from .base import EPS, Evaluation, Scores

ROUNDING = 8.0 * EPS  # The relative rounding error of a mean over blocks, and of its scores.


class MemoryScores(Scores):
    """z = X w, U = X D, and the derivatives of the loss where the last evaluation was.

    ``places`` are the blocks of rows on which element-wise functions are computed; ``kept`` is
    whether slopes, and the point last tried, are kept for all rows. ``total`` is X^T slope at the
    last evaluation, if known; ``guessed`` is X^T slope at ``guess`` times direction 0.
    """

    def __init__(
        self,
        problem: Problem,
        memory: int,
        outputs: tuple[int, ...],
        limits: PartLimits = LIMITS,
    ) -> None:
        self.limits = limits
        self._know(problem, outputs, problem.y, problem.weight)
        self.parts = parts_of(self.rows, sum(outputs), limits)
        self.places = [part.place for part in self.parts]
        if not outputs:
            self.places = slices(self.n, limits.block)
        self._make_room(memory, self.rows.dtype if outputs else np.dtype(np.float64))

    def _know(
        self, problem: Problem, outputs: tuple[int, ...], y: Array, weight: Array | None
    ) -> None:
        self.problem = problem
        self.rows = problem.rows
        self.n = int(problem.n)
        self.loss = problem.loss
        self.y = y
        self.weight = weight
        self.shape = (self.n, *outputs)
        # what a squared score counts in the scale of an evaluation
        self.rounding = 0.5 * ROUNDING * (problem.loss.curvature or 0.0)
        self.c: Array | None = None  # the last evaluation was at z + c U
        self._forget()

    def _forget(self) -> None:
        self.guess = 0.0
        self.guessed: Array | None = None
        self.total: Array | None = None

    def _make_room(self, memory: int, dtype: np.dtype[Any]) -> None:
        self.kept = len(self.parts) == 1
        self.eps = float(np.finfo(dtype).eps)
        self.z, self.U = np.empty(self.shape), np.zeros((memory + 1, *self.shape), dtype=dtype)
        if self.kept:
            room = self.shape
        else:
            room = (self.places[0].stop, *self.shape[1:])
        # the point last tried, the way there, and the slopes: of all rows, or of the last block
        self.tried = np.empty(room)
        self.moved = np.empty(room)
        self.slope = np.empty(self.shape if self.kept else 0)
        self.bend = np.empty(self.n if len(self.shape) == 1 else 0)

    def _room(self, place: slice) -> slice:
        """Where in these arrays the rows of a block are."""
        if self.kept:
            return place
        return slice(place.stop - place.start)

    # -- evaluations ---------------------------------------------------------------------------

    def start(self, w: Array) -> Evaluation:
        self._forget()
        for part in self.parts:
            if w.any():
                products = part.rows.times(w)
            else:
                products = np.zeros(())
            self.z[part.place] = self.problem.shifted(products, part.place)
        return self.look()

    def look(self) -> Evaluation:
        return self._evaluate(None)

    def try_step(self, c: Array) -> Evaluation:
        return self._evaluate(c)

    def _evaluate(self, c: Array | None) -> Evaluation:
        if c is not None and c[0] == self.guess and not c[1:].any():
            self.total = self.guessed
        elif c is not None or self.c is not None:
            self.total = None
        self.c = c
        self.max_change = 0.0
        sums = []
        plane = np.zeros(0 if c is None else c.size)
        for place in self.places:
            z = self._move(place)
            sums.append(self._derive(z, place))
            if c is not None:
                plane += self._along(place, self.slope[self._room(place)])
        return self._mean(sums, plane)

    def _mean(self, sums: list[tuple[float, float]], plane: Array) -> Evaluation:
        value, size = (math.fsum(column) / self.n for column in zip(*sums))
        return Evaluation(value, size, plane / self.n)

    def _along(self, place: slice, slope: Array) -> Array:
        """What a block adds to the gradient in c."""
        assert self.c is not None
        U = self.U[: self.c.size, place].reshape(self.c.size, -1)
        return np.asarray(np.dot(U, slope.reshape(-1)))

    def _move(self, place: slice) -> Array:
        """The scores of a block at z + c U."""
        z = self.z[place]
        c = self.c
        if c is None:
            return z
        room = self._room(place)
        U = self.U[: c.size, place]
        moved = self.moved[room]
        np.dot(c, U.reshape(c.size, -1), out=moved.reshape(-1))
        self.max_change = max(self.max_change, largest(moved))
        return np.add(z, moved, out=self.tried[room])

    def _derive(self, z: Array, place: slice) -> tuple[float, float]:
        """The sum of the losses of a block, and its part of ``Evaluation.scale``; slopes and second
        derivatives are kept."""
        value, slope, bend = self.loss.value_slope_bend(z, self.y[place])
        if self.weight is not None:
            c = self.weight[place]
            value = value * c
            slope = (slope.T * c).T
            bend = bend * c if self.bend.size else bend
        if self.kept:
            self.slope[place] = slope
        else:
            self.slope = slope
        if self.bend.size:
            self.bend[place] = bend
        total = float(np.add.reduce(value))
        if np.minimum.reduce(value) >= 0.0:
            size = total
        else:
            size = float(np.add.reduce(np.abs(value)))
        flat = slope.reshape(-1)
        scores = z.reshape(-1)
        scores2 = float(scores @ scores)
        size += self.rounding * scores2
        return total, size + math.sqrt(float(flat @ flat)) * math.sqrt(scores2)

    # -- directions ----------------------------------------------------------------------------

    def _blocks(self, small: bool) -> Iterable[tuple[slice, Rows]]:
        """All rows, in blocks; ``small``: a block fits into the cache."""
        if small:
            return parts_of(self.rows, math.prod(self.shape[1:]), self.limits)
        return self.parts

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        most = 0.0
        total = np.zeros(d.shape)
        for place, rows in self._blocks(likely_step != 0.0):
            u = rows.times(d)
            self.U[slot, place] = u
            most = max(most, largest(u))
            if likely_step:
                slope = self.loss.slope(self.z[place] + likely_step * u, self.y[place])
                total += rows.combine(self.problem.weighted(slope, place))
        if slot == 0:
            self.guess = likely_step
            self.guessed = total if likely_step else None
        return most

    def scale_direction(self, slot: int, factor: float) -> None:
        self.U[slot] /= factor
        self.guess *= 1.0 if slot else factor

    def accept(self, slot: int, factor: float) -> None:
        if self.kept:
            self.z, self.tried = self.tried, self.z
            if slot:
                np.divide(self.moved, factor, out=self.U[slot])
        else:
            for place in self.places:
                self.z[place], room = self._move(place), self._room(place)
                if slot:
                    self.U[slot, place] = self.moved[room] / factor
        self.c = self.guessed = None

    def scores(self, place: slice) -> Array:
        """x_i . w of some rows, where the last evaluation was."""
        if self.c is None or self.kept:
            if self.c is None:
                return self.z[place]
            return self.tried[place]
        return self._move(place)

    def directions(self, place: slice, slots: slice) -> Array:
        """U[slots] of some rows."""
        return self.U[slots, place]

    def curvature(self, k: int, slot: int | None = None) -> Array:
        total = np.zeros(())
        for place in self.places:
            U = self.directions(place, slice(k))
            if slot is None:
                V = U
            else:
                V = self.directions(place, slice(slot, slot + 1))
            if self.bend.size:
                total = total + np.dot(U, (V * self.bend[place]).T)
                continue
            if self.weight is None:
                c = None
            else:
                c = self.weight[place]
            total = total + self.loss.bend_products(self.scores(place), self.y[place], c, U, V)
        return np.asarray(total, dtype=np.float64) / self.n

    # -- sums over rows ------------------------------------------------------------------------

    def gradient(self) -> Array:
        if self.total is None:
            total = np.zeros(self.problem.shape)
            for part in self.parts:
                if not self.kept:
                    self._derive(self.scores(part.place), part.place)
                total += part.rows.combine(self.slope[self._room(part.place)])
            self.total = total
        return self.total

    def row_curvature(self) -> Array:
        if self.bend.size:
            return self.bend
        return np.concatenate(list(map(self._bends, self.places)))

    def _bends(self, place: slice) -> Array:
        if self.bend.size:
            return self.bend[place]
        bend = np.asarray(self.loss.bend(self.scores(place), self.y[place]).mean(axis=1))
        if self.weight is None:
            return bend
        return bend * self.weight[place]

    def max_score(self) -> float:
        return largest(self.z)

    def state_dict(self, k: int) -> dict[str, Array]:
        if self.total is None:
            known = {}
        else:
            known = {"total": self.total.copy()}
        return {"z": self.z.copy(), "U": self.U[1:k].copy(), **known}

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self.z[...] = state["z"]
        self.U[1 : len(D) + 1] = state["U"]
        self.c = None
        if "total" in state:
            self.total = np.array(state["total"])
        else:
            self.total = None


class RecomputedScores(MemoryScores):
    """Only w and D are kept: their scores are products with X, made when they are asked for."""

    def _make_room(self, memory: int, dtype: np.dtype[Any]) -> None:
        self.kept = False
        self.bend = np.empty(0)
        shape = (int(self.rows.d), *self.shape[1:])
        self.w = np.zeros(shape)
        self.D = np.zeros((memory + 1, *shape))
        # D c and w + D c, where the last evaluation was
        self.step = self.w
        self.point = self.w
        self.max_scores = np.zeros(memory + 1)  # the largest entries of X D

    @staticmethod
    def needed(problem: Problem, memory: int, most_bytes: int) -> bool:
        """Would the scores that ``MemoryScores`` keep have more bytes?"""
        size = 8 + (memory + 1) * problem.rows.dtype.itemsize
        return int(problem.n) * math.prod(problem.shape[1:]) * size > most_bytes

    def start(self, w: Array) -> Evaluation:
        self.w = w.copy()
        return self.look()

    def _evaluate(self, c: Array | None) -> Evaluation:
        self.point = self.w
        self.total = None
        if c is not None:
            self.step = (c @ self.D[: c.size].reshape(c.size, -1)).reshape(self.w.shape)
            self.point = self.w + self.step
        found = super()._evaluate(c)
        if c is None:
            self.max_change = 0.0
        else:
            self.max_change = float(np.abs(c) @ self.max_scores[: c.size])
        return found

    def scores(self, place: slice) -> Array:
        return self.rows.part(place).times(self.point)

    def _move(self, place: slice) -> Array:
        return self.scores(place)

    def _along(self, place: slice, slope: Array) -> Array:
        assert self.c is not None
        total = self.rows.part(place).combine(slope)
        if self.total is None:
            self.total = total
        else:
            self.total = self.total + total
        return np.asarray(self.D[: self.c.size].reshape(self.c.size, -1) @ total.reshape(-1))

    def directions(self, place: slice, slots: slice) -> Array:
        rows = self.rows.part(place)
        return np.stack([rows.times(d) for d in self.D[slots]])

    def add_direction(self, slot: int, d: Array, likely_step: float = 0.0) -> float:
        self.D[slot] = d
        self.max_scores[slot] = max(largest(part.rows.times(d)) for part in self.parts)
        return float(self.max_scores[slot])

    def scale_direction(self, slot: int, factor: float) -> None:
        self.D[slot] /= factor
        self.max_scores[slot] /= factor

    def accept(self, slot: int, factor: float) -> None:
        self.w = self.point
        self.c = None
        if slot:
            self.D[slot] = self.step / factor
            self.max_scores[slot] = self.max_change / factor

    def max_score(self) -> float:
        return math.inf

    def state_dict(self, k: int) -> dict[str, Array]:
        return {"far": self.max_scores.copy()}

    def load_state_dict(self, state: dict[str, Array], w: Array, D: Array) -> None:
        self.w = self.point = w.copy()
        self.max_scores = np.array(state["far"])
        self.c = None
        self.D[1 : len(D) + 1] = D
