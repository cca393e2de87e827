"""Pictures on the screen: Plotly's JSON, thinned, one trace for each line of each panel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .pictures import Line, Panel, Picture, names_of, over_runs
from .styles import SYMBOLS, style_of

POINTS = 90  # of a line: enough for a panel that is a third of a screen wide
GAP = 0.35  # of a panel's width or height, between panels
ROW = 250  # pixels


def chart(picture: Picture) -> dict[str, Any]:
    """{"data": traces, "layout": layout} for Plotly.newPlot."""
    panels = picture.panels
    columns = min(picture.columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    names = names_of(picture)
    seen: set[str] = set()
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": ROW * rows + 130,
        "margin": {"l": 60, "r": 20, "t": 90, "b": 40},
        # above the panels, 28 pixels over their titles
        "legend": {
            "orientation": "h",
            "y": round(1.0 + 28.0 / (ROW * rows), 4),
            "yanchor": "bottom",
            "groupclick": "togglegroup",
        },
        "annotations": [],
        "hovermode": "closest",
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
    }
    for place, panel in enumerate(panels):
        lowest = place + columns >= len(panels)
        _axes(layout, place, divmod(place, columns), rows, columns, panel, lowest)
        data += _traces(panel, place, names, seen)
    return {"data": data, "layout": layout}


def _suffix(place: int) -> str:
    return "" if place == 0 else str(place + 1)


def _axes(
    layout: dict[str, Any],
    place: int,
    at: tuple[int, int],
    rows: int,
    columns: int,
    panel: Panel,
    lowest: bool,
) -> None:
    row, column = at
    width, height = 1.0 / (columns + GAP * (columns - 1)), 1.0 / (rows + GAP * (rows - 1))
    left, top = column * width * (1.0 + GAP), 1.0 - row * height * (1.0 + GAP)
    across, down = [left, min(1.0, left + width)], [max(0.0, top - height), top]
    common = {"gridcolor": "#e5e5e5", "zeroline": False, "linecolor": "#444", "mirror": True}
    layout[f"xaxis{_suffix(place)}"] = {
        "domain": _round(across),
        "anchor": f"y{_suffix(place)}",
        "title": {"text": panel.xlabel if lowest else "", "font": {"size": 11}},
        "type": "log" if panel.xlog else "linear",
        **common,
    }
    layout[f"yaxis{_suffix(place)}"] = {
        "domain": _round(down),
        "anchor": f"x{_suffix(place)}",
        "title": {"text": panel.ylabel if column == 0 else "", "font": {"size": 11}},
        "type": "log" if panel.ylog else "linear",
        "exponentformat": "power",
        **({"range": _decades(panel)} if panel.ylog and panel.heat is None else {}),
        **common,
    }
    layout["annotations"].append(
        {
            "text": f"<b>{panel.title}</b>",
            "x": round(sum(across) / 2, 4),
            "y": round(top, 4),
            "xref": "paper",
            "yref": "paper",
            "xanchor": "center",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 12},
        }
    )
    if panel.words:
        words = {"text": panel.words, "showarrow": False, "x": 0.5, "y": 0.5}
        refs = {"xref": f"x{_suffix(place)} domain", "yref": f"y{_suffix(place)} domain"}
        layout["annotations"].append(words | refs)


def _decades(panel: Panel) -> list[float]:
    low, high = map(math.log10, panel.span())
    margin = 0.05 * (high - low) + 0.02
    return _round([low - margin, high + margin])


def _round(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _short(values: np.ndarray) -> list[float]:
    """Four digits: more than a screen shows."""
    return [float(f"{value:.4g}") for value in values.tolist()]


def _traces(panel: Panel, place: int, names: list[str], seen: set[str]) -> list[dict[str, Any]]:
    axes = {"xaxis": f"x{_suffix(place)}", "yaxis": f"y{_suffix(place)}"}
    if panel.heat is not None:
        x, y, values = panel.heat
        rows = [_short(row) for row in values]
        heat = {"type": "heatmap", "x": _short(x), "y": _short(y), "z": rows}
        return [heat | axes | {"colorscale": "Cividis", "showscale": False}]
    return [
        _trace(panel, line, names.index(line.name), seen) | axes
        for line in panel.lines
        if line.x.size
    ]


def _trace(panel: Panel, line: Line, place: int, seen: set[str]) -> dict[str, Any]:
    keep = line.thinned(POINTS)
    style, over = style_of(line.name, place), over_runs(panel, line)
    guide = line.role == "guide"
    dash = "dash" if over or len(style.dash) > 1 else "solid"
    first = line.name not in seen and not over
    if first:
        seen.add(line.name)
    few = line.x.size <= 12
    kind = {"runs": "mean of runs", "guide": "guide"}.get(line.role, "exact")
    return {
        "type": "scatter",
        "mode": "lines+markers" if few and not guide else "lines",
        "x": _short(line.x[keep]),
        "y": _short(line.y[keep]),
        "name": line.name,
        "legendgroup": line.name,
        "showlegend": first,
        "line": {
            "color": style.colour,
            "width": 1 if over else 1.8,
            "dash": ("dashdot" if len(style.dash) > 2 else "dot") if guide else dash,
        },
        "marker": {"symbol": SYMBOLS[style.marker], "size": 6},
        "opacity": 0.9,
        "hovertemplate": f"{line.name} ({kind})<br>%{{x}}, %{{y:.3e}}<extra></extra>",
    }
