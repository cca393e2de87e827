"""Random inputs against all installed peers, to equal f: where is bocce slow?

    python benchmarks/hunt.py --seed 1 --minutes 10 [--worst 10] [--out FILE]
    python benchmarks/hunt.py --seed 1 --case 17

Each case draws a loss, a shape, a spectrum, sparse or dense rows, a type, an order, a penalty, and
the share of the fall of f that may be left (_hunt_cases.py). Every solver climbs its ladder of
settings until f is that low; the settings found are then run in turns, and the least CPU times are
compared (one thread). A peer is given up once it has taken 10 times bocce's time. Printed are the
median ratio of bocce to the fastest peer, the share of cases above 3, and the worst cases with the
commands that repeat them (--case prints the times of all solvers). Cases count from 0; a longer run
of the same seed begins with the same cases.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import NamedTuple

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
from _hunt_cases import Case, draw  # noqa: E402
from _hunt_solvers import OURS, Objective, Racer, racers  # noqa: E402

PATIENCE = 10.0  # a peer that has taken so many times bocce's time is given up
TURNS = 5
SHORT = 0.02  # seconds; solvers this fast take three times as many turns
LARGE_RATIO = 3.0


class Found(NamedTuple):
    """A solver's first setting that reaches the target, and the time of that fit."""

    racer: Racer
    setting: float
    seconds: float


class Verdict(NamedTuple):
    number: int
    label: str
    seconds: dict[str, float]  # by solver; those that reach the target

    @property
    def peer(self) -> str:
        return min((name for name in self.seconds if name != OURS), key=self.seconds.__getitem__)

    @property
    def ratio(self) -> float:
        return self.seconds[OURS] / self.seconds[self.peer]


def timed(racer: Racer, case: Case, setting: float) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    begin = time.process_time()
    point = racer.fit(case, setting)
    return time.process_time() - begin, point


def climb(racer: Racer, case: Case, objective: Objective, goal: float, most: float) -> Found | None:
    """The first setting that reaches the goal; None where no setting does, or ``most`` seconds
    were not enough."""
    for setting in racer.ladder:
        try:
            seconds, point = timed(racer, case, setting)
        except ValueError:  # a peer refuses the input, or its numbers overflow
            if racer.name == OURS:
                raise
            return None
        if objective.value(point) <= goal:
            return Found(racer, setting, seconds)
        if seconds > most:
            return None
    return None


def goal_of(case: Case, objective: Objective, entrants: list[Racer]) -> float:
    """f* + target (f(0) - f*), f* being the least f that bocce or a long run of a peer finds."""
    start = objective.value(objective.start())
    ours = entrants[0]
    values = [objective.value(ours.fit(case, ours.ladder[-1]))]
    peer = entrants[1]
    values.append(objective.value(peer.fit(case, peer.ladder[len(peer.ladder) // 2])))
    least = min(value for value in values if np.isfinite(value))
    return least + case.target * (start - least)


def race(case: Case, number: int, without: str = "") -> Verdict | None:
    """None where all peers miss the target: such a case says nothing of speed. ``without``: a peer
    that is left out."""
    objective = Objective(case)
    entrants = [racer for racer in racers(case, objective) if racer.name != without]
    goal = goal_of(case, objective, entrants)
    ours = climb(entrants[0], case, objective, goal, np.inf)
    if ours is None:
        return Verdict(number, case.label, {})
    found = [ours]
    for racer in entrants[1:]:
        one = climb(racer, case, objective, goal, PATIENCE * ours.seconds)
        if one is not None:
            found.append(one)
    if len(found) == 1:
        return None
    turns = TURNS * (3 if ours.seconds < SHORT else 1)
    least = {one.racer.name: one.seconds for one in found}
    for _ in range(turns):
        for one in found:
            if one.seconds > 3.0 * PATIENCE * ours.seconds:
                continue
            seconds, _ = timed(one.racer, case, one.setting)
            least[one.racer.name] = min(least[one.racer.name], seconds)
    return Verdict(number, case.label, least)


def summary(verdicts: list[Verdict], missed: list[Verdict], seed: int, worst: int) -> None:
    ratios = np.array([verdict.ratio for verdict in verdicts])
    large = float((ratios > LARGE_RATIO).mean())
    print(
        f"{ratios.size} cases: median ratio {np.median(ratios):.2f}, 90 % below "
        f"{np.quantile(ratios, 0.9):.2f}, {100 * large:.1f} % above {LARGE_RATIO:g}, "
        f"bocce first on {100 * float((ratios <= 1.0).mean()):.0f} %"
    )
    for verdict in sorted(verdicts, key=lambda one: -one.ratio)[:worst]:
        print(
            f"  {verdict.ratio:6.2f} of {verdict.peer} ({1e3 * verdict.seconds[OURS]:.1f} ms): "
            f"{verdict.label}\n         python benchmarks/hunt.py --seed {seed} --case "
            f"{verdict.number}"
        )
    for verdict in missed:
        print(f"  bocce misses the target: case {verdict.number}, {verdict.label}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--case", type=int, nargs="+", help="only these cases, with all times")
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--out", type=Path, help="a file of JSON lines, one a case")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.case is not None:
        for number in args.case:
            verdict = race(draw(args.seed, number), number)
            if verdict is None:
                print(f"case {number}: no peer reaches the target")
                continue
            times = sorted(verdict.seconds.items(), key=lambda pair: pair[1])
            shown = ", ".join(f"{name} {1e3 * seconds:.2f}" for name, seconds in times)
            print(f"{verdict.label}\n  ms: {shown or 'bocce misses the target'}")
        return
    end = time.monotonic() + 60.0 * args.minutes
    verdicts: list[Verdict] = []
    missed: list[Verdict] = []
    number = 0
    while time.monotonic() < end:
        verdict = race(draw(args.seed, number), number)
        number += 1
        if verdict is None:
            continue
        (verdicts if OURS in verdict.seconds else missed).append(verdict)
        if args.out is not None:
            with args.out.open("a") as file:
                file.write(json.dumps(verdict._asdict()) + "\n")
    summary(verdicts, missed, args.seed, args.worst)


if __name__ == "__main__":
    main()
