"""What an engine is: somebody who takes steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..problems import Look, Problem
from ..rows import Array

DIVERGENCE_FACTOR = 1e8


@dataclass
class State:
    """Where a run is: w, v = w - (the w before), and two clocks.

    ``k`` counts the steps of the run and names the batch, ``row`` is the next row of the table
    under way. ``memory`` is what a policy or an engine carries along from step to step; ``tally``,
    where it is not None, gathers the iterates after each step, for an average.
    """

    w: Array
    v: Array
    k: int = 0
    row: int = 0
    memory: dict[str, Array] = field(default_factory=dict)
    tally: Array | None = None

    @classmethod
    def at_rest(cls, w: Array, k: int = 0) -> State:
        return cls(w.copy(), np.zeros_like(w), k)

    def move(self, w: Array, v: Array) -> None:
        """One step on."""
        self.w, self.v, self.k, self.row = w, v, self.k + 1, self.row + 1
        if self.tally is not None:
            self.tally = self.tally + w

    def copy(self) -> State:
        """A state that may be changed without changing this one: its arrays are never written to,
        they are replaced."""
        return State(self.w, self.v, self.k, self.row, dict(self.memory), self.tally)


@dataclass
class Recorder:
    """What is measured, decided before the run: the loop steps, the recorder looks.

    At each k in ``when`` the objective and the squared norm of its full gradient, in units of
    ``unit`` (so that squares neither vanish nor overflow), are kept. A norm beyond sqrt(limit2), or
    a value that is not finite, is divergence; a norm of at most sqrt(goal2) is convergence.
    """

    when: Array
    limit2: float = math.inf
    goal2: float = -1.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        self.grad2 = np.zeros(self.when.size)
        self.value = np.zeros(self.when.size)
        self.cursor = np.zeros(1, dtype=np.int64)

    @property
    def count(self) -> int:
        """How many measurements have been kept."""
        return int(self.cursor[0])

    def due(self, k: int) -> bool:
        return self.count < self.when.size and int(self.when[self.count]) == k

    def keep(self, look: Look) -> str:
        """Keep a measurement; returns "", "diverged" (not kept) or "converged"."""
        return self.keep_measured(look.value, norm2(look.gradient, self.unit))

    def keep_measured(self, value: float, grad2: float) -> str:
        """The same, where the squared norm is known in units of ``unit`` squared."""
        if not (math.isfinite(value) and grad2 <= self.limit2):
            return "diverged"
        self.value[self.count], self.grad2[self.count] = value, grad2
        self.cursor[0] += 1
        return "converged" if grad2 <= self.goal2 else ""


def norm2(g: Array, unit: float) -> float:
    """``||g||^2`` in units of ``unit`` squared."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = g.ravel() / unit
        return float(scaled @ scaled)


def unit_of(g: Array) -> float:
    """The power of two next to the largest entry of g: dividing by it rounds nothing."""
    largest = float(np.abs(g).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return 1.0
    return math.ldexp(1.0, max(-1021, math.frexp(largest)[1]))


def record_steps(T: int, every: int | str, per_epoch: int) -> Array:
    """The steps at which to measure, 0 and T among them.

    ``"auto"``: log-spaced over the first epoch, then about once an epoch.

    >>> record_steps(5, 2, 1).tolist()
    [0, 2, 4, 5]
    >>> record_steps(100, "auto", 40).tolist()
    [0, 1, 2, 4, 8, 16, 32, 40, 80, 100]
    """
    if every != "auto":
        steps = np.arange(0, T, int(every), dtype=np.int64)
    else:
        early = 2 ** np.arange(0, 1 + int(np.log2(max(1, min(T, per_epoch)))))
        steps = np.unique(np.concatenate([[0], early, np.arange(0, T, per_epoch)]))
    steps = steps[steps < T].astype(np.int64)
    return np.append(steps, np.int64(T))


@dataclass(frozen=True)
class Goal:
    """What the steps that an engine is asked for are for.

    ``gradient`` is a norm of the gradient, in the engine's variables, that is small enough; ``gap``
    is how far f may be left above its minimum; ``passes`` is how many passes over the data may be
    made. ``tight``: the tolerance is so small that the rounding of updated scores matters.
    """

    gradient: float = 0.0
    gap: float = 0.0
    passes: int = 1 << 62
    tight: bool = False


ANY = Goal()


@dataclass(frozen=True)
class StepReport:
    """All that a run may know of the steps that were taken.

    ``verdict`` is "" or why the steps ended: "diverged", "converged", "stalled" (no fall of f can
    be measured) or "unbounded" (w grows without end). ``passes`` counts passes over the data beside
    one for each step. ``look`` is the objective and its gradient at the new point, where an engine
    knows them without a pass of its own, and ``gradient_error`` a bound on the error of each entry
    of that gradient (None: no more than the rounding of its sums).
    """

    verdict: str = ""
    passes: int = 0
    look: Look | None = None
    gradient_error: Array | None = None


class Gap(NamedTuple):
    """An estimate of how far f is above its minimum; ``by_hessian``: by second derivatives."""

    estimate: float
    by_hessian: bool


class Engine(Protocol):
    """Takes steps on one problem, with batches of one size.

    ``engine(problem, b, seed, sampling)`` makes one. A run may be cut where k is a multiple of
    ``grain``, and where it records, without changing a bit. An engine that takes steps from tables
    inherits all but ``advance`` from ``TableEngine``.
    """

    grain: int

    def look(self, w: Array) -> Look:
        """The objective and its full gradient; looking changes nothing."""

    def record(self, w: Array, recorder: Recorder) -> str:
        """Keep a measurement at w, to the bit what ``advance`` would keep there."""

    def advance(
        self, state: State, steps: Any, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        """Steps state.k .. stop-1 by the rows of ``steps`` from state.row on.

        At each k: first, if ``recorder.due(k)``, look and ``keep``, and end with that verdict
        unless it is empty; then the batch of (seed, k); then the update; then ``state.move``. Where
        an iterate is not finite the verdict is "diverged", and the state stays at the last finite
        one. With stop = state.k no step is taken: the engine makes sure of what it knows there.
        """

    def gap(self, enough: float) -> Gap:
        """About how far f is above its minimum at the last iterate, or a bound on that where the
        bound is at most ``enough``; 0 where an engine does not know."""

    def state_dict(self) -> dict[str, Array]:
        """What a checkpoint needs beside the state."""

    def load_state_dict(self, state: dict[str, Array]) -> None:
        """Go on from there."""


class TableEngine:
    """What engines for tables share: they know nothing beside the state."""

    grain = 1
    problem: Problem

    def look(self, w: Array) -> Look:
        """The objective and its full gradient."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.problem.look(w)

    def record(self, w: Array, recorder: Recorder) -> str:
        """Keep a measurement at w."""
        return recorder.keep(self.look(w))

    def gap(self, enough: float) -> Gap:
        """Not known."""
        return Gap(0.0, False)

    def state_dict(self) -> dict[str, Array]:
        """Nothing."""
        return {}

    def load_state_dict(self, state: dict[str, Array]) -> None:
        """Nothing to go on from."""


MakeEngine = Callable[[Problem, int, int, str], Engine]
