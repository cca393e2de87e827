"""What is known of a run that is over, for the sentences of ``bocce.messages``."""

from __future__ import annotations

from dataclasses import dataclass

from ..control import PlaneSteps, RunVerdict
from ..control.base import Steps
from ..engines import DIVERGENCE_FACTOR
from ..messages import RETREATS, RUN_OF_A_TABLE, RUN_TO_A_TOLERANCE, first_said, said
from .driver import Driver
from .result import Record


@dataclass(frozen=True)
class RunFacts:
    """The facts of a run, as its sentences name them."""

    verdict: RunVerdict
    name: str
    k: int
    tol: float
    n: int
    l2: float
    batch: int  # of the table; 0 without one
    first: Record
    last: Record
    first_norm: float  # the norm that ``tol`` refers to
    spent: str  # steps and passes
    retreats: int
    factor: float = DIVERGENCE_FACTOR

    @property
    def rose(self) -> bool:
        """Does f end above its start?"""
        return self.last.k == self.k and self.last.value > self.first.value

    @property
    def rise(self) -> str:
        ends = f"f is {self.last.value:.3g} after {self.k} steps"
        return f"{ends} and was {self.first.value:.3g} at the start"

    @property
    def reached(self) -> float:
        """The gradient's norm over the first."""
        if self.first_norm > 0:
            return self.last.norm / self.first_norm
        return 0.0

    @property
    def missed(self) -> str:
        """The tolerance that was asked for and not met."""
        return f", not tol={self.tol:g}" if self.tol > 0 else ""

    @property
    def times(self) -> str:
        return f"{self.retreats} time{'s' * (self.retreats > 1)}"

    @property
    def shorter(self) -> int:
        return int(2**self.retreats)


def spent(run: Driver) -> str:
    """The steps of a run, its passes over the data, and its batches."""
    steps = run.state.k
    n = run.problem.n
    passes = f"{run.evaluations / n:.3g}"
    found = f"{steps} step{'s' * (steps != 1)}, {passes} pass{'es' * (passes != '1')}"
    sizes = [stage.batch for stage in run.stages if stage.steps]
    if not sizes:
        return found
    if set(sizes) == {n}:
        return f"{found} of all n={n} rows"
    if sizes[0] == sizes[-1]:
        return f"{found}, batches of {sizes[0]} of n={n}"
    return f"{found}, batches of {sizes[0]} to {sizes[-1]} of n={n}"


def message(run: Driver, verdict: RunVerdict, table: Steps | None) -> str:
    """What happened, with a remedy where the run failed. ``table``: the steps of the run, where
    they were known from its beginning to its end."""
    to_a_tolerance = run.controller.open_ended or isinstance(table, PlaneSteps)
    name = run.controller.name
    batch = 0
    if not to_a_tolerance:
        stage = run.controller.current()
        name = "the schedule" if stage.name == "schedule" else stage.name
        batch = stage.batch
    facts = RunFacts(
        verdict=verdict,
        name=name,
        k=run.state.k,
        tol=run.settings.tol,
        n=run.problem.n,
        l2=run.problem.l2,
        batch=batch,
        first=run.history.first,
        last=run.history.last,
        first_norm=run.stop.first,
        spent=spent(run),
        retreats=run.controller.retreats,
    )
    rows = RUN_TO_A_TOLERANCE if to_a_tolerance else RUN_OF_A_TABLE
    return " ".join([*first_said(rows, facts), *said(RETREATS, facts)])
