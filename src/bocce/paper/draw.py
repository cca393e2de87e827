"""Pictures on paper: PNG and PDF by matplotlib."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._atomic import atomic_write
from .._pictures import require_matplotlib
from .canvas import (
    Formula,
    Grid,
    Line,
    Panel,
    Picture,
    Surface,
    in_legend_order,
    names_of,
    over_runs,
)
from .styles import style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.6, 2.7  # of a panel with its labels, in inches
LEFT, RIGHT, ABOVE, BELOW = 0.7, 0.12, 0.28, 0.5  # around the axes of a panel, in inches
TITLE = 0.45  # height of the picture's title, in inches
POINTS = 400  # of a line
MARKS = 7  # markers on a line


def save(picture: Picture, folder: Path) -> list[Path]:
    """NAME.png and NAME.pdf in ``folder``, whole or not at all."""
    figure = render(picture)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind in ("png", "pdf"):
        path = folder / f"{picture.name}.{kind}"
        # no date inside: the same numbers give the same file
        metadata = {"CreationDate": None} if kind == "pdf" else {"Software": None}
        with atomic_write(path) as stream:
            figure.savefig(stream, format=kind, dpi=130, metadata=metadata)
        paths.append(path)
    return paths


def render(picture: Picture) -> Figure:
    """A matplotlib figure of a picture."""
    require_matplotlib()
    from matplotlib.figure import Figure

    if picture.grid is not None:
        return _grid(picture.grid, picture.title)
    if picture.formula is not None:
        return _formula(picture.formula, picture.title)
    if not picture.panels:
        return _words(picture)
    columns = min(picture.columns, len(picture.panels))
    rows = math.ceil(len(picture.panels) / columns)
    foot = _Foot(picture, WIDTH * columns)
    size = (WIDTH * columns, HEIGHT * rows + TITLE + foot.height)
    figure = Figure(figsize=size)
    figure.suptitle(_wrapped(picture.title, size[0]), fontsize=11, y=1.0 - 0.1 / size[1], va="top")
    # Margins in inches: matplotlib's own search for them takes longer than the drawing.
    figure.subplots_adjust(
        left=LEFT / size[0],
        right=1.0 - RIGHT / size[0],
        top=1.0 - (TITLE + ABOVE) / size[1],
        bottom=(foot.height + BELOW) / size[1],
        wspace=(LEFT + RIGHT) / (WIDTH - LEFT - RIGHT),
        hspace=(ABOVE + BELOW) / (HEIGHT - ABOVE - BELOW),
    )
    names = names_of(picture)
    axes = []
    for place, panel in enumerate(picture.panels, start=1):
        kind = {"projection": "3d"} if panel.surface is not None else {}
        ax = figure.add_subplot(rows, columns, place, **kind)
        _panel(figure, ax, panel, names)
        if picture.own_legends and panel.surface is None:
            ax.legend(fontsize="x-small", frameon=False)
        axes.append(ax)
    foot.draw(figure, axes)
    return figure


def _words(picture: Picture) -> Figure:
    """A picture without panels: why there are none."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH * 2, 1.2))
    figure.suptitle(picture.title, fontsize=11)
    figure.text(0.5, 0.35, _wrapped("; ".join(picture.notes), WIDTH * 2), ha="center", fontsize=9)
    return figure


def _wrapped(text: str, inches: float) -> str:
    return "\n".join(textwrap.wrap(text, int(inches * 11)))


class _Foot:
    """One legend below for all panels, each line once, and what lines and bands mean."""

    def __init__(self, picture: Picture, width: float) -> None:
        shown = [line.name for panel in picture.panels for line in panel.lines if line.x.size]
        self.names = [] if picture.own_legends else in_legend_order(list(dict.fromkeys(shown)))
        longest = max(map(len, self.names), default=1)
        self.columns = max(1, min(len(self.names), int(width / (0.55 + 0.075 * longest))))
        title = "; ".join(filter(None, [picture.legend, *picture.notes]))
        self.title = _wrapped(title, 1.1 * width)
        lines = math.ceil(len(self.names) / self.columns) + self.title.count("\n") + bool(title)
        self.height = 0.2 * lines + 0.1 * bool(lines)

    def draw(self, figure: Figure, axes: list[Axes]) -> None:
        handles: dict[str, Any] = {}
        for ax in axes:
            for handle, label in zip(*ax.get_legend_handles_labels()):
                handles.setdefault(label, handle)
        if self.names or self.title:
            figure.legend(
                [handles[name] for name in self.names],
                self.names,
                loc="lower center",
                bbox_to_anchor=(0.5, 0.0),
                borderaxespad=0.1,
                ncols=self.columns,
                fontsize="small",
                title=self.title or None,
                title_fontsize="small",
                frameon=False,
            )


def _panel(figure: Figure, ax: Axes, panel: Panel, names: list[str]) -> None:
    # where y is given, matplotlib does not search for a place, a fifth of the whole time
    ax.set_title(panel.title, fontsize="medium", y=1.0, pad=5.0)
    if panel.surface is not None:
        _surface(figure, ax, panel, panel.surface)
        return
    ax.set_xlabel(panel.xlabel, fontsize="small")
    ax.set_ylabel(panel.ylabel, fontsize="small")
    ax.tick_params(labelsize="small")
    ax.grid(alpha=0.3, lw=0.5)
    for line in panel.lines:
        _line(ax, line, names.index(line.name), over_runs(panel, line), len(names))
    if panel.xlog:
        ax.set_xscale("log")
        left, right = ax.get_xlim()
        _log_ticks(ax.xaxis, math.log10(right / left))
    else:
        _plain_ticks(ax.xaxis)
    if panel.ylog:
        ax.set_yscale("log")
        _log_ticks(ax.yaxis, _limit(ax, panel))
    _same(ax, panel)


def _surface(figure: Figure, ax: Any, panel: Panel, surface: Surface) -> None:
    x, y = np.meshgrid(surface.x, surface.y)
    drawn = ax.plot_surface(x, y, surface.values, cmap="viridis", linewidth=0, antialiased=True)
    ax.plot_surface(x, y, np.zeros_like(x), color="0.6", alpha=0.25, linewidth=0)
    ax.set_xlabel(panel.xlabel, fontsize="small")
    ax.set_ylabel(panel.ylabel, fontsize="small")
    ax.tick_params(labelsize="x-small", pad=0)
    ax.view_init(elev=22, azim=-128)
    for axis in ("x", "y", "z"):
        ax.locator_params(axis=axis, nbins=4)
    bar = figure.colorbar(drawn, ax=ax, pad=0.12, shrink=0.7)
    bar.ax.set_title(surface.zlabel, fontsize="small")
    bar.ax.tick_params(labelsize="x-small")


def _same(ax: Axes, panel: Panel) -> None:
    """Which lines lie on one another, said where they do."""
    same = panel.same()
    if same:
        text = "\n".join(
            textwrap.fill(f"one curve: {names}", 34, break_on_hyphens=False) for names in same
        )
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "0.7", "alpha": 0.85, "lw": 0.5}
        x, y = panel.empty_place()
        across = "right" if x > 0.5 else "left"
        down = "top" if y > 0.9 else "bottom" if y < 0.1 else "center"
        ax.text(x, y, text, transform=ax.transAxes, ha=across, va=down, size=6.5, bbox=box)


def _log_ticks(axis: Axis, decades: float) -> None:
    """Few ticks: minor ones over many decades are neither read nor quick to draw."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    few = decades < 2.3
    axis.set_major_locator(LogLocator(numticks=7, subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))


def _power(value: float) -> str:
    """
    >>> _power(1e-3), _power(2e5), _power(1.0), _power(100.0)
    ('1e-3', '2e5', '1', '100')
    """
    if 0.01 <= value <= 1000.0:
        return f"{value:g}"
    digits, exponent = f"{value:.0e}".split("e")
    return f"{digits}e{int(exponent)}"


def _plain_ticks(axis: Axis) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(5))
    if axis.get_view_interval()[1] >= 10_000:
        axis.set_major_formatter(EngFormatter(sep=""))


def _limit(ax: Axes, panel: Panel) -> float:
    """Show no more decades than can be read; returns how many."""
    bottom, top = panel.span()
    margin = (top / bottom) ** 0.05 if top / bottom < 1e100 else 10.0
    ax.set_ylim(bottom / margin, top * margin)
    return math.log10(top / bottom)


def _line(ax: Axes, line: Line, place: int, over: bool, total: int) -> None:
    if line.x.size == 0:
        return
    style = style_of(line.name, place)
    keep = line.thinned(POINTS)
    x, y = line.x[keep], line.y[keep]
    guide = line.role == "guide"
    pattern: Any = (0, (4, 2)) if over else "-"
    if style.dash:
        pattern = (0, style.dash)
    elif guide:
        pattern = (0, (2, 2))
    points = line.role == "points"
    every = 1 if points else max(1, x.size // MARKS)
    first = (place * every) // max(1, total)  # marks of different lines do not sit on each other
    ax.plot(
        x,
        y,
        color=style.colour if not over else _darker(style.colour),
        ls="" if points else pattern,
        lw=0.8 if over or guide else 1.4,
        marker="" if guide or over else style.marker,
        markevery=(first, every) if x.size > 2 * MARKS else None,
        ms=3 if points else 7 if style.marker in "*3" else 4.5,
        alpha=0.9,
        label=None if over and _already(ax, line.name) else line.name,
    )
    if line.low is not None and line.high is not None:
        low, high = line.low[keep], line.high[keep]
        ax.fill_between(x, low, high, color=style.colour, alpha=0.15, lw=0)


def _already(ax: Axes, name: str) -> bool:
    return name in ax.get_legend_handles_labels()[1]


def _darker(colour: str) -> str:
    """Two thirds of a colour's light: a dashed line over its own solid one is seen."""
    parts = [int(int(colour[i : i + 2], 16) * 0.66) for i in (1, 3, 5)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def _formula(formula: Formula, title: str) -> Figure:
    """Lines of mathematics, set by matplotlib."""
    from matplotlib.figure import Figure

    lines = [formula.head, *(line.latex for line in formula.lines)]
    height = 0.27 * (len(lines) + 4)
    figure = Figure(figsize=(7.5, height))
    figure.suptitle(title, fontsize=12)
    step = 1.0 / (len(lines) + 4)
    for place, line in enumerate(lines):
        indent = 0.05 if line.startswith("+") else 0.02
        figure.text(indent, 1.0 - (place + 2.3) * step, f"${line}$" if line else "", fontsize=9.5)
    figure.text(0.02, 0.4 * step, _wrapped(formula.note, 7.5), fontsize=8)
    return figure


def _grid(grid: Grid, title: str) -> Figure:
    """A table of numbers as a picture."""
    from matplotlib.figure import Figure

    widths = [
        max(len(row[i]) for row in (grid.columns, *grid.cells)) + 2
        for i in range(len(grid.columns))
    ]
    side = max(len(row) for row in grid.rows)
    width = max(6.0, 0.078 * (side + sum(widths)) + 0.6)
    note = _wrapped(grid.note, 1.3 * width)
    above, below = 0.4, 0.2 * (note.count("\n") + 2)  # inches
    height = 0.26 * (len(grid.rows) + 1) + above + below
    figure = Figure(figsize=(width, height))
    figure.suptitle(title, fontsize=11, y=1.0 - 0.1 / height, va="top")
    left = 0.078 * (side + 4) / width
    size = (0.99 - left, 1.0 - (above + below) / height)
    ax = figure.add_axes((left, below / height, *size))
    ax.set_axis_off()
    table: Any = ax.table(
        cellText=[list(row) for row in grid.cells],
        rowLabels=list(grid.rows),
        colLabels=list(grid.columns),
        colWidths=[w / sum(widths) for w in widths],
        cellLoc="center",
        bbox=[0.0, 0.0, 1.0, 1.0],  # type: ignore[arg-type]
    )
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    for row, column in np.argwhere(grid.marked):
        cell = table[int(row) + 1, int(column)]
        cell.set_facecolor("#F5D76E")
        cell.get_text().set_weight("bold")
    figure.text(0.01, 0.1 / height, note, fontsize=8)
    return figure
