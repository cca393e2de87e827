"""The fast engine: packs a problem for the compiled loop and calls it."""

from __future__ import annotations

import numpy as np

from ...problems import Look, Problem
from ...rows import Array
from ...schedules import Schedule
from ..base import Recorder, State
from . import loop, scaled
from .pack import at_vector, objective, pack
from .stream import make_stream

VERDICTS = ("", "diverged", "converged")


class CompiledEngine:
    """Takes steps with the Numba kernels; only min(b, n - b) rows where a Gram matrix fits.

    A run may be cut at multiples of ``grain``, and where it records, without changing a bit.
    """

    def __init__(self, problem: Problem, b: int, seed: int, mode: str) -> None:
        self.rows, self.objective = pack(problem), objective(problem)
        self.stream = make_stream(seed, problem.n, b, mode)
        d = problem.width
        at = at_vector(self.rows, d)
        self.point = loop.Point(
            np.zeros(d), np.zeros(d), at, np.zeros(at.size), np.zeros(at.size), np.zeros(0)
        )
        touched = b * problem.rows.cost / problem.n if problem.sparse else np.inf
        few = self.objective.odd.size <= scaled.MOST_ODD
        if few and 2 * b <= problem.n and touched < scaled.PAYS_BELOW * d:
            self.kernel, self.grain = scaled.advance_scaled, scaled.GRAIN
            self.scratch: tuple[Array, ...] = (
                np.zeros((d, 2)),
                np.zeros(b),
                np.zeros(scaled.MOST_ODD),
            )
        else:
            self.use_dense_update()

    def use_dense_update(self) -> None:
        """Change every coordinate at each step: what the sparse form is compared with."""
        n, b = self.objective.n, self.stream.b
        listed = 2 * b > n and not self.objective.has_gram
        self.kernel, self.grain = loop.advance, 1
        self.scratch = (np.zeros(n + 1 if listed else 1, dtype=np.int64),)

    def look(self, w: Array) -> Look:
        """The objective and its full gradient."""
        at, total, d = self.point.at, self.point.total, w.size
        at[:d] = w
        value, _ = loop.look(self.rows, self.objective, at, total, 1.0)
        return Look(float(value), total[:d] / self.objective.n + self.objective.ridge * w)

    def record(self, w: Array, recorder: Recorder) -> str:
        """Keep a measurement at w, to the bit what ``advance`` would record there."""
        self.point.at[: w.size] = w
        found = loop.look(
            self.rows, self.objective, self.point.at, self.point.total, 1.0 / recorder.unit
        )
        return recorder.keep_measured(float(found[0]), float(found[1]))

    def advance(self, state: State, steps: Schedule, stop: int, recorder: Recorder) -> str:
        """Steps state.k .. stop-1; returns "", "diverged" or "converged"."""
        point = self.point
        point.w[:], point.v[:] = state.w, state.v
        if state.tally is not None:
            point = point._replace(tally=state.tally.copy())
        k, verdict = self.kernel(
            self.rows,
            self.objective,
            self.stream,
            loop.Table(steps.alpha, steps.beta, steps.theta),
            point,
            loop.Record(
                recorder.when,
                recorder.grad2,
                recorder.value,
                recorder.cursor,
                recorder.limit2,
                recorder.goal2,
                1.0 / recorder.unit,
            ),
            state.k,
            state.row,
            stop,
            *self.scratch,
        )
        state.w, state.v = point.w.copy(), point.v.copy()
        state.row, state.k = state.row + int(k) - state.k, int(k)
        if state.tally is not None:
            state.tally = point.tally
        return VERDICTS[verdict]
