"""Stored numbers as claims and figures ask for them: curves with their spread, and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .compute import Outcome
from .specs import EXACT, SETTINGS, TABLE, Cell
from .store import read

Key = tuple[str, str, str, str, str]
T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # Student's quantile for the mean of so many
NONE = np.zeros(0)


@dataclass(frozen=True)
class Curve:
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
        return (self.exact_k, self.exact) if self.exact.size else (self.k, self.mean)

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
        return float(k[hit[0]]) if hit.size else math.inf

    def on_runs(self) -> Curve:
        """The same curve judged on its runs, where it has some."""
        return replace(self, exact_k=NONE, exact=NONE) if self.runs.size else self


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
    provenance: dict[Key, dict[str, Any]] = field(default_factory=dict)
    absent: tuple[Cell, ...] = ()

    @classmethod
    def load(cls, folder: Path, cells: Iterable[Cell]) -> Results:
        outcomes, provenance, absent = {}, {}, []
        for cell in cells:
            kept = read(folder, cell)
            if kept is None:
                absent.append(cell)
            else:
                outcomes[cell.key], provenance[cell.key] = kept
        return cls(outcomes, provenance, tuple(absent))

    def updated(self, folder: Path, cells: list[Cell], changed: list[Cell]) -> Results:
        """These results with some cells read anew, in the order of ``cells``."""
        new = Results.load(folder, changed)
        outcomes, provenance = self.outcomes | new.outcomes, self.provenance | new.provenance
        there = [cell.key for cell in cells if cell.key in outcomes]
        return Results(
            {key: outcomes[key] for key in there},
            {key: provenance[key] for key in there},
            tuple(cell for cell in cells if cell.key not in outcomes),
        )

    def settings(self, figure: str) -> list[str]:
        found = {key[1] for key in self.outcomes if key[0] == figure}
        return [setting for setting in SETTINGS if setting in found]

    def panels(self, figure: str, setting: str) -> list[str]:
        """The panels with curves, in the order of the cells."""
        keys = [key for key in self.outcomes if key[:2] == (figure, setting) and key[4] != TABLE]
        return list(dict.fromkeys(key[2] for key in keys))

    def tables(self, figure: str, setting: str = "paper") -> list[str]:
        """The panels with a table."""
        keys = [key for key in self.outcomes if key[:2] == (figure, setting) and key[4] == TABLE]
        return list(dict.fromkeys(key[2] for key in keys))

    def methods(self, figure: str, setting: str, panel: str) -> list[str]:
        keys = [key for key in self.outcomes if key[:3] == (figure, setting, panel)]
        return list(dict.fromkeys(key[3] for key in keys))

    def table(self, figure: str, panel: str, method: str, setting: str = "paper") -> Outcome:
        return self.outcomes[figure, setting, panel, method, TABLE]

    def seeds(self, figure: str, setting: str, panel: str, method: str) -> list[Outcome]:
        wanted = (figure, setting, panel, method)
        chosen = [key for key in self.outcomes if key[:4] == wanted and key[4].isdigit()]
        return [self.outcomes[key] for key in sorted(chosen, key=lambda key: int(key[4]))]

    def seed_count(self, figure: str, setting: str) -> int:
        """How many runs a curve of this figure is the mean of."""
        seeds = {
            key[4] for key in self.outcomes if key[:2] == (figure, setting) and key[4].isdigit()
        }
        return len(seeds)

    def missing(self, figure: str, setting: str, panel: str) -> str:
        """Why a panel is empty, or nothing."""
        for key, outcome in self.outcomes.items():
            if key[:3] == (figure, setting, panel) and "missing" in outcome.notes:
                return outcome.notes["missing"]
        return ""

    def stand_ins(self, figure: str) -> list[str]:
        """Data sets that stand in for others, and data that are missing, in words."""
        said: dict[str, None] = {}
        for key, outcome in self.outcomes.items():
            if key[0] != figure:
                continue
            found = outcome.notes.get("data", "")
            if key[2] == "rcv1" and found and not found.startswith("rcv1"):
                said[f"{found} stands in for rcv1"] = None
            if "missing" in outcome.notes and key[4].isdigit():
                said[f"{key[2]} could not be had (BOCCE_DATA names a folder to look in)"] = None
        return list(said)

    def curve(self, figure: str, setting: str, panel: str, method: str) -> Curve:
        runs = self.seeds(figure, setting, panel, method)
        expected = self.outcomes.get((figure, setting, panel, method, EXACT), Outcome())
        longest = max((run.numbers["k"] for run in runs), key=len, default=NONE)
        evaluations = max(
            (run.numbers["gradient_evaluations"] for run in runs), key=len, default=NONE
        )
        stacked = np.full((len(runs), len(longest)), np.inf)
        for row, run in zip(stacked, runs):
            row[: len(run.numbers["grad_norm"])] = run.numbers["grad_norm"]
        if runs and all(run.notes["status"] == "diverged" for run in runs):
            longest, stacked = np.append(longest, longest[-1:] + 1), _ended(stacked)
            evaluations = np.append(evaluations, evaluations[-1:] + 1)
        return Curve(
            k=longest,
            runs=stacked,
            exact_k=expected.numbers.get("k", NONE),
            exact=expected.numbers.get("grad_norm", NONE),
            evaluations=evaluations,
            error=expected.numbers.get("error", NONE),
        )


def _ended(stacked: np.ndarray) -> np.ndarray:
    """One more point, infinite: every run stopped short, before the value that was too large."""
    return np.column_stack([stacked, np.full(len(stacked), np.inf)])
