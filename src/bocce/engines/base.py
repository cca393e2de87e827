"""The contract of an engine, which takes steps, and the records that engines share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..control import RunVerdict
from ..problems import Look, Problem
from ..rows import Array

DIVERGENCE_FACTOR = 1e8  # A run has diverged if its gradient's norm has grown by this factor.


@dataclass
class State:
    """Where a run is.

    Attributes
    ----------
    w, v : ndarray
        The iterate, and its last displacement.
    k, row : int
        The steps of the run so far, which name the batch; the next row of the table in use.
    memory : dict of str to ndarray
        What a policy or an engine keeps from step to step.
    tally : ndarray or None
        The sum of the iterates so far, if somebody wants their average.
    """

    w: Array
    v: Array
    k: int = 0
    row: int = 0
    memory: dict[str, Array] = field(default_factory=dict)
    tally: Array | None = None

    @classmethod
    def at_rest(cls, w: Array, k: int = 0) -> State:
        """A state without momentum.

        Parameters
        ----------
        w, k : ndarray, int
            As the attributes.

        Returns
        -------
        State
        """
        return cls(w.copy(), np.zeros_like(w), k)

    def move(self, w: Array, v: Array, steps: int = 1, tally: Array | None = None) -> None:
        """Count steps.

        Parameters
        ----------
        w, v : ndarray
            The new iterate and displacement.
        steps, tally : int, ndarray or None
            How many steps led there, and the new sum of the iterates after several steps.
        """
        self.w = w
        self.v = v
        self.k = self.k + steps
        self.row = self.row + steps
        if self.tally is not None:
            if tally is None:
                self.tally = self.tally + w
            else:
                self.tally = tally

    def copy(self) -> State:
        """A state that can change without this one: arrays are replaced, never written to.

        Returns
        -------
        State
        """
        return State(self.w, self.v, self.k, self.row, dict(self.memory), self.tally)


@dataclass
class Recorder:
    """What is measured is decided before the run: the loop steps, the recorder looks.

    Parameters
    ----------
    when : ndarray
        The steps at which the objective and the squared norm of its full gradient are kept.
    limit2, goal2 : float
        A squared norm above the first is divergence, one of at most the second is convergence.
    unit : float
        Norms are divided by this, so that their squares neither vanish nor overflow.
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
        """Whether step k is measured.

        Parameters
        ----------
        k : int
            The step.

        Returns
        -------
        bool
        """
        return self.count < self.when.size and int(self.when[self.count]) == k

    def keep(self, look: Look, grad2: float | None = None) -> RunVerdict:
        """Keep a measurement.

        Parameters
        ----------
        look, grad2 : Look, float or None
            The objective and its full gradient; the squared norm over ``unit`` squared, if known.

        Returns
        -------
        str
            "", "diverged" (not kept) or "converged".
        """
        if grad2 is None:
            grad2 = norm2(look.gradient, self.unit)
        else:
            grad2 = grad2
        if not (math.isfinite(look.value) and grad2 <= self.limit2):
            return RunVerdict.DIVERGED
        self.value[self.count] = look.value
        self.grad2[self.count] = grad2
        self.cursor[0] += 1
        if grad2 <= self.goal2:
            return RunVerdict.CONVERGED
        return RunVerdict.RUNNING


def norm2(g: Array, unit: float) -> float:
    """``||g / unit||^2``.

    Parameters
    ----------
    g, unit : ndarray, float
        A gradient, and a number of its size.

    Returns
    -------
    float
    """
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
    """What the steps are for.

    Attributes
    ----------
    gradient, gap : float
        A gradient norm (in the engine's variables) and a gap f - f* that are small enough.
    passes : int
        How many passes over the data may be made.
    tight : bool
        Whether the tolerance is so small that the rounding of updated scores matters.
    remaining : float
        The factor by which the gradient's norm is still to shrink, in the caller's variables.
    """

    gradient: float = 0.0
    gap: float = 0.0
    passes: int = 1 << 62
    tight: bool = False
    remaining: float = 0.0


ANY = Goal()


@dataclass(frozen=True)
class StepReport:
    """All that a run may know of the steps that were taken.

    Attributes
    ----------
    verdict : RunVerdict
        Why the steps ended: diverged, converged, stalled or unbounded; RUNNING where nothing ended.
    passes : int
        Passes over the data beside one for each step.
    look : Look or None
        The objective and its gradient at the new point, if the engine knows them at no cost.
    gradient_error : ndarray or None
        A bound on the error of each entry of that gradient; None: the rounding of its sums.
    halves : bool
        Whether each step of the engine halves the gradient, at least, until only rounding is left.
    """

    verdict: RunVerdict = RunVerdict.RUNNING
    passes: int = 0
    look: Look | None = None
    gradient_error: Array | None = None
    halves: bool = False


class Gap(NamedTuple):
    """How far f is above its minimum.

    Attributes
    ----------
    estimate, by_hessian : float, bool
        The estimate, and whether second derivatives gave it.
    """

    estimate: float
    by_hessian: bool


class Engine(ABC):
    """Takes steps on one problem, with batches of one size.

    ``engine(problem, b, seed, sampling)`` makes one. A run may be interrupted where k is a multiple
    of ``grain``, and where it records, without changing a bit.
    """

    grain: int = 1

    @abstractmethod
    def look(self, w: Array) -> Look:
        """The objective and its full gradient; looking changes nothing.

        Parameters
        ----------
        w : ndarray
            The point.

        Returns
        -------
        Look
        """

    def record(self, w: Array, recorder: Recorder) -> RunVerdict:
        """Keep a measurement, to the bit what ``advance`` would keep.

        Parameters
        ----------
        w, recorder : ndarray, Recorder
            The point, and what keeps the measurement.

        Returns
        -------
        str
            The verdict of ``Recorder.keep``.
        """
        return recorder.keep(self.look(w))

    @abstractmethod
    def advance(
        self, state: State, steps: Any, stop: int, recorder: Recorder, goal: Goal = ANY
    ) -> StepReport:
        """Take steps state.k .. stop-1 by the rows of ``steps`` from state.row on.

        At each k: first, if ``recorder.due(k)``, look and ``keep``, and return that verdict unless
        it is empty; then the batch of (seed, k); then the update; then ``state.move``. If an
        iterate is not finite, the verdict is "diverged", and the state stays at the last finite
        one. With stop = state.k no step is taken: the engine only checks what it knows there.

        Parameters
        ----------
        state : State
            Where the run is; it is changed.
        steps, stop : Schedule or Policy, int
            The table, and the step before which to end.
        recorder, goal : Recorder, Goal
            What is measured, and what the steps are for.

        Returns
        -------
        StepReport
        """

    def gap(self, enough: float) -> Gap:
        """About how far f is above its minimum at the last iterate.

        Parameters
        ----------
        enough : float
            A bound of at most this may be returned instead.

        Returns
        -------
        Gap
            0 if the engine does not know.
        """
        return Gap(0.0, False)

    def state_dict(self) -> dict[str, Array]:
        """What a checkpoint needs beside the state.

        Returns
        -------
        dict of str to ndarray
        """
        return {}

    def load_state_dict(self, state: dict[str, Array]) -> None:
        """Continue from a checkpoint.

        Parameters
        ----------
        state : dict of str to ndarray
            What ``state_dict`` returned.
        """
        return


class TableEngine(Engine):
    """The base class of engines that take steps from tables: they know nothing beside the state."""

    problem: Problem

    def look(self, w: Array) -> Look:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.problem.look(w)


MakeEngine = Callable[[Problem, int, int, str], Engine]
