"""What a figure shows, apart from how it is drawn: panels of lines, a surface or a table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .results import FigureView, Trajectory

DECADES = 17.0
HEADROOM = 1e3  # a curve that grows beyond so many times the start leaves the panel
ONE_CURVE = 1e-3  # lines that are so close, relatively, are called one
PLACES = ((0.98, 0.97), (0.98, 0.03), (0.02, 0.03), (0.02, 0.97), (0.98, 0.5))  # for words
GRADIENT = "gradient norm (log)"
ITERATION = "iteration"
SETTING_WORDS = {
    "paper": "as the paper says",
    "released-rows": "the paper's methods on the rows of the released code",
    "authors": "as the released code does",
    "published": "as the published panel was made",
}


@dataclass(frozen=True)
class Line:
    """``role``: "runs" (mean over seeds, with a band), "exact" (dashed over runs), "guide" (thin)
    or "points" (marks without a line)."""

    name: str
    x: np.ndarray
    y: np.ndarray
    role: str = "exact"
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    def lies_on(self, other: Line) -> bool:
        """Can the two not be told apart?"""
        if self.x.shape != other.x.shape or not np.array_equal(self.x, other.x):
            return False
        return bool(np.allclose(self.y, other.y, rtol=ONE_CURVE, atol=0.0))

    def thinned(self, points: int) -> np.ndarray:
        """Which of its points to draw where so many are enough."""
        return np.unique(np.linspace(0, self.x.size - 1, min(points, self.x.size)).astype(int))


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
    lines: tuple[Line, ...] = ()
    xlog: bool = False
    ylog: bool = True
    surface: Surface | None = None
    decades: float = DECADES  # that a log axis shows at most

    def span(self) -> tuple[float, float]:
        """The least and the largest y that a log axis shows."""
        values = np.concatenate([line.y for line in self.lines if line.y.size] or [np.ones(1)])
        top = float(values.max())
        return max(float(values.min()), top * 10.0**-self.decades), top

    def empty_place(self) -> tuple[float, float]:
        """The place (x, y), in shares of the panel, near which the fewest lines pass."""
        drawn = [line for line in self.lines if line.x.size]
        if not drawn:
            return PLACES[0]
        wide = np.concatenate([line.x for line in drawn])
        wide = wide[wide > 0.0] if self.xlog else wide
        y = np.concatenate([line.y for line in drawn])
        low, high = self.span() if self.ylog else (float(y.min()), float(y.max()))
        passing = dict.fromkeys(PLACES, 0)
        for line in drawn:
            u = _share(line.x, float(wide.min()), float(wide.max()), self.xlog)
            v = _share(line.y, low, high, self.ylog)
            at = np.linspace(u.min(), u.max(), 100)
            height = np.interp(at, u, v)
            for place in PLACES:
                near = (np.abs(at - place[0]) < 0.5) & (np.abs(height - place[1]) < 0.2)
                passing[place] += int(near.sum())
        return min(PLACES, key=lambda place: passing[place])

    def same(self) -> list[str]:
        """Lines that lie on one another, as "a = b = c"."""
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
    """Where values lie on an axis from ``low`` to ``high``: 0 at its beginning, 1 at its end."""
    if log:
        values, low, high = np.log(np.clip(values, low, high)), math.log(low), math.log(high)
    return (values - low) / max(high - low, 1e-300)


@dataclass(frozen=True)
class Sum:
    """P_j = x^power (c beta^p + ...); ``j`` is 0 where the line before goes on."""

    j: int
    power: int
    terms: tuple[tuple[int, int], ...]  # coefficient and exponent of beta

    @property
    def latex(self) -> str:
        r"""
        >>> Sum(1, 0, ((2, 3), (-1, 0))).latex, Sum(0, 2, ((-1, 1), (4, 0))).latex
        ('P_{1} = 2 \\beta^{3} - 1', '+ x^{2} (-\\beta + 4)')
        """
        inner = ""
        for place, (coefficient, exponent) in enumerate(self.terms):
            sign = "-" if coefficient < 0 else "+"
            shown = "" if place == 0 and sign == "+" else f"{sign} " if place else sign
            letter = {0: "", 1: r"\beta"}.get(exponent, rf"\beta^{{{exponent}}}")
            size = abs(coefficient)
            number = "" if size == 1 and letter else str(size)
            inner += f"{' ' * bool(place)}{shown}{number}{' ' * bool(number and letter)}{letter}"
        name = f"P_{{{self.j}}} = " if self.j else "+ "
        if self.power == 0:
            return name + inner
        x = "x" if self.power == 1 else f"x^{{{self.power}}}"
        if len(self.terms) == 1 and self.terms[0][0] > 0:
            return name + (f"{x} {inner}" if inner != "1" else x)
        return name + f"{x} ({inner})"


@dataclass(frozen=True)
class Formula:
    """A line of mathematics and the sums that it names."""

    head: str  # LaTeX
    lines: tuple[Sum, ...]
    note: str


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
    """A figure under one setting: ``name`` is its file's, ``seeds`` how many runs are averaged."""

    name: str = ""
    title: str = ""
    columns: int = 1
    panels: tuple[Panel, ...] = ()
    grid: Grid | None = None
    formula: Formula | None = None
    seeds: int = 0
    notes: tuple[str, ...] = field(default_factory=tuple)  # without panels: why there are none
    own_legends: bool = False  # panels show different things: each has a legend of its own

    @property
    def dashed(self) -> bool:
        """Are exact expectations drawn beside runs?"""
        return any(over_runs(panel, line) for panel in self.panels for line in panel.lines)

    @property
    def legend(self) -> str:
        """What lines, bands and dashes mean."""
        if not self.seeds:
            return ""
        many = self.seeds > 1
        runs = f"mean of {self.seeds} runs, band: one standard deviation" if many else "one run"
        return f"solid: {runs}" + ("; dashed: exact root mean square" if self.dashed else "")


def runs_picture(
    view: FigureView, columns: int, panels: list[Panel], notes: tuple[str, ...] = ()
) -> Picture:
    """A picture of sampled curves, which says how many runs they are the mean of."""
    return Picture(columns=columns, panels=tuple(panels), seeds=view.seed_count, notes=notes)


def names_of(picture: Picture) -> list[str]:
    """Every line's name once: its place decides the style of one without a style of its own."""
    return list(dict.fromkeys(line.name for panel in picture.panels for line in panel.lines))


def in_legend_order(names: list[str]) -> list[str]:
    """As they come, unless all are values of one letter.

    >>> in_legend_order(["ν=0.1", "ν=10", "ν=0.01"]), in_legend_order(["SHB", "SGD"])
    (['ν=0.01', 'ν=0.1', 'ν=10'], ['SHB', 'SGD'])
    """
    letters = {name.partition("=")[0] for name in names}
    if len(letters) > 1 or not all("=" in name for name in names):
        return names
    return sorted(names, key=lambda name: float(name.partition("=")[2]))


def over_runs(panel: Panel, line: Line) -> bool:
    """Is it the expectation of a curve that is sampled in the same panel?"""
    sampled = {other.name for other in panel.lines if other.role == "runs"}
    return line.role == "exact" and line.name in sampled


def visible(x: np.ndarray, y: np.ndarray, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Up to where a curve leaves the panel, and no zeros on a log axis."""
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
            low = np.maximum(mean - spread, 0.1 * mean)
            made.append(Line(name, at, mean, "runs", low, mean + spread))
        if curve.exact.size:
            made.append(Line(name, *visible(curve.exact_k, curve.exact, top), "exact"))
    return made


def curve_panels(view: FigureView, methods: tuple[str, ...]) -> list[Panel]:
    """A panel for each (kappa, r): every method against the iterations."""
    panels = []
    for panel in view.panels:
        curves = view.curves(panel)
        lines = [x for m in methods if m in curves for x in method_lines(m, curves[m])]
        if lines:
            panels.append(Panel(words_of(panel), ITERATION, GRADIENT, tuple(lines)))
    return panels


def words_of(panel: str) -> str:
    """
    >>> words_of("kappa=1000, r=1e-02")
    'κ = 1000, r = 1e-2'
    """
    return panel.replace("=", " = ").replace("e-0", "e-").replace("kappa", "κ")
