"""Pictures on the screen: Plotly's JSON, thinned, one trace for each line of each panel."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .canvas import Panel, Picture, Stroke, Surface, in_legend_order
from .specs import Json
from .styles import SYMBOLS

POINTS = 90  # A line has this many points: enough for a panel of a third of a screen.
GAP = 0.35  # The gap between panels is this share of a panel's width or height.
ROW = 260  # The height of a row of panels, in pixels.
FEW = 12  # Each point of a line with at most this many points has a marker.
Domain = dict[str, list[float]]  # The part of the picture that a panel covers.


def chart(picture: Picture) -> Json:
    """{"data": traces, "layout": layout} for Plotly.newPlot; one column of panels suits phones."""
    panels = picture.panels
    own = picture.own_legends
    columns = min(picture.columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    order = in_legend_order(picture.names)
    if own:
        above = 36
    else:
        above = 64 if len(panels) == 1 else 46 + 28 * math.ceil(len(order) / 8)
    data: list[Json] = []
    layout: Json = {
        "height": ROW * rows + 130,
        "margin": {"l": 64, "r": 20, "t": above, "b": 48},
        "legend": {
            "orientation": "h",
            "y": round(1.0 + 28.0 / (ROW * rows), 4),  # 28 pixels above the titles of panels
            "yanchor": "bottom",
            "groupclick": "togglegroup",
        },
        "annotations": [],
        "hovermode": "closest",
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "meta": {"columns": columns, "panels": len(panels), "own": own},
    }
    for place, (panel, strokes) in enumerate(zip(panels, picture.strokes())):
        domain = _domain(*divmod(place, columns), columns, rows)
        suffix = "" if place == 0 else str(place + 1)
        layout["annotations"].append(_title(panel, domain))
        if panel.surface is not None:
            layout[f"scene{suffix}"] = _scene(panel, domain)
            data.append(_sheet(panel.surface, suffix, domain))
            continue
        layout |= _axes(panel, domain, suffix)
        if panel.same():
            layout["annotations"].append(_same(panel, suffix))
        more = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        if own:
            layout[f"legend{place + 2}"] = _own_legend(panel, domain)
            more["legend"] = f"legend{place + 2}"
        bands = [band for stroke in strokes for band in _bands(stroke)]
        for trace in bands + [_trace(stroke) for stroke in strokes]:
            data.append(trace | more | {"legendrank": 1000 + order.index(trace["name"])})
    return {"data": data, "layout": layout}


def _domain(row: int, column: int, columns: int, rows: int) -> Domain:
    width = 1.0 / (columns + GAP * (columns - 1))
    height = 1.0 / (rows + GAP * (rows - 1))
    left = column * width * (1.0 + GAP)
    top = 1.0 - row * height * (1.0 + GAP)
    return {
        "x": _round([left, min(1.0, left + width)]),
        "y": _round([max(0.0, top - height), top]),
    }


def _axes(panel: Panel, domain: Domain, suffix: str) -> Json:
    found: Json = {}
    for letter, other, text, log in (
        ("x", "y", panel.xlabel, panel.xlog),
        ("y", "x", panel.ylabel, panel.ylog),
    ):
        found[f"{letter}axis{suffix}"] = {
            "domain": domain[letter],
            "anchor": f"{other}{suffix}",
            "title": {"text": text, "font": {"size": 11}, "standoff": 4},
            "type": "log" if log else "linear",
            "gridcolor": "#e5e5e5",
            "zeroline": False,
            "linecolor": "#444",
            "mirror": True,
            **({"exponentformat": "power"} if log else {}),
        }
    found[f"yaxis{suffix}"]["nticks"] = 7
    if panel.ylog:
        low, high = map(math.log10, panel.span())
        margin = 0.05 * (high - low) + 0.02
        found[f"yaxis{suffix}"]["range"] = _round([low - margin, high + margin])
    return found


def _same(panel: Panel, suffix: str) -> Json:
    """Which lines lie on one another."""
    x, y, across, down = panel.empty_place()
    return {
        "text": "<br>".join(f"one curve: {names}" for names in panel.same()),
        "showarrow": False,
        **{"x": x, "y": y, "xanchor": across, "yanchor": down},
        "xref": f"x{suffix} domain",
        "yref": f"y{suffix} domain",
        "font": {"size": 9},
        "bgcolor": "rgba(255,255,255,0.8)",
    }


def _own_legend(panel: Panel, domain: Domain) -> Json:
    """A legend inside its panel, where the fewest lines pass."""
    x, y, across, down = panel.empty_place()
    (left, right), (bottom, top) = domain["x"], domain["y"]
    return {
        **{"xanchor": across, "yanchor": down},
        "x": round(left + x * (right - left), 4),
        "y": round(bottom + y * (top - bottom), 4),
        "bgcolor": "rgba(255,255,255,0.7)",
        "font": {"size": 10},
        "tracegroupgap": 0,
    }


def _title(panel: Panel, domain: Domain) -> Json:
    return {
        "text": f"<b>{panel.title}</b>",
        "x": round(sum(domain["x"]) / 2, 4),
        "y": domain["y"][1],
        **{"xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom"},
        "showarrow": False,
        "font": {"size": 12},
    }


def _scene(panel: Panel, domain: Domain) -> Json:
    return {
        "domain": domain,
        "xaxis": {"title": {"text": panel.xlabel}},
        "yaxis": {"title": {"text": panel.ylabel}},
        "zaxis": {"title": {"text": ""}},  # The colour bar has the title.
        "camera": {"eye": {"x": -2.0, "y": -2.0, "z": 1.2}, "center": {"x": 0, "y": 0, "z": -0.25}},
    }


def _sheet(surface: Surface, suffix: str, domain: Domain) -> Json:
    every = max(1, surface.x.size // 40)
    return {
        "type": "surface",
        "x": _short(surface.x[::every]),
        "y": _short(surface.y[::every]),
        "z": [_short(row[::every]) for row in surface.values[::every]],
        "scene": f"scene{suffix}",
        "colorscale": "Viridis",
        "colorbar": {
            "title": {"text": surface.zlabel, "side": "right"},
            "len": round(0.8 * (domain["y"][1] - domain["y"][0]), 4),
            "x": domain["x"][1],
            "y": round(sum(domain["y"]) / 2, 4),
            "thickness": 12,
        },
    }


def _round(values: list[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _short(values: np.ndarray) -> list[float]:
    """Four digits: more than a screen shows."""
    return [float(f"{value:.4g}") for value in values.tolist()]


def _bands(stroke: Stroke) -> Iterator[Json]:
    """One standard deviation to either side, as a filled outline, where it can be seen."""
    line = stroke.line
    if line.band is None or line.x.size <= FEW or not (line.band[1] > 1.02 * line.band[0]).any():
        return
    keep = line.thinned(POINTS // 2)
    x, (low, high) = line.x[keep], line.band[:, keep]
    yield {
        "type": "scatter",
        "mode": "lines",
        "x": _short(np.concatenate([x, x[::-1]])),
        "y": _short(np.concatenate([high, low[::-1]])),
        "fill": "toself",
        "fillcolor": stroke.colour,
        "opacity": 0.15,
        "line": {"width": 0},
        "name": line.name,
        "legendgroup": line.name,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _trace(stroke: Stroke) -> Json:
    line = stroke.line
    few = stroke.line.x.size <= FEW
    keep = line.thinned(POINTS)
    if few and line.role != "guide":
        mode = "lines+markers"
    else:
        mode = "lines"
    kind = {"runs": "mean of runs", "guide": "guide"}.get(line.role, "exact")
    trace = {
        "type": "scatter",
        "mode": "markers" if line.role == "points" else mode,
        "x": _short(line.x[keep]),
        "y": _short(line.y[keep]),
        "name": line.name,
        "legendgroup": line.name,
        "showlegend": stroke.first,
        "line": {
            "color": stroke.colour,
            "width": 1 if stroke.thin else 1.8,
            "dash": ",".join(f"{length}px" for length in stroke.dash) or "solid",
        },
        "marker": {"symbol": SYMBOLS[stroke.marker], "size": 6},
        "opacity": 0.9,
        "hovertemplate": f"{line.name} ({kind})<br>%{{x}}, %{{y:.3e}}<extra></extra>",
    }
    if few and line.band is not None:
        up = _short(line.band[1, keep] - line.y[keep])
        trace["error_y"] = {"type": "data", "array": up, "thickness": 1, "width": 2}
    return trace
