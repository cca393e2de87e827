"""The last phase of a run to a tolerance: accelerated steps on all rows, momentum restarted.

Where a d x d matrix can be had the steps are taken in variables in which the Hessian is about the
identity (``engines.whole``), otherwise in those of the problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import engines
from .policies import anytime
from .policies.guard import MOST_RETREATS
from .problems import LinearProblem

CHECK_EVERY = 8  # full-batch steps between looks at f
MOST_STALLS = 25
HESSIAN_FLOPS = 3e8  # of more rows a sample is enough: it only chooses the metric


class Measured(NamedTuple):
    w: np.ndarray
    value: float
    grad2: float


class Finish:
    """What ``course.Course`` is in its full-batch phase; the fields are set there."""

    p: LinearProblem
    some: Any  # p, or p on a sample of its rows
    plan: anytime.Course
    engine: Any
    table: Any

    w: np.ndarray
    v: np.ndarray
    best_w: np.ndarray
    best_g: np.ndarray
    anchor: np.ndarray
    k: int
    evaluations: int
    start: int
    end: int
    j: int
    stalls: int
    restarts: int
    doubts: int
    retreats: int
    stage_value: float
    best_value: float
    best_grad2: float
    anchor_grad2: float
    goal2: float
    slack: float
    history: list[tuple[float, float, float, float]]

    def _record(self, tell: Callable[..., bool], w: np.ndarray, value: float, grad2: float) -> bool:
        self.history.append((self.k, value, grad2, self.evaluations))
        known = w is self.best_w and self.best_g.size > 0
        return tell(self.k, w, grad2, value, self.best_g if known else None)

    def _measure(self, w: np.ndarray) -> Measured:
        return Measured(w, *self.engine.measure(w))

    def _better(self, a: Measured, value: float, grad2: float) -> bool:
        """A smaller f, or where that is rounding, a smaller gradient."""
        if abs(a.value - value) <= self.slack:
            return a.grad2 < grad2
        return a.value < value

    def _keep(self, point: Measured) -> None:
        if self._better(point, self.best_value, self.best_grad2):
            self._set_best(point)

    def _set_best(self, point: Measured, g: np.ndarray | None = None) -> None:
        self.best_w, self.best_value, self.best_grad2 = point.w.copy(), point.value, point.grad2
        self.best_g = np.zeros(0) if g is None else g

    def _converged(self, point: Measured) -> bool:
        if point.grad2 > self.goal2:
            return False
        self._set_best(point)
        return True

    def _retreat(self) -> str:
        """The guard: back to the best point, at rest, with constants doubled."""
        if self.retreats >= MOST_RETREATS:
            return "diverged"
        self.retreats += 1
        self.plan.doublings += 1
        self._restart_from(self.best_w, self.best_value)
        return ""

    def _restart_from(self, w: np.ndarray, value: float) -> None:
        self.w, self.v, self.j = w.copy(), np.zeros(self.p.d), 0
        self.stage_value = value
        self.start = self.end = self.k

    def _whole(self, tell: Callable[..., bool], steps: int) -> str:
        """A few accelerated steps on all rows; momentum starts anew where f rises."""
        if self.table is None or self.table.T != anytime.RAMP:
            self.table = self.plan.ramp()
        if self.j + steps > self.table.T:
            self.j = self.table.T // 2
        nobody = engines.Recorder(np.zeros(0, dtype=np.int64), math.inf, -1.0)
        state = engines.State(self.w, self.v, self.j)
        verdict = self.engine.advance(state, self.table, self.j + steps, nobody)
        taken = state.k - self.j
        self.k, self.evaluations = self.k + taken, self.evaluations + taken * self.p.n
        point = self._measure(state.w)
        if verdict == "diverged" or not point.value <= self.stage_value + self.slack:
            return self._step_back()
        stalled = self.stage_value - point.value <= self.slack and point.grad2 >= self.best_grad2
        self.stalls = self.stalls + 1 if stalled else 0
        self.w, self.v, self.j, self.stage_value = state.w, state.v, state.k, point.value
        self.start = self.end = self.k
        self._keep(point)
        met = self._converged(point)
        if self._record(tell, self.best_w, self.best_value, self.best_grad2):
            return "stopped"
        if met:
            return "converged"
        return "stalled" if self.stalls > MOST_STALLS else ""

    def _step_back(self) -> str:
        """f rose: without momentum from the last check; without even that, the step is too long."""
        self.restarts += 1
        fresh = self.j < CHECK_EVERY
        value = self.stage_value
        if fresh and self.restarts > 1:
            verdict = self._retreat()
            self.table = None
            return verdict
        self._restart_from(self.w, value)
        return ""

    def _polish(self, tell: Callable[..., bool]) -> str:
        """One step on all rows where the Hessian at ``anchor`` is the identity.

        A point where f is higher than at the last one is not kept, so nothing rests on the metric.
        """
        if not self.anchor.size:
            self._anchor_at(self.w)
        alpha, beta = self.plan.whitened(self.j)
        at = self.w + beta * self.v
        value, g = self.engine.look(at)
        point = Measured(at, value, float(g @ g))
        self.k, self.evaluations = self.k + 1, self.evaluations + self.p.n
        self.start = self.end = self.k
        if not point.value <= self.stage_value + self.slack:
            return self._polish_again()
        stalled = self.stage_value - value <= self.slack and point.grad2 >= self.best_grad2
        self.stalls = self.stalls + 1 if stalled else 0
        self.stage_value = value
        met = point.grad2 <= self.goal2
        if met or self.j == 0 or self._better(point, self.best_value, self.best_grad2):
            self._set_best(point, g)
        if not met:
            self._advance_whitened(g, alpha, beta)
            if self.j % anytime.ANEW == 0:
                self._judge_metric()
        if self._record(tell, self.best_w, self.best_value, self.best_grad2):
            return "stopped"
        if met:
            return "converged"
        return "stalled" if self.stalls > MOST_STALLS else ""

    def _advance_whitened(self, g: np.ndarray, alpha: float, beta: float) -> None:
        self.v = self.engine.step(self.v, g, alpha, beta)
        self.w, self.j = self.w + self.v, self.j + 1

    def _judge_metric(self) -> None:
        """Where the gradient does not shrink as it should, take the Hessian at the best point.

        From four times as many rows, for it may have been the sample.
        """
        slow = self.best_grad2 > self.anchor_grad2 * anytime.SHRINKS**2
        self.anchor_grad2 = self.best_grad2
        if slow:
            self.doubts += 1
            self._anchor_at(self.best_w)
            self._go_on_from_best()

    def _go_on_from_best(self) -> None:
        """At rest, with the gradient that is known there."""
        self._restart_from(self.best_w, self.best_value)
        self._advance_whitened(self.best_g, *self.plan.whitened(0))

    def _polish_again(self) -> str:
        """f rose: from the best point at rest; if that was tried, by shorter steps."""
        self.restarts += 1
        if not self.best_g.size:
            self._restart_from(self.best_w, self.best_value)
            self.anchor = np.zeros(0)
            return ""
        if self.j == 0:  # the stage before has led nowhere
            self._anchor_at(self.best_w)
        elif self.j == 1:
            if self.retreats >= MOST_RETREATS:
                return "stalled"
            self.retreats += 1
            self.plan.doublings += 1
            self._anchor_at(self.best_w)
        self._go_on_from_best()
        return ""

    def _anchor_at(self, w: np.ndarray) -> None:
        self.anchor, self.anchor_grad2 = w.copy(), self.best_grad2
        self._set_metric()

    def _set_metric(self) -> None:
        ridge = np.diag(np.broadcast_to(self.p.ridge, self.p.d))
        if self.some is not self.p:
            self.some = self.p.sample(HESSIAN_FLOPS * 4.0**self.doubts)
        self.engine.set_metric(self.some.hessian(self.anchor) + ridge)
