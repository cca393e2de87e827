"""A run without a number of steps: ``auto`` for T, 2T, 4T, ... steps, then steps on all rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from .._record import Arrays, joined, part_of, record
from ..problems import Look
from ..rows import Array
from ..schedules import Schedule
from .base import Best, Limits, RunVerdict, Stage, StageReport
from .guard import VALUE_FACTOR, Recipe
from .policy import PlaneSteps

SHORTEST = 16  # A stage has at least this many steps.
LAST = 4  # A stage takes all steps that are left where these are fewer than so many stages.
LEAST_FALL = 0.1  # of the gradient norm in a stage: where it falls less, all rows are taken.
MOST_PASSES = 32  # After so many passes in batches all rows are taken to reach a tolerance.
UNKNOWN = -1.0  # stands for a noise that is not known, in a checkpoint


@dataclass
class Place:
    """Where the run is between looks: plain numbers, all of them in a checkpoint."""

    batch: int
    length: int = 0  # of the stage under way
    retreats: int = 0
    noise: float = UNKNOWN
    first_value: float = 0.0
    stage_norm: float = 0.0  # of the gradient where the stage began


@dataclass(eq=False)
class Doubling:
    """Stages of ``auto``, each of twice the steps of the one before, then ``plane``.

    A stage begins at rest at the best point so far, with the noise measured there. ``brief``, where
    the run chooses the batch, or steps on all rows reach a tolerance at once: one stage, then the
    plane. With a batch of the caller's and a tolerance, the plane takes over when a stage no longer
    makes the gradient ten times smaller.
    """

    recipe: Recipe
    start: Array
    n: int
    first_batch: int
    brief: bool
    wants_tol: bool
    budget: int
    plane: PlaneSteps
    limits: Limits
    measure: Callable[[Array], float | None]  # the noise over f(w) - f*
    place: Place = field(init=False)
    best: Best = field(init=False)
    open_ended = True

    def __post_init__(self) -> None:
        self.place = Place(self.first_batch)

    @property
    def name(self) -> str:
        return self.recipe.method.name

    @property
    def retreats(self) -> int:
        return self.place.retreats

    def begin(self, w: Array, first: Look) -> None:
        self.best = Best.of(w.copy(), first)
        self.place.first_value = first.value
        self.place.stage_norm = first.norm

    # -- stages ----------------------------------------------------------------------------------

    def current(self, start: Array | None = None) -> Stage:
        """The stage under way, from ``start``."""
        place = self.place
        if place.batch == self.n:
            return Stage("plane", self.plane, self.n, place.length, start=start)
        return Stage(self.name, self.table(), place.batch, place.length, start=start)

    def table(self) -> Schedule:
        """The table of the stage, for the noise that was measured and constants as trusted now."""
        place = self.place
        known = dict(self.recipe.constants)
        known["b"] = place.batch
        known["noise"] = None if place.noise < 0.0 else place.noise
        # a smaller curvature does not show in so short a stage
        known["mu"] = max(known["mu"], known["L"] / place.length**2)
        found: Schedule = replace(self.recipe, constants=known).build(place.length, place.retreats)
        return found

    def next(self, report: StageReport | None) -> Stage | RunVerdict:
        if report is None:
            return self._stage(0, self.start)
        if self.place.batch == self.n:
            self.best = Best.of(report.w, report.look(report.w))  # f never rises there
            return report.verdict or RunVerdict.BUDGET
        point = Best.of(report.w, report.look(report.w))
        high = VALUE_FACTOR * self.place.first_value + self._slack()
        if report.verdict == RunVerdict.DIVERGED or not point.value <= high:
            return self._retreat(report)
        self._keep(point)
        weak = not point.norm <= LEAST_FALL * self.place.stage_norm
        long = report.spent >= MOST_PASSES * self.n
        if self.brief or (self.wants_tol and (weak or long)):
            self.place.batch = self.n
        self.place.stage_norm = self.best.norm
        return self._stage(report.spent, self.best.w)

    def _stage(self, spent: int, start: Array) -> Stage | RunVerdict:
        """The next stage, within what is left of the budget."""
        place = self.place
        left = (self.budget - spent) // place.batch
        left = max(1, left) if spent == 0 else left
        if left < 1:
            return RunVerdict.BUDGET
        wanted = max(SHORTEST, math.ceil(self.n / place.batch), 2 * place.length)
        if place.batch == self.n or left < LAST * wanted:
            wanted = left
        if self.brief and place.batch < self.n:
            wanted = max(SHORTEST, math.ceil(self.n / place.batch))
        place.length = min(wanted, left)
        measured = None
        if place.batch < self.n:
            measured = self.measure(start)
        place.noise = UNKNOWN if measured is None else measured
        return self.current(start)

    def answer(self, w: Array, verdict: RunVerdict) -> Array:
        if self.place.batch == self.n or verdict == RunVerdict.CONVERGED:
            return w
        return self.best.w

    def _slack(self) -> float:
        return 1e-14 * abs(self.place.first_value)

    def _keep(self, point: Best) -> None:
        """A smaller f, or where that is rounding, a smaller gradient."""
        fall = self.best.value - point.value
        if abs(fall) <= self._slack():
            better = point.norm < self.best.norm
        else:
            better = fall > 0.0
        if better:
            self.best = Best(point.w.copy(), point.value, point.norm)

    def _retreat(self, report: StageReport) -> Stage | RunVerdict:
        """The guard: back to the best point, at rest, with constants doubled."""
        place = self.place
        if place.retreats >= self.limits.most_retreats:
            return RunVerdict.DIVERGED
        place.retreats += 1
        place.length //= 2
        return self._stage(report.spent, self.best.w)

    # -- on disk ---------------------------------------------------------------------------------

    def state(self) -> Arrays:
        best = self.best
        place = record(**asdict(self.place))
        return joined(place=place, best=record(value=best.value, norm=best.norm) | {"w": best.w})

    def load(self, state: Arrays) -> None:
        own = part_of(state, "place")
        place = Place(
            batch=int(own["batch"]),
            length=int(own["length"]),
            retreats=int(own["retreats"]),
            noise=float(own["noise"]),
            first_value=float(own["first_value"]),
            stage_norm=float(own["stage_norm"]),
        )
        most = max(1, self.budget // place.batch) if place.batch > 0 else 0
        fits = place.batch in (self.first_batch, self.n) and 1 <= place.length <= most
        if not (fits and 0 <= place.retreats <= self.limits.most_retreats):
            raise ValueError("its numbers are not those of a run")
        if not (place.noise == UNKNOWN or 0.0 <= place.noise < math.inf):
            raise ValueError("its noise is not that of a run")
        best = part_of(state, "best")
        w = np.asarray(best["w"], dtype=np.float64)
        if w.shape != self.best.w.shape:
            raise ValueError("its points do not have the shape of w")
        self.place = place
        self.best = Best(w, float(best["value"]), float(best["norm"]))
