"""What a figure shows, apart from how it is drawn: panels of lines, or a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..results import Curve
from ..specs import Figure

DECADES = 17  # that a log axis shows at most
HEADROOM = 1e3  # a curve that grows beyond so many times the start leaves the panel


@dataclass(frozen=True)
class Line:
    """``role``: "runs" (mean over seeds, with a band), "exact" (dashed) or "guide" (thin)."""

    name: str
    x: np.ndarray
    y: np.ndarray
    role: str = "exact"
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    def thinned(self, points: int) -> np.ndarray:
        """Which of its points to draw where so many are enough."""
        return np.unique(np.linspace(0, self.x.size - 1, min(points, self.x.size)).astype(int))


@dataclass(frozen=True)
class Panel:
    title: str
    xlabel: str
    ylabel: str
    lines: tuple[Line, ...] = ()
    xlog: bool = False
    ylog: bool = True
    heat: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # x, y, values
    words: str = ""  # instead of a picture

    def span(self) -> tuple[float, float]:
        """The least and the largest y that a log axis shows."""
        values = np.concatenate([line.y for line in self.lines if line.y.size] or [np.ones(1)])
        top = float(values.max())
        return max(float(values.min()), top * 10.0**-DECADES), top


@dataclass(frozen=True)
class Grid:
    """A table of numbers with words on top and at the side; ``marked`` cells stand out."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    marked: np.ndarray
    note: str


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    columns: int
    panels: tuple[Panel, ...] = ()
    grid: Grid | None = None
    dashed: bool = False  # are exact expectations drawn beside runs?


def picture(figure: Figure, setting: str, panels: list[Panel], columns: int = 0) -> Picture:
    alone = len(figure.settings) == 1
    dashed = any(over_runs(panel, line) for panel in panels for line in panel.lines)
    return Picture(
        figure.label if alone else f"{figure.label}-{setting}",
        figure.title if alone else f"{figure.title} ({SETTING_WORDS[setting]})",
        columns or figure.columns,
        tuple(panels),
        dashed=dashed,
    )


def over_runs(panel: Panel, line: Line) -> bool:
    """Is it the expectation of a curve that is sampled in the same panel?"""
    sampled = {other.name for other in panel.lines if other.role == "runs"}
    return line.role == "exact" and line.name in sampled


SETTING_WORDS = {"paper": "as the paper says", "authors": "as the released code does"}
GRADIENT = "norm of the full gradient"


def visible(x: np.ndarray, y: np.ndarray, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Up to where a curve leaves the panel, and no zeros on a log axis."""
    good = np.isfinite(y) & (y > 0.0) & (y <= top)
    stop = int(np.argmin(np.append(good, False)))
    return x[:stop], y[:stop]


def method_lines(name: str, curve: Curve, x: np.ndarray | None = None) -> list[Line]:
    made = []
    with np.errstate(invalid="ignore"):
        top = HEADROOM * curve.start
        if curve.runs.size:
            at, mean = visible(curve.k if x is None else x, curve.mean, top)
            low, high = curve.runs.min(axis=0)[: at.size], curve.runs.max(axis=0)[: at.size]
            made.append(Line(name, at, mean, "runs", low, high))
        if curve.exact.size:
            made.append(Line(name, *visible(curve.exact_k, curve.exact, top), "exact"))
    return made


def words_of(panel: str) -> str:
    """
    >>> words_of("kappa=1000, r=1e-02")
    'κ = 1000, r = 1e-2'
    """
    return panel.replace("=", " = ").replace("e-0", "e-").replace("kappa", "κ")
