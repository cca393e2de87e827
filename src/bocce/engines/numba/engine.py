"""The fast engines: they pack a problem for the compiled loops and call them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...control import RunVerdict
from ...problems import Look, Problem
from ...rows import Array
from ...schedules import Schedule
from ..base import ANY, Goal, Recorder, State, StepReport, TableEngine
from . import loop, rule, scaled
from .pack import numbers_or_nothing, objective, pack
from .stream import make_stream

VERDICTS = (RunVerdict.RUNNING, RunVerdict.DIVERGED, RunVerdict.CONVERGED)


class _Packed(TableEngine):
    """A problem as the kernels want it, with room for a point."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rows = pack(problem)
        self.objective = objective(problem)
        d = problem.width
        w, v, at, g, total = np.zeros((5, d))
        self.point = loop.KernelPoint(w, v, at, g, total, np.zeros(0))

    def look(self, w: Array) -> Look:
        total = self.point.total
        self.point.at[:] = w
        value, _ = loop.measure_rows(self.rows, self.objective, self.point.at, total, 1.0)
        return Look(float(value), total / self.objective.n + self.objective.ridge * w)

    def record(self, w: Array, recorder: Recorder) -> RunVerdict:
        self.point.at[:] = w
        at = self.point.at
        total = self.point.total
        value, grad2 = loop.measure_rows(self.rows, self.objective, at, total, 1.0 / recorder.unit)
        return recorder.keep(Look(float(value), total), float(grad2))

    def _start(self, state: State) -> loop.KernelPoint:
        point = self.point
        point.w[:] = state.w
        point.v[:] = state.v
        if state.tally is None:
            return point
        return point._replace(tally=state.tally.copy())

    def _end(self, state: State, point: loop.KernelPoint, k: int) -> None:
        state.move(point.w.copy(), point.v.copy(), int(k) - state.k, point.tally)


def _record(recorder: Recorder) -> loop.KernelRecord:
    return loop.KernelRecord(
        recorder.when,
        recorder.grad2,
        recorder.value,
        recorder.cursor,
        recorder.limit2,
        recorder.goal2,
        1.0 / recorder.unit,
    )


class CompiledEngine(_Packed):
    """Takes steps with the Numba kernels; only min(b, n - b) rows where a Gram matrix fits.

    A run may be cut at multiples of ``grain``, and where it records, without changing a bit.
    """

    def __init__(self, problem: Problem, b: int, seed: int, mode: str) -> None:
        super().__init__(problem)
        self.stream = make_stream(seed, problem.n, b, mode)
        d = problem.width
        if problem.sparse:
            touched = b * problem.rows.cost / problem.n
        else:
            touched = np.inf
        few = self.objective.odd.size <= scaled.MOST_ODD
        if few and 2 * b <= problem.n and touched < scaled.PAYS_BELOW * d:
            self.kernel = scaled.advance_scaled
            self.grain = scaled.GRAIN
            self.scratch: Any = scaled.make_form(d, b)
        else:
            self.use_dense_update()

    def use_dense_update(self) -> None:
        """Change every coordinate at each step: what the sparse form is compared with."""
        n = self.objective.n
        b = self.stream.b
        listed = 2 * b > n and not self.objective.has_gram
        self.kernel = loop.advance
        self.grain = 1
        self.scratch = np.zeros(n + 1 if listed else 1, dtype=np.int64)

    def advance(
        self, state: State, steps: Schedule, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        point = self._start(state)
        k, verdict = self.kernel(
            self.rows,
            self.objective,
            self.stream,
            loop.KernelTable(steps.alpha, steps.beta, steps.theta),
            point,
            _record(recorder),
            state.k,
            state.row,
            stop,
            self.scratch,
        )
        self._end(state, point, k)
        return StepReport(VERDICTS[verdict])


class RuleEngine(_Packed):
    """Takes the steps of a policy, whose rule is compiled with the kernel."""

    grain = 1

    def __init__(self, problem: Problem, b: int, seed: int, mode: str) -> None:
        super().__init__(problem)
        n = problem.n
        self.streams = {
            "same": make_stream(seed, n, b, mode),
            "independent": make_stream(seed, n, b, "search"),
        }
        self.quadratic = problem.loss.quadratic
        z, u, slope, before, score, after = np.zeros((6, b))
        batch = np.zeros(b, dtype=np.int64)
        self.lot = rule.Lot(
            batch, z, u, slope, before, score, after, numbers_or_nothing(problem.weight)
        )

    def advance(
        self, state: State, steps: Any, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        point = self._start(state)
        memory = state.memory.get("policy", steps.begin())
        k, verdict, memory = rule.advance(
            steps.rule,
            self.rows,
            self.objective,
            self.quadratic,
            self.streams["same"],
            self.streams[steps.search],
            steps.search != "same",
            self.lot,
            point,
            _record(recorder),
            state.k,
            state.row,
            stop,
            tuple(map(float, memory)),
        )
        self._end(state, point, k)
        state.memory["policy"] = np.array(memory)
        return StepReport(VERDICTS[verdict])
