"""Stored numbers as claims and figures ask for them: curves with their spread, and tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from .specs import EXACT, SETTINGS, TABLE, Key, Outcome

T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # Student's quantile for the mean of so many
NONE = np.zeros(0)
Panels = dict[str, dict[str, dict[str, Outcome]]]  # Outcomes by panel, method and seed.


@dataclass(frozen=True)
class Trajectory:
    """A method on a panel: the mean over seeds with its spread, and the exact root mean square.

    ``best`` is what claims are judged on: the exact curve where there is one, else the mean.
    A run that diverged is infinite from where it stopped.
    """

    k: np.ndarray
    runs: np.ndarray  # (seeds, k), possibly none
    exact_k: np.ndarray
    exact: np.ndarray  # empty where there is no expectation
    evaluations: np.ndarray
    error: np.ndarray  # exact root mean square distance to the minimiser

    @property
    def mean(self) -> np.ndarray:
        return self.runs.mean(axis=0) if self.runs.size else NONE

    @property
    def std(self) -> np.ndarray:
        """The standard deviation over seeds; 0 of a single run."""
        if len(self.runs) < 2:
            return np.zeros_like(self.mean)
        with np.errstate(invalid="ignore"):
            spread: np.ndarray = self.runs.std(axis=0, ddof=1)
        return spread

    @property
    def best(self) -> tuple[np.ndarray, np.ndarray]:
        if self.exact.size:
            return self.exact_k, self.exact
        return self.k, self.mean

    @property
    def start(self) -> float:
        return float(self.best[1][0])

    @property
    def last(self) -> float:
        return float(self.best[1][-1])

    @property
    def diverged(self) -> bool:
        """Did it end above where it began?"""
        return not self.last < self.start

    def first_below(self, level: float) -> float:
        """The first recorded k at which the curve is at most ``level``; inf if there is none."""
        k, values = self.best
        hit = np.flatnonzero(values <= level)
        if hit.size:
            return float(k[hit[0]])
        return math.inf

    def on_runs(self) -> Trajectory:
        """The same curve judged on its runs, where it has some."""
        if self.runs.size:
            return replace(self, exact_k=NONE, exact=NONE)
        return self


def interval(values: np.ndarray) -> tuple[float, float]:
    """Student's 95 % interval for a mean; a single value is known to nothing.

    >>> interval(np.array([1.0, 3.0]))
    (-10.706, 14.706)
    """
    count = values.size
    if count < 2 or not np.isfinite(values).all():
        return -math.inf, math.inf
    half = T_95.get(count, 2.0) * float(values.std(ddof=1)) / math.sqrt(count)
    return round(float(values.mean()) - half, 12), round(float(values.mean()) + half, 12)


@dataclass(frozen=True)
class Results:
    """Everything that was stored, by (figure, setting, panel, method, seed)."""

    outcomes: dict[Key, Outcome]

    @cached_property
    def figures(self) -> dict[tuple[str, str], Panels]:
        """The panels of each figure and setting, in the order of the cells."""
        found: dict[tuple[str, str], Panels] = {}
        for (figure, setting, panel, method, seed), outcome in self.outcomes.items():
            panels = found.setdefault((figure, setting), {})
            panels.setdefault(panel, {}).setdefault(method, {})[seed] = outcome
        return found

    def settings(self, figure: str) -> list[str]:
        return [setting for setting in SETTINGS if (figure, setting) in self.figures]

    def stand_ins(self, figure: str) -> list[str]:
        """Data sets that stand in for others, and data that are missing, in words."""
        said: dict[str, None] = {}
        for key in (key for key in self.outcomes if key[0] == figure):
            notes = self.outcomes[key].notes
            found = notes.get("data", "")
            if key[2] == "rcv1" and found and not found.startswith("rcv1"):
                said[f"{found} stands in for rcv1"] = None
            if "missing" in notes and key[4].isdigit():
                name = notes.get("wanted", key[2])
                said[f"{name} is not on this machine (BOCCE_DATA names a folder to look in)"] = None
        return list(said)


@dataclass(frozen=True)
class FigureView:
    """The results of one figure under one setting: what its claims and its picture ask for."""

    results: Results
    figure: str
    setting: str = "paper"

    @property
    def _panels(self) -> Panels:
        return self.results.figures.get((self.figure, self.setting), {})

    def _seeds(self, panel: str, method: str) -> dict[str, Outcome]:
        return self._panels.get(panel, {}).get(method, {})

    @property
    def panels(self) -> list[str]:
        """The panels with curves, in the order of the cells."""
        return [
            name for name, methods in self._panels.items() if {*chain(*methods.values())} - {TABLE}
        ]

    @property
    def seed_count(self) -> int:
        """How many runs a curve is the mean of."""
        seeds = {seed for panel in self._panels.values() for seed in chain(*panel.values())}
        return sum(map(str.isdigit, seeds))

    def methods(self, panel: str) -> list[str]:
        return list(self._panels[panel])

    def table(self, panel: str, method: str) -> Outcome:
        """A table; empty if it was not computed."""
        return self._seeds(panel, method).get(TABLE, Outcome())

    def numbers(self, panel: str, method: str) -> dict[str, np.ndarray]:
        """The columns of a table."""
        return self.table(panel, method).numbers

    def seeds(self, panel: str, method: str) -> list[Outcome]:
        """The outcomes of sampled runs; without those whose data are missing."""
        found = self._seeds(panel, method)
        runs = [found[seed] for seed in sorted(filter(str.isdigit, found), key=int)]
        return [outcome for outcome in runs if "missing" not in outcome.notes]

    def note(self, panel: str, name: str) -> str:
        """The first note of this name in a panel, such as "missing"; empty if there is none."""
        notes = (o.notes for seeds in self._panels[panel].values() for o in seeds.values())
        return next((note[name] for note in notes if name in note), "")

    def curves(self, panel: str) -> dict[str, Trajectory]:
        """The curve of each method."""
        return {method: self.curve(panel, method) for method in self.methods(panel)}

    def curve(self, panel: str, method: str) -> Trajectory:
        runs = self.seeds(panel, method)
        expected = self._seeds(panel, method).get(EXACT, Outcome()).numbers

        def longest(name: str) -> np.ndarray:
            return max((run.numbers[name] for run in runs), key=len, default=NONE)

        k = longest("k")
        evaluations = longest("gradient_evaluations")
        stacked = np.full((len(runs), len(k)), np.inf)
        for row, run in zip(stacked, runs):
            row[: len(run.numbers["grad_norm"])] = run.numbers["grad_norm"]
        if runs and all(run.notes["status"] == "diverged" for run in runs):
            # one more point, infinite: every run stopped short, before the value was too large
            k, evaluations = (np.append(x, x[-1:] + 1) for x in (k, evaluations))
            stacked = np.column_stack([stacked, np.full(len(stacked), np.inf)])
        exact_k, exact, error = (expected.get(x, NONE) for x in ("k", "grad_norm", "error"))
        return Trajectory(k, stacked, exact_k, exact, evaluations, error)
