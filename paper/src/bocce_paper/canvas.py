"""What a figure shows, apart from how it is drawn: panels of lines, a surface or a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .results import FigureView, Trajectory
from .styles import style_of

DECADES = 17.0  # A logarithmic axis shows at most this many decades.
HEADROOM = 1e3  # A curve that grows beyond this many times its start leaves the panel.
ONE_CURVE = 1e-3  # Lines within this relative distance are called one curve.
PLACES = ((0.98, 0.97), (0.98, 0.03), (0.02, 0.03), (0.02, 0.97), (0.98, 0.5))  # Places for words.
GRADIENT = "gradient norm (log)"
ITERATION = "iteration"
SETTING_WORDS = {
    "paper": "the paper's words, on rows of equal size: our reading",
    "released-rows": "the paper's methods on the rows of the released code",
    "authors": "the released code, its methods on its rows",
    "published": "fitted to the one panel in the notebook of the release",
}


@dataclass(frozen=True)
class Line:
    """``role``: "runs" (mean over seeds, with a band), "exact" (dashed over runs), "guide" (thin)
    or "points" (marks without a line). ``band`` has two rows, its lower and its upper end."""

    name: str
    x: np.ndarray
    y: np.ndarray
    role: str = "exact"
    band: np.ndarray | None = None

    def lies_on(self, other: Line) -> bool:
        """Whether the two lines look like one."""
        if not np.array_equal(self.x, other.x):
            return False
        return bool(np.allclose(self.y, other.y, rtol=ONE_CURVE, atol=0.0))

    def thinned(self, points: int) -> np.ndarray:
        """The indices of about so many of the points."""
        return np.unique(np.linspace(0, self.x.size - 1, min(points, self.x.size)).astype(int))


@dataclass(frozen=True)
class Stroke:
    """How a line is drawn, in print and on the screen.

    ``dash`` is a pattern of lengths, empty for a solid line. ``marker`` is matplotlib's letter.
    ``place`` is the place of the line's name among all names. The legend has the ``first`` stroke
    of each name.
    """

    line: Line
    colour: str
    marker: str
    dash: tuple[int, ...]
    thin: bool
    place: int
    first: bool


@dataclass(frozen=True)
class Surface:
    """values[j, i] over x[i] and y[j]."""

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    zlabel: str


@dataclass(frozen=True)
class Panel:
    title: str
    xlabel: str = ""
    ylabel: str = ""
    lines: Sequence[Line] = ()
    xlog: bool = False
    ylog: bool = True
    surface: Surface | None = None
    decades: float = DECADES

    def span(self) -> tuple[float, float]:
        """The smallest and the largest y that a logarithmic axis shows."""
        values = np.concatenate([line.y for line in self.lines if line.y.size] or [np.ones(1)])
        top = float(values.max())
        return max(float(values.min()), top * 10.0**-self.decades), top

    def empty_place(self) -> tuple[float, float, str, str]:
        """The place near which the fewest lines pass: x and y in shares of the panel, and the
        horizontal and vertical alignment of words there."""
        drawn = [line for line in self.lines if line.x.size]
        points = [np.zeros((0, 2))]
        wide = np.concatenate([line.x for line in drawn] or [np.ones(1)])
        wide = wide[wide > 0.0] if self.xlog else wide
        y = np.concatenate([line.y for line in drawn] or [np.ones(1)])
        low, high = self.span() if self.ylog else (float(y.min()), float(y.max()))
        for line in drawn:
            u = _share(line.x, float(wide.min()), float(wide.max()), self.xlog)
            v = _share(line.y, low, high, self.ylog)
            at = np.linspace(u.min(), u.max(), 100)
            points.append(np.column_stack([at, np.interp(at, u, v)]))
        away = np.abs(np.concatenate(points) - np.array(PLACES)[:, None])
        across, up = PLACES[int(np.argmin((away < (0.5, 0.2)).all(axis=2).sum(axis=1)))]
        if up > 0.9:
            down = "top"
        else:
            down = "bottom" if up < 0.1 else "middle"
        return across, up, "right" if across > 0.5 else "left", down

    def over_runs(self, line: Line) -> bool:
        """Whether the line is the expectation of a curve that is sampled in this panel."""
        sampled = {other.name for other in self.lines if other.role == "runs"}
        return line.role == "exact" and line.name in sampled

    def same(self) -> list[str]:
        """The names of lines that lie on one another, in the form "a = b = c"."""
        groups: list[list[Line]] = []
        for line in self.lines:
            if line.role != "guide" and line.y.size > 2:
                near = next((group for group in groups if line.lies_on(group[0])), None)
                if near is None:
                    groups.append(near := [])
                near.append(line)
        joined = [list(dict.fromkeys(line.name for line in group)) for group in groups]
        return list(dict.fromkeys(" = ".join(names) for names in joined if len(names) > 1))


def _share(values: np.ndarray, low: float, high: float, log: bool) -> np.ndarray:
    """The places of values on an axis from ``low`` (0) to ``high`` (1)."""
    if log:
        values = np.log(np.clip(values, low, high))
        low = math.log(low)
        high = math.log(high)
    return (values - low) / max(high - low, 1e-300)


@dataclass(frozen=True)
class Sum:
    """P_j = x^power (c beta^p + ...), with a pair (c, p) for each of ``terms``. ``j`` is 0 if the
    line before goes on."""

    j: int
    power: int
    terms: tuple[tuple[int, int], ...]

    @property
    def latex(self) -> str:
        r"""
        >>> Sum(1, 0, ((2, 3), (-1, 0))).latex, Sum(0, 2, ((-1, 1), (4, 0))).latex
        ('P_{1} = 2\\beta^{3} - 1', '+ x^{2} (- \\beta + 4)')
        """
        inner = ""
        for coefficient, exponent in self.terms:
            letter = {0: "", 1: r"\beta"}.get(exponent, rf"\beta^{{{exponent}}}")
            if abs(coefficient) == 1 and letter:
                number = ""
            else:
                number = str(abs(coefficient))
            inner += f" {'-' if coefficient < 0 else '+'} {number}{letter}"
        inner = inner.removeprefix(" + ").strip()
        name = f"P_{{{self.j}}} = " if self.j else "+ "
        if self.power == 0:
            return name + inner
        x = "x" if self.power == 1 else f"x^{{{self.power}}}"
        return name + (x if inner == "1" else f"{x} ({inner})")


@dataclass(frozen=True)
class Formula:
    """A line of mathematics and the sums that it names."""

    head: str  # LaTeX
    lines: Sequence[Sum]
    note: str


@dataclass(frozen=True)
class Grid:
    """A table of numbers with words on top and at the side; ``marked`` cells stand out."""

    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Sequence[str]]
    marked: np.ndarray
    note: str


@dataclass(frozen=True)
class Picture:
    """A figure under one setting.

    ``name`` is the name of its file. ``seeds`` is the number of runs that are averaged. ``notes``
    stand below; without panels the notes say why there are none. With ``own_legends`` the panels
    show different things, and each panel has its own legend.
    """

    name: str = ""
    title: str = ""
    columns: int = 1
    panels: Sequence[Panel] = ()
    grid: Grid | None = None
    formula: Formula | None = None
    seeds: int = 0
    notes: tuple[str, ...] = ()
    own_legends: bool = False

    @property
    def legend(self) -> str:
        """The meaning of lines, bands and dashes."""
        if not self.seeds:
            return ""
        runs = f"mean of {self.seeds} runs, band: one standard deviation"
        dashed = any(panel.over_runs(line) for panel in self.panels for line in panel.lines)
        exact = "; dashed: exact root mean square" * dashed
        return f"solid: {runs if self.seeds > 1 else 'one run'}{exact}"

    @property
    def names(self) -> list[str]:
        """The name of every line, once."""
        return list(dict.fromkeys(line.name for panel in self.panels for line in panel.lines))

    def strokes(self) -> list[list[Stroke]]:
        """The lines of each panel as they are drawn."""
        names = self.names
        seen: set[str] = set()
        found: list[list[Stroke]] = []
        for panel in self.panels:
            if self.own_legends:
                seen = set()
            found.append([])
            for line in (line for line in panel.lines if line.x.size):
                place = names.index(line.name)
                guide = line.role == "guide"
                style = style_of(line.name, place)
                over = panel.over_runs(line)
                dash = style.dash or ((4, 2) if over else (2, 2) if guide else ())
                if over:
                    colour = _darker(style.colour)
                else:
                    colour = style.colour
                marker = "" if guide or over else style.marker
                first = line.name not in seen
                found[-1].append(Stroke(line, colour, marker, dash, over or guide, place, first))
                seen.add(line.name)
        return found


def _darker(colour: str) -> str:
    """Two thirds of a colour's light, so that a dashed line over its own solid line is seen."""
    parts = [int(int(colour[i : i + 2], 16) * 0.66) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def in_legend_order(names: list[str]) -> list[str]:
    """The names in their order; names that are values of one letter are sorted by value.

    >>> in_legend_order(["ν=0.1", "ν=10", "ν=0.01"]), in_legend_order(["SHB", "SGD"])
    (['ν=0.01', 'ν=0.1', 'ν=10'], ['SHB', 'SGD'])
    """
    letters = {name.partition("=")[0] for name in names}
    if len(letters) > 1 or not all("=" in name for name in names):
        return names
    return sorted(names, key=lambda name: float(name.partition("=")[2]))


def visible(x: np.ndarray, y: np.ndarray, top: float = 1e300) -> tuple[np.ndarray, np.ndarray]:
    """A curve up to the point at which it leaves the panel or is not positive."""
    good = np.isfinite(y) & (y > 0.0) & (y <= top)
    stop = int(np.argmin(np.append(good, False)))
    return x[:stop], y[:stop]


def method_lines(
    name: str, curve: Trajectory, x: np.ndarray | None = None, headroom: float = HEADROOM
) -> list[Line]:
    """The mean over runs with one standard deviation, and the exact root mean square."""
    made = []
    with np.errstate(invalid="ignore", over="ignore"):
        top = headroom * curve.start
        if curve.runs.size:
            at, mean = visible(curve.k if x is None else x, curve.mean, top)
            spread = curve.std[: at.size]
            # a band that reaches 0 would leave the log axis: it ends a decade below the mean
            band = np.array([np.maximum(mean - spread, 0.1 * mean), mean + spread])
            made.append(Line(name, at, mean, "runs", band))
        if curve.exact.size:
            made.append(Line(name, *visible(curve.exact_k, curve.exact, top), "exact"))
    return made


def error_lines(view: FigureView, panel: str, headroom: float = math.inf) -> list[Line]:
    """The exact root mean square error of every method of a panel."""
    return [
        Line(
            name.replace("nu", "ν"), *visible(c.exact_k, c.error, min(1e300, headroom * c.error[0]))
        )
        for name, c in view.curves(panel).items()
    ]


def curve_panels(view: FigureView, methods: tuple[str, ...]) -> list[Panel]:
    """A panel for each (kappa, r): every method against the iterations."""
    panels = []
    for panel in view.panels:
        curves = view.curves(panel)
        lines = [x for m in methods if m in curves for x in method_lines(m, curves[m])]
        if lines:
            panels.append(Panel(words_of(panel), ITERATION, GRADIENT, lines))
    return panels


def words_of(panel: str) -> str:
    """
    >>> words_of("kappa=1000, r=1e-02")
    'κ = 1000, r = 1e-2'
    """
    return panel.replace("=", " = ").replace("e-0", "e-").replace("kappa", "κ")
