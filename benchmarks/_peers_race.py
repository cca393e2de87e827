"""The race of benchmarks/peers.py: rungs climbed in turn, the rungs that count repeated in turn."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from _peers_cells import Cell
from _peers_others import Peer
from _peers_solvers import OURS, Solver, solvers

LEVELS = (1e-4, 1e-6)
HOPELESS = 4  # rungs in a row that bring a solver no nearer: it has a floor above the last level
DEAR = 25  # rungs that cost more than this share of the budget: every second is left out at first
LEAST = 0.05  # seconds: a peer may always take as long, however fast ours is
BRIEF, OFTEN = 0.3, 10  # short fits are repeated for so many seconds, at most so many times


@dataclass
class Rung:
    """One fit from scratch: its setting, its least CPU seconds, what it reached."""

    setting: float
    seconds: float
    passes: float | None
    gap: float


@dataclass
class Climb:
    """The fits of one solver on a cell, and why there are no more of them."""

    label: str
    kind: str
    name: str
    rungs: list[Rung] = field(default_factory=list)
    ended: str = ""  # "reached", "slower" (than ours by the cap), "budget", "floor", "ladder"

    def best(self, level: float) -> Rung | None:
        """The cheapest rung that reaches the level."""
        made = [rung for rung in self.rungs if rung.gap <= level]
        return min(made, key=lambda rung: rung.seconds) if made else None


@dataclass
class Raced:
    """All climbs on one cell: what is printed, drawn and kept."""

    data: str
    loss: str
    label: str
    n: int
    d: int
    sparse: bool
    climbs: list[Climb]
    settings: dict[str, Any]
    when: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.data, self.loss, self.label

    def best(self, label: str, level: float) -> Rung | None:
        """The cheapest rung of all climbs with a label."""
        rungs = [climb.best(level) for climb in self.climbs if climb.label == label]
        return min((r for r in rungs if r), key=lambda rung: rung.seconds, default=None)

    def as_dict(self) -> dict[str, Any]:
        found = asdict(self)
        for climb in found["climbs"]:
            for rung in climb["rungs"]:
                rung["gap"] = min(rung["gap"], 1e300)  # JSON has no infinity
        return found

    @classmethod
    def of(cls, found: dict[str, Any]) -> Raced:
        climbs = [
            Climb(**{**climb, "rungs": [Rung(**rung) for rung in climb["rungs"]]})
            for climb in found["climbs"]
        ]
        return cls(**{**found, "climbs": climbs})


class Climber:
    """A solver on its ladder."""

    def __init__(self, solver: Solver, cell: Cell, budget: float, cap: float) -> None:
        self.solver, self.cell, self.cap = solver, cell, cap
        self.budget = budget * solver.share
        self.climb = Climb(solver.label, solver.kind, solver.name)
        self.at = 0  # the next rung on the ladder

    @property
    def done(self) -> bool:
        self.climb.ended = self.climb.ended or self._end()
        return bool(self.climb.ended)

    def _end(self) -> str:
        rungs = self.climb.rungs
        if rungs and rungs[-1].gap <= LEVELS[-1]:
            return "reached"
        if self.at >= len(self.solver.ladder):
            return "ladder"
        if not rungs:
            return ""
        # settings that end at the same point are one rung here
        last, gaps = rungs[-1], list(dict.fromkeys(rung.gap for rung in rungs))
        if len(gaps) > HOPELESS and min(gaps[-HOPELESS:]) >= 0.99 * min(gaps[:-HOPELESS]):
            return "floor"
        if last.seconds > self.cap:
            return "slower"
        return "budget" if sum(r.seconds for r in rungs) + 1.5 * last.seconds > self.budget else ""

    def step(self) -> None:
        try:
            rung = timed(self.solver, self.cell, self.solver.ladder[self.at])
        except (ValueError, FloatingPointError) as error:  # how SGD says that it overflowed
            self.climb.ended = str(error).splitlines()[0]
            return
        self.climb.rungs.append(rung)
        self.at += 2 if rung.seconds > self.budget / DEAR else 1

    def fill_in(self) -> None:
        """Fit the rungs that were left out just below a winner: they may be cheaper."""
        ladder, tried = self.solver.ladder, {rung.setting for rung in self.climb.rungs}
        for winner in [rung for rung in map(self.climb.best, LEVELS) if rung]:
            below = ladder[max(0, ladder.index(winner.setting) - 1)]
            if below not in tried:
                tried.add(below)
                self.climb.rungs.append(timed(self.solver, self.cell, below))

    def repeat(self, turn: int, repeats: int) -> None:
        """The rungs that count once more, short ones more often; the least time is kept."""
        for rung in {id(r): r for r in map(self.climb.best, LEVELS) if r}.values():
            if turn < max(repeats, min(OFTEN, int(BRIEF / max(rung.seconds, 1e-4)))):
                again = timed(self.solver, self.cell, rung.setting)
                rung.seconds = min(rung.seconds, again.seconds)


def timed(solver: Solver, cell: Cell, setting: float) -> Rung:
    # one thread: CPU time is what it would take alone, whatever else the machine does
    begin = time.process_time()
    w, passes, *elsewhere = solver.fit(cell, setting)
    spent = elsewhere[0] if elsewhere else time.process_time() - begin
    return Rung(setting, spent, passes, cell.gap(w))


def race(
    cell: Cell, budget: float, repeats: int, cap: float, names: list[str], python: str
) -> list[Climb]:
    """All climbs on one cell: ours, then the others in turns, then what counts again in turns.

    A peer whose fit took ``cap`` times as long as ours to the last level without reaching it is
    slower than ours, and climbs no further. ``names``: of peers that run in processes of their own,
    by the interpreter ``python``.
    """
    peers = [Peer(name, python) for name in names]
    try:
        return _race(cell, budget, repeats, cap, peers)
    finally:
        for peer in peers:
            peer.close()


def _race(cell: Cell, budget: float, repeats: int, cap: float, peers: list[Peer]) -> list[Climb]:
    ours, *others = solvers(cell, peers)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # fits that are cut short say so
        for setting in ours.ladder[:2]:
            ours.fit(cell, setting)  # compiles and loads our kernels
        first = Climber(ours, cell, budget, float("inf"))
        while not first.done:
            first.step()
        first.fill_in()
        made = first.climb.best(LEVELS[-1])
        limit = max(LEAST, cap * made.seconds) if made else float("inf")
        climbers = [Climber(solver, cell, budget, limit) for solver in others]
        while running := [climber for climber in climbers if not climber.done]:
            for climber in running:
                climber.step()
        for climber in climbers:
            climber.fill_in()
        for turn in range(1, max(repeats, OFTEN)):
            for climber in (first, *climbers):
                climber.repeat(turn, repeats)
    return [climber.climb for climber in (first, *climbers)]


__all__ = ["LEVELS", "OURS", "Climb", "Raced", "Rung", "race"]
