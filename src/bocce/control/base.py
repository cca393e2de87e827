"""Who decides what comes next: the contract between a run and its controller.

A controller decides, it never touches data and never takes a step. The driver (``bocce.run``)
asks it for a stage, has an engine take the stage's steps, and shows it what came of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeAlias

from ..problems import Look
from ..rows import Array
from ..schedules import Schedule
from .policy import Decider, PlaneSteps

# What decides the steps of a stage: a table, a policy, or the engine of the plane itself.
Steps: TypeAlias = Schedule | Decider | PlaneSteps


@dataclass(frozen=True)
class Limits:
    """Numbers that decide how a run is cut and when it is given up; tests change them."""

    cut_seconds: float = 0.2  # a stretch of steps lasts about this long: Ctrl-C is heard between
    save_seconds: float = 10.0
    most_steps: int = 10**8  # a table of more would take gigabytes
    passes: int = 100  # over the data, where neither T nor a tolerance is given
    passes_to_tol: int = 10_000
    most_retreats: int = 64


@dataclass(frozen=True)
class Stage:
    """Steps of one table (or policy) with batches of one size.

    ``count`` steps by the table's rows from ``row`` on, from ``start`` at rest where that is not
    None, else from where the last stage ended; ``average``: are the iterates summed up?
    """

    name: str
    steps: Steps
    batch: int
    count: int
    row: int = 0
    start: Array | None = None
    average: bool = False

    @property
    def table(self) -> Schedule | None:
        """The table that decides the steps, where one does."""
        return self.steps if isinstance(self.steps, Schedule) else None


class RunVerdict(StrEnum):
    """Why steps ended. ``RUNNING``, the empty one, is false: nothing has ended but the stage."""

    RUNNING = ""
    CONVERGED = "converged"
    DIVERGED = "diverged"
    STALLED = "stalled"  # no fall of f can be measured
    UNBOUNDED = "unbounded"  # w grows without end
    NOISY = "noisy"  # all steps are taken; the noise of batches keeps f above its start
    BUDGET = "budget"  # the passes that were allowed are used
    STOPPED = "stopped"  # by a callback


class StageReport(NamedTuple):
    """What a controller may know of the run when a stage is over."""

    w: Array
    k: int  # steps taken, in all
    mean: Array | None  # the mean of the stage's iterates, where the stage asks for it
    look: Callable[[Array], Look]  # the objective and its gradient; reads all rows
    norms: Array  # gradient norms recorded in the stage
    verdict: RunVerdict  # of the engine
    spent: int  # gradients of rows, in all


class Best(NamedTuple):
    """A point, the objective there, and the norm of its gradient."""

    w: Array
    value: float
    norm: float

    @classmethod
    def of(cls, w: Array, look: Look) -> Best:
        return cls(w, look.value, look.norm)


class Controller(Protocol):
    """Decides stages. ``state`` is all that a checkpoint keeps of it."""

    @property
    def name(self) -> str:
        """The method, for messages."""

    @property
    def best(self) -> Best | None:
        """The best point so far, where the controller looks."""

    @property
    def retreats(self) -> int:
        """How often it went back to that point."""

    @property
    def open_ended(self) -> bool:
        """Is the number of steps unknown before the run?"""

    def begin(self, w: Array, first: Look) -> None:
        """The run starts at w."""

    def next(self, report: StageReport | None) -> Stage | RunVerdict:
        """The stage after a report (None: nothing was run yet), or how the run has ended:
        ``RUNNING`` where all steps were taken."""

    def current(self) -> Stage:
        """The stage under way: the one that ``next`` returned last, built from ``state``."""

    def answer(self, w: Array, verdict: RunVerdict) -> Array:
        """What to return of a run that ended at w."""

    def state(self) -> dict[str, Array]: ...

    def load(self, state: dict[str, Array]) -> None: ...


class Fixed:
    """One stage: a table or policy from its first row to its last."""

    best = None
    retreats = 0
    open_ended = False

    def __init__(self, steps: Steps, batch: int) -> None:
        self.steps = steps
        self.batch = batch
        self.name = steps.name or "schedule"

    def begin(self, w: Array, first: Look) -> None:
        """Nothing depends on the start."""

    def next(self, report: StageReport | None) -> Stage | RunVerdict:
        if report is None:
            return self.current()
        return report.verdict

    def current(self) -> Stage:
        return Stage(self.name, self.steps, self.batch, self.steps.T)

    def answer(self, w: Array, verdict: RunVerdict) -> Array:
        return w

    def state(self) -> dict[str, Array]:
        return {}

    def load(self, state: dict[str, Array]) -> None:
        """There is nothing to load."""
