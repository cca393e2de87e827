"""Pictures on paper: PNG and PDF by matplotlib."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bocce.cli.commands import atomic_write

from .canvas import Formula, Grid, Panel, Picture, Stroke, Surface, in_legend_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# The size of a panel with its labels, in inches.
WIDTH = 3.6
HEIGHT = 2.7
TITLE = 0.45  # The height of the picture's title, in inches.
POINTS = 400  # A line has this many points.
MARKS = 7  # A line has about this many markers.


def save(picture: Picture, folder: Path) -> list[Path]:
    """NAME.png and NAME.pdf in ``folder``, complete or not at all."""
    figure = render(picture)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind in ("png", "pdf"):
        path = folder / f"{picture.name}.{kind}"
        # Without a date inside, the same numbers give the same file.
        if kind == "pdf":
            metadata = {"CreationDate": None}
        else:
            metadata = {"Software": None}
        with atomic_write(path) as stream:
            figure.savefig(stream, format=kind, dpi=130, metadata=metadata)
        paths.append(path)
    return paths


def render(picture: Picture) -> Figure:
    """A matplotlib figure of a picture: its panels, and one legend below for all of them."""
    from matplotlib.figure import Figure

    if picture.grid is not None:
        return _grid(picture.grid, picture.title)
    if picture.formula is not None:
        return _formula(picture.formula, picture.title)
    columns = min(picture.columns, len(picture.panels)) or 2
    rows = math.ceil(len(picture.panels) / columns)
    width = WIDTH * columns
    strokes = picture.strokes()
    if picture.own_legends:
        names = []
    else:
        names = [s.line.name for part in strokes for s in part if s.first]
    across = int(width / (0.55 + 0.075 * max(map(len, names), default=1)))
    across = max(1, min(len(names), across))
    words = _wrapped("; ".join(filter(None, [picture.legend, *picture.notes])), 1.1 * width)
    below = math.ceil(len(names) / across) + len(words.splitlines())
    size = (width, HEIGHT * rows + TITLE + 0.2 * below)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(_wrapped(picture.title, width), fontsize=11)
    handles: dict[str, Any] = {}
    for place, (panel, part) in enumerate(zip(picture.panels, strokes), start=1):
        if panel.surface is not None:
            ax = figure.add_subplot(rows, columns, place, projection="3d")
            _surface(figure, ax, panel.surface)
        else:
            ax = figure.add_subplot(rows, columns, place)
            handles |= _panel(ax, panel, part, len(picture.names))
            if picture.own_legends:
                ax.legend(fontsize="x-small", frameon=False)
        # With a given y, matplotlib does not search for a place, a fifth of all time.
        ax.set_title(panel.title, fontsize="medium", y=1.0, pad=5.0)
        ax.set_xlabel(panel.xlabel, fontsize="small")
        ax.set_ylabel(panel.ylabel, fontsize="small")
    if names or words:
        names = in_legend_order(names)
        style: Any = {"fontsize": "small", "title_fontsize": "small", "frameon": False}
        shown = ([handles[name] for name in names], names)
        figure.legend(
            *shown, loc="outside lower center", ncols=across, title=words or None, **style
        )
    return figure


def _wrapped(text: str, inches: float) -> str:
    return "\n".join(textwrap.wrap(text, int(inches * 11)))


def _panel(ax: Axes, panel: Panel, strokes: list[Stroke], names: int) -> dict[str, Any]:
    """Draw a panel of lines; returns the lines of the legend by name."""
    ax.tick_params(labelsize="small")
    ax.grid(alpha=0.3, lw=0.5)
    handles = {s.line.name: _line(ax, s, names) for s in strokes if s.first}
    for stroke in strokes:
        if not stroke.first:
            _line(ax, stroke, names)
    if panel.xlog:
        ax.set_xscale("log")
        left, right = ax.get_xlim()
        _log_ticks(ax.xaxis, math.log10(right / left))
    else:
        _plain_ticks(ax.xaxis)
    if panel.ylog:
        ax.set_yscale("log")
        bottom, top = panel.span()
        if top / bottom < 1e100:
            margin = (top / bottom) ** 0.05
        else:
            margin = 10.0
        ax.set_ylim(bottom / margin, top * margin)
        _log_ticks(ax.yaxis, math.log10(top / bottom))
    if panel.same():
        wrapped = [
            textwrap.fill(f"one curve: {x}", 34, break_on_hyphens=False) for x in panel.same()
        ]
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": "0.7", "alpha": 0.85, "lw": 0.5}
        x, y, across, down = panel.empty_place()
        style: Any = {"ha": across, "va": down.replace("middle", "center"), "size": 6.5}
        ax.text(x, y, "\n".join(wrapped), transform=ax.transAxes, bbox=box, **style)
    return handles


def _line(ax: Axes, stroke: Stroke, names: int) -> Any:
    line = stroke.line
    keep = line.thinned(POINTS)
    points = line.role == "points"
    x = line.x[keep]
    y = line.y[keep]
    every = 1 if points else max(1, x.size // MARKS)
    first = (stroke.place * every) // max(1, names)  # The marks of two lines do not coincide.
    dashes: Any = (0, stroke.dash) if stroke.dash else "-"
    (handle,) = ax.plot(
        x,
        y,
        color=stroke.colour,
        ls="" if points else dashes,
        lw=0.8 if stroke.thin else 1.4,
        marker=stroke.marker,
        markevery=(first, every) if x.size > 2 * MARKS else None,
        ms=3 if points else 7 if stroke.marker in ("*", "3") else 4.5,
        alpha=0.9,
        label=line.name if stroke.first else None,
    )
    if line.band is not None:
        ax.fill_between(x, *line.band[:, keep], color=stroke.colour, alpha=0.15, lw=0)
    return handle


def _surface(figure: Figure, ax: Any, surface: Surface) -> None:
    x, y = np.meshgrid(surface.x, surface.y)
    drawn = ax.plot_surface(x, y, surface.values, cmap="viridis", linewidth=0, antialiased=True)
    ax.plot_surface(x, y, np.zeros_like(x), color="0.6", alpha=0.25, linewidth=0)
    ax.tick_params(labelsize="x-small", pad=0)
    ax.view_init(elev=22, azim=-128)
    for axis in ("x", "y", "z"):
        ax.locator_params(axis=axis, nbins=4)
    bar = figure.colorbar(drawn, ax=ax, pad=0.12, shrink=0.7)
    bar.ax.set_title(surface.zlabel, fontsize="small")
    bar.ax.tick_params(labelsize="x-small")


def _log_ticks(axis: Axis, decades: float) -> None:
    """Few ticks in plain text. Matplotlib's own ticks make the drawing 1.6 times as long."""
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


def _formula(formula: Formula, title: str) -> Figure:
    """Lines of mathematics, set by matplotlib."""
    from matplotlib.figure import Figure

    lines = [formula.head, *(line.latex for line in formula.lines)]
    step = 1.0 / (len(lines) + 4)
    figure = Figure(figsize=(7.5, 0.27 / step))
    figure.suptitle(title, fontsize=12)
    for place, line in enumerate(lines):
        indent = 0.05 if line.startswith("+") else 0.02
        figure.text(indent, 1.0 - (place + 2.3) * step, f"${line}$" if line else "", fontsize=9.5)
    figure.text(0.02, 0.4 * step, _wrapped(formula.note, 7.5), fontsize=8)
    return figure


def _grid(grid: Grid, title: str) -> Figure:
    """A table of numbers as a picture."""
    from matplotlib.figure import Figure

    widths = [max(map(len, column)) + 2 for column in zip(grid.columns, *grid.cells)]
    side = max(map(len, grid.rows))
    width = max(6.0, 0.078 * (side + sum(widths)) + 0.6)
    note = _wrapped(grid.note, 1.3 * width)
    # The margins, in inches.
    above = 0.4
    below = 0.2 * (note.count("\n") + 2)
    height = 0.26 * (len(grid.rows) + 1) + above + below
    figure = Figure(figsize=(width, height))
    figure.suptitle(title, fontsize=11, y=1.0 - 0.1 / height, va="top")
    left = 0.078 * (side + 4) / width
    ax = figure.add_axes((left, below / height, 0.99 - left, 1.0 - (above + below) / height))
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
