"""The race of benchmarks/peers.py: rungs climbed in turn, the rungs that count repeated in turn."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from _peers_cells import Cell
from _peers_solvers import OURS, Solver, solvers

LEVELS = (1e-2, 1e-4, 1e-6)
HOPELESS = 4  # rungs in a row that bring a solver no nearer: it has a floor above the last level
DEAR = (
    25  # rungs that cost more than this share of the budget: every second one is left out at first
)


@dataclass
class Rung:
    """One fit from scratch: its setting, its least CPU seconds, what it reached."""

    setting: float
    seconds: float
    passes: float | None
    gap: float


@dataclass
class Climb:
    solver: Solver
    budget: float
    rungs: list[Rung] = field(default_factory=list)
    at: int = 0  # the next rung on the ladder
    failure: str = ""

    @property
    def done(self) -> bool:
        if self.failure or self.at >= len(self.solver.ladder):
            return True
        if not self.rungs:
            return False
        # tolerances that end at the same look give the same point, and are one rung here
        last, gaps = self.rungs[-1], list(dict.fromkeys(rung.gap for rung in self.rungs))
        stuck = len(gaps) > HOPELESS and min(gaps[-HOPELESS:]) >= 0.99 * min(gaps[:-HOPELESS])
        spent = sum(rung.seconds for rung in self.rungs)
        return last.gap <= LEVELS[-1] or stuck or spent + 1.5 * last.seconds > self.budget

    def step(self, cell: Cell) -> None:
        try:
            rung = timed(self.solver, cell, self.solver.ladder[self.at])
        except (ValueError, FloatingPointError) as error:  # how SGD says that it overflowed
            self.failure = str(error).splitlines()[0]
            return
        self.rungs.append(rung)
        self.at += 2 if rung.seconds > self.budget / DEAR else 1

    def fill_in(self, cell: Cell) -> None:
        """Fit the rungs that were left out just below a winner: they may be cheaper."""
        ladder, tried = self.solver.ladder, {rung.setting for rung in self.rungs}
        for winner in [rung for rung in map(self.best, LEVELS) if rung]:
            below = ladder[max(0, ladder.index(winner.setting) - 1)]
            if below not in tried:
                tried.add(below)
                self.rungs.append(timed(self.solver, cell, below))

    def best(self, level: float) -> Rung | None:
        """The cheapest rung that reaches the level."""
        made = [rung for rung in self.rungs if rung.gap <= level]
        return min(made, key=lambda rung: rung.seconds) if made else None


def timed(solver: Solver, cell: Cell, setting: float) -> Rung:
    # one thread: CPU time is what it would take alone, whatever else the machine does
    begin = time.process_time()
    w, passes = solver.fit(cell, setting)
    return Rung(setting, time.process_time() - begin, passes, cell.gap(w))


def race(cell: Cell, budget: float, repeats: int) -> list[Climb]:
    """All climbs on one cell."""
    climbs = [Climb(solver, budget * solver.share) for solver in solvers(cell)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # fits that are cut short say so
        _warm_up(cell)
        while running := [climb for climb in climbs if not climb.done]:
            for climb in running:
                climb.step(cell)
        for climb in climbs:
            climb.fill_in(cell)
        for _ in range(repeats - 1):
            for climb in climbs:
                for rung in {id(r): r for r in map(climb.best, LEVELS) if r}.values():
                    again = timed(climb.solver, cell, rung.setting)
                    rung.seconds = min(rung.seconds, again.seconds)
    return climbs


def _warm_up(cell: Cell) -> None:
    """Compiles and loads our kernels: the whole data for one rung."""
    ours = next(solver for solver in solvers(cell) if solver.label == OURS)
    for setting in ours.ladder[:2]:
        ours.fit(cell, setting)


def by_label(climbs: list[Climb], level: float) -> dict[str, Rung | None]:
    """The cheapest rung of each label that reaches the level, None where none does."""
    found: dict[str, Rung | None] = {}
    for climb in climbs:
        label, rung = climb.solver.label, climb.best(level)
        known = found.setdefault(label, rung)
        if rung is not None and (known is None or rung.seconds < known.seconds):
            found[label] = rung
    return found
