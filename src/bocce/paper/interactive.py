"""Pictures on the screen: Plotly's JSON, thinned, one trace for each line of each panel."""

from __future__ import annotations

import math

import numpy as np

from .._types import Json
from .canvas import Line, Panel, Picture, Surface, in_legend_order, names_of, over_runs
from .styles import SYMBOLS, style_of

POINTS = 90  # of a line: enough for a panel that is a third of a screen wide
GAP = 0.35  # of a panel's width or height, between panels
ROW = 260  # pixels
FEW = 12  # points: each has a marker


def chart(picture: Picture) -> Json:
    """{"data": traces, "layout": layout} for Plotly.newPlot; one column of panels suits phones."""
    panels = picture.panels
    columns = min(picture.columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    names = names_of(picture)
    seen: set[str] = set()
    data: list[Json] = []
    layout: Json = {
        "height": ROW * rows + 130,
        "margin": {"l": 64, "r": 20, "t": 46 + 28 * math.ceil(len(names) / 8), "b": 48},
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
        "meta": {"columns": columns, "panels": len(panels), "own": picture.own_legends},
    }
    if picture.own_legends or len(panels) == 1:
        layout["margin"]["t"] = 36 if picture.own_legends else 64
    for place, panel in enumerate(panels):
        domain = _domain(place, columns, rows)
        if panel.surface is None:
            _axes(layout, place, domain, panel)
        else:
            _scene(layout, place, domain, panel, panel.surface)
        _title(layout, domain, panel)
        if picture.own_legends:
            seen.clear()
            layout[f"legend{place + 2}"] = _own_legend(domain, panel)
        traces = _traces(panel, place, names, seen, domain)
        data += [t | {"legend": f"legend{place + 2}"} if picture.own_legends else t for t in traces]
    order = in_legend_order(names)
    for trace in data:
        if "name" in trace:
            trace["legendrank"] = 1000 + order.index(trace["name"])
    return {"data": data, "layout": layout}


def _suffix(place: int) -> str:
    return "" if place == 0 else str(place + 1)


def _domain(place: int, columns: int, rows: int) -> dict[str, list[float]]:
    row, column = divmod(place, columns)
    width, height = 1.0 / (columns + GAP * (columns - 1)), 1.0 / (rows + GAP * (rows - 1))
    left, top = column * width * (1.0 + GAP), 1.0 - row * height * (1.0 + GAP)
    return {
        "x": _round([left, min(1.0, left + width)]),
        "y": _round([max(0.0, top - height), top]),
    }


def _axes(layout: Json, place: int, domain: dict[str, list[float]], panel: Panel) -> None:
    common = {"gridcolor": "#e5e5e5", "zeroline": False, "linecolor": "#444", "mirror": True}
    layout[f"xaxis{_suffix(place)}"] = {
        "domain": domain["x"],
        "anchor": f"y{_suffix(place)}",
        "title": {"text": panel.xlabel, "font": {"size": 11}, "standoff": 4},
        "type": "log" if panel.xlog else "linear",
        **({"exponentformat": "power"} if panel.xlog else {}),
        **common,
    }
    layout[f"yaxis{_suffix(place)}"] = {
        "domain": domain["y"],
        "anchor": f"x{_suffix(place)}",
        "title": {"text": panel.ylabel, "font": {"size": 11}, "standoff": 4},
        "type": "log" if panel.ylog else "linear",
        "exponentformat": "power",
        "nticks": 7,
        **({"range": _decades(panel)} if panel.ylog else {}),
        **common,
    }
    same = panel.same()
    if same:
        layout["annotations"].append(
            {
                "text": "<br>".join(f"one curve: {names}" for names in same),
                "showarrow": False,
                **_anchored(*panel.empty_place()),
                "xref": f"x{_suffix(place)} domain",
                "yref": f"y{_suffix(place)} domain",
                "font": {"size": 9},
                "bgcolor": "rgba(255,255,255,0.8)",
            }
        )


def _anchored(x: float, y: float) -> Json:
    """A place by its nearest corner or edge."""
    down = "top" if y > 0.9 else "bottom" if y < 0.1 else "middle"
    return {"x": x, "y": y, "xanchor": "right" if x > 0.5 else "left", "yanchor": down}


def _own_legend(domain: dict[str, list[float]], panel: Panel) -> Json:
    """Inside its panel, where the fewest lines pass."""
    x, y = panel.empty_place()
    (left, right), (bottom, top) = domain["x"], domain["y"]
    return {
        **_anchored(x, y),
        "x": round(left + x * (right - left), 4),
        "y": round(bottom + y * (top - bottom), 4),
        "bgcolor": "rgba(255,255,255,0.7)",
        "font": {"size": 10},
        "tracegroupgap": 0,
    }


def _scene(
    layout: Json,
    place: int,
    domain: dict[str, list[float]],
    panel: Panel,
    surface: Surface,
) -> None:
    layout[f"scene{_suffix(place)}"] = {
        "domain": domain,
        "xaxis": {"title": {"text": panel.xlabel}},
        "yaxis": {"title": {"text": panel.ylabel}},
        "zaxis": {"title": {"text": ""}},  # the colour bar says it
        "camera": {"eye": {"x": -2.0, "y": -2.0, "z": 1.2}, "center": {"x": 0, "y": 0, "z": -0.25}},
    }


def _title(layout: Json, domain: dict[str, list[float]], panel: Panel) -> None:
    layout["annotations"].append(
        {
            "text": f"<b>{panel.title}</b>",
            "x": round(sum(domain["x"]) / 2, 4),
            "y": domain["y"][1],
            "xref": "paper",
            "yref": "paper",
            "xanchor": "center",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 12},
        }
    )


def _decades(panel: Panel) -> list[float]:
    low, high = map(math.log10, panel.span())
    margin = 0.05 * (high - low) + 0.02
    return _round([low - margin, high + margin])


def _round(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _short(values: np.ndarray) -> list[float]:
    """Four digits: more than a screen shows."""
    return [float(f"{value:.4g}") for value in values.tolist()]


def _traces(
    panel: Panel, place: int, names: list[str], seen: set[str], domain: dict[str, list[float]]
) -> list[Json]:
    if panel.surface is not None:
        return [_sheet(panel.surface, place, domain)]
    axes = {"xaxis": f"x{_suffix(place)}", "yaxis": f"y{_suffix(place)}"}
    shown = [line for line in panel.lines if line.x.size]
    bands = [_band(line, names.index(line.name)) | axes for line in shown if _spread(line)]
    return bands + [_trace(panel, line, names.index(line.name), seen) | axes for line in shown]


def _spread(line: Line) -> bool:
    """Has it a band that can be seen?"""
    if line.low is None or line.high is None or line.x.size <= FEW:
        return False
    return bool((line.high > 1.02 * line.low).any())


def _band(line: Line, place: int) -> Json:
    """One standard deviation to either side, as a filled outline."""
    assert line.low is not None
    assert line.high is not None
    keep = line.thinned(POINTS // 2)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": _short(np.concatenate([line.x[keep], line.x[keep][::-1]])),
        "y": _short(np.concatenate([line.high[keep], line.low[keep][::-1]])),
        "fill": "toself",
        "fillcolor": style_of(line.name, place).colour,
        "opacity": 0.15,
        "line": {"width": 0},
        "name": line.name,
        "legendgroup": line.name,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _sheet(surface: Surface, place: int, domain: dict[str, list[float]]) -> Json:
    every = max(1, surface.x.size // 40)
    return {
        "type": "surface",
        "x": _short(surface.x[::every]),
        "y": _short(surface.y[::every]),
        "z": [_short(row[::every]) for row in surface.values[::every]],
        "scene": f"scene{_suffix(place)}",
        "colorscale": "Viridis",
        "colorbar": {
            "title": {"text": surface.zlabel, "side": "right"},
            "len": round(0.8 * (domain["y"][1] - domain["y"][0]), 4),
            "x": domain["x"][1],
            "y": round(sum(domain["y"]) / 2, 4),
            "thickness": 12,
        },
    }


def _trace(panel: Panel, line: Line, place: int, seen: set[str]) -> Json:
    keep = line.thinned(POINTS)
    style, over = style_of(line.name, place), over_runs(panel, line)
    guide = line.role == "guide"
    dash = "dash" if over or len(style.dash) > 1 else "solid"
    first = line.name not in seen and not over
    if first:
        seen.add(line.name)
    few, points = line.x.size <= FEW, line.role == "points"
    kind = {"runs": "mean of runs", "guide": "guide"}.get(line.role, "exact")
    spread: Json = {}
    if few and line.high is not None:
        up = _short(line.high[keep] - line.y[keep])
        spread = {"error_y": {"type": "data", "array": up, "thickness": 1, "width": 2}}
    return {
        "type": "scatter",
        "mode": "markers" if points else "lines+markers" if few and not guide else "lines",
        "x": _short(line.x[keep]),
        "y": _short(line.y[keep]),
        "name": line.name,
        "legendgroup": line.name,
        "showlegend": first,
        "line": {
            "color": style.colour,
            "width": 1 if over or guide else 1.8,
            "dash": ("dashdot" if len(style.dash) > 2 else "dot") if guide else dash,
        },
        "marker": {"symbol": SYMBOLS[style.marker], "size": 6},
        "opacity": 0.9,
        "hovertemplate": f"{line.name} ({kind})<br>%{{x}}, %{{y:.3e}}<extra></extra>",
        **spread,
    }
