"""The facts that the sentences of a plan are about."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .. import messages
from ..messages import first_said, said
from ..problems import Constants, Problem
from ..run.request import CheckedRequest
from .forecast import Expectation, PlanFacts
from .records import BatchSizes, Outlook, PlannedData, PlannedRun

# With more columns than this, nobody would form the matrix of all pairs of columns.
DIRECT_COLUMNS = 4096
# A row whose curvature is more than this many times the mean dominates the others.
DOMINATED = 100.0


def steepest(c: Constants) -> float:
    """How many times as curved as the mean the steepest row is."""
    if c.L > 0:
        return c.L_max / c.L
    return 1.0


class Expected:
    """What is expected of the table of a method: the facts of `messages.STABILITY` and `GAP`."""

    def __init__(
        self, found: Expectation, name: str, b: int, n: int, T: int, accuracy: float
    ) -> None:
        self.found = found
        self.name = name
        self.b = b
        self.n = n
        self.T = T
        self.accuracy = accuracy
        self.gap = found.gap
        self.steps = found.steps
        self.certified = found.by == "certified"
        self.where = " near the minimum" if found.by == "local" else ""
        self.never_stable = found.critical == math.inf

    @property
    def least(self) -> int | None:
        """The smallest stable batch, where it is known."""
        if self.found.critical is None or self.never_stable:
            return None
        return min(self.n, math.floor(self.found.critical) + 1)

    @property
    def certified_rows(self) -> float | None:
        rows = self.found.certified_rows
        if rows is None or math.isinf(rows):
            return rows
        return math.ceil(rows)

    @property
    def growth(self) -> str:
        assert self.gap is not None
        if math.isinf(self.gap):
            return "beyond what a double holds"
        return f"{self.gap:.2g} times"

    @property
    def after(self) -> str:
        verb = "is certified to be at most" if self.certified else "is expected to be"
        return f"After {self.T:,} steps f - f* {verb} {self.gap:.2g} of what it is at the start"

    def sentences(self) -> Iterator[str]:
        """Stability first."""
        if self.found.by == "none":
            yield messages.UNKNOWN.format(f=self)
            return
        yield from first_said(messages.STABILITY, self)
        yield from first_said(messages.GAP, self)


class Grounds:
    """The facts that a plan rests on, by the names that the texts use."""

    def __init__(
        self,
        run: PlannedRun,
        batches: BatchSizes,
        data: PlannedData,
        outlook: Outlook,
        p: Problem,
        request: CheckedRequest,
        facts: PlanFacts,
    ) -> None:
        self.run = run
        self.batches = batches
        self.data = data
        self.outlook = outlook
        self.p = p
        self.request = request
        self.facts = facts
        self.b = run.batch_size
        self.T = run.T
        self.steps = run.steps
        self.accuracy = batches.accuracy
        self.knee = batches.knee
        self.n = p.n
        self.d = p.d
        self.loss = p.loss.name
        self.quadratic = p.loss.quadratic
        self.unbounded = p.loss.curvature is None
        self.has_gram = p.has_gram
        self.on_all_rows = run.stages[0].on_all_rows
        self.batch_given = request.batch_size is not None
        self.trial_met = facts.trial.met
        self.trial_rows = facts.trial.problem.n

    # -- the run

    @property
    def planned_steps(self) -> bool:
        """Are the number of steps and the batch decided before the run?"""
        return not self.request.open_ended or self.request.facts.all_rows

    @property
    def sampled(self) -> bool:
        """Does the number of steps come from a sample of the rows?"""
        certain = all(stage.certain for stage in self.run.stages)
        return not (self.facts.trial.all_rows or certain)

    @property
    def guard(self) -> str:
        if self.outlook.expectation is None:
            return ", and a guard goes back when f grows"
        return ""

    # -- the data

    @property
    def mu(self) -> float:
        """The curvature that the table of costs assumes."""
        assert self.facts.design is not None
        return self.facts.design.mu

    @property
    def L(self) -> float:
        assert self.facts.design is not None
        return self.facts.design.L

    @property
    def steepest(self) -> float:
        assert self.data.constants is not None
        return steepest(self.data.constants)

    @property
    def curvature_unknown(self) -> bool:
        c = self.data.constants
        return self.unbounded or (c is not None and c.mu == 0.0)

    @property
    def flat(self) -> bool:
        """May some direction have no curvature?"""
        c = self.data.constants
        if c is None or c.mu <= 0.0:
            return c is not None
        if not self.quadratic or self.p.l2 > 0.0 or not c.exact or c.spectrum is None:
            return False
        return round(sum(c.spectrum[1])) < self.p.width  # mu is the row space's

    @property
    def flat_directions(self) -> str:
        """What the table of costs assumes of them."""
        return next(first_said(messages.FLAT_DIRECTIONS, self))

    @property
    def sum_of_intercepts(self) -> bool:
        return self.p.loss.multi_output and self.p.intercept and self.p.l2 > 0.0

    @property
    def dominated(self) -> bool:
        return self.data.constants is not None and self.steepest > DOMINATED

    @property
    def more_l2(self) -> str:
        if self.p.l2 == 0.0:
            return "a little l2"
        return f"more l2 than {self.p.l2:g}"

    @property
    def More_l2(self) -> str:
        return self.more_l2.capitalize()

    # -- the costs

    @property
    def noise_dominates(self) -> bool:
        return self.facts.noise_steps(self.b) > self.facts.bias_steps(self.b)

    @property
    def direct(self) -> str:
        return "the normal equations" if self.quadratic else "Newton's method"

    @property
    def direct_is_faster(self) -> bool:
        """Would it be cheaper to form a d x d matrix and solve with it?"""
        p = self.p
        many = p.d > DIRECT_COLUMNS or p.loss.multi_output  # of K outputs, a matrix of (d K)^2
        in_batches = not self.on_all_rows and len(self.run.stages) == 1
        at_once = p.has_gram and not in_batches  # the run solves directly
        if many or at_once or self.unbounded or self.run.passes is None:
            return False
        touched = self.run.passes * p.n
        if in_batches:
            touched = (self.steps or 0) * self.b
        solves = 1.0 if self.quadratic else 10.0
        return bool(solves * (p.n * p.d**2 + p.d**3 / 3.0) <= 4.0 * touched * p.d)

    # -- the sentences

    def words(self) -> str:
        return " ".join(text for text in self._sentences() if text)

    def _sentences(self) -> Iterator[str]:
        """What to expect, why, and what is odd about the data."""
        c = self.data.constants
        if c is not None and c.L <= 0.0:
            yield messages.ZERO
            return
        expected = self.outlook.expectation
        first = self.run.stages[0]
        if expected is not None and first.steps is not None:
            table = (first.method, first.batch, self.n, first.steps, self.accuracy)
            yield from Expected(expected, *table).sentences()
        yield from first_said(messages.STAGES, self)
        yield from said(messages.DATA, self)
        if self.batches.sweep and expected is None:
            yield from self._about_auto()
        yield from said(messages.LAST, self)

    def _about_auto(self) -> Iterator[str]:
        """What the given batch, or the batch for T steps, means for auto, and if T is enough."""
        if (self.T is not None or self.batch_given) and self.knee is not None:
            yield from first_said(messages.BATCH, self)
        if self.T is not None and not self.on_all_rows and self.steps is not None:
            yield from first_said(messages.ENOUGH, self)
