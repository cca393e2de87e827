"""The paper's five contributions: one picture and a few sentences each, from what was computed."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

from .canvas import Line, Panel, Picture
from .exhibits.rates import slope_in_T
from .results import FigureView, Results
from .specs import Json
from .texts import read
from .verdicts import NEAREST, Verdict

SHOWN = ("κ = 1000, r = 1e-2", "published")  # the panel of figure 3 that the cards show


def contributions(
    results: Results, verdicts: list[Verdict], pictures: dict[str, list[Picture]]
) -> list[Json]:
    """The five cards, in the paper's order: their texts in claims.toml, and a picture each."""
    found = {
        "met": defaultdict(lambda: "not run here", {v.claim.id: _met(v) for v in verdicts}),
        "fall": _fall(results),
        "needed": _needed(results),
        "least": math.ceil(384.0 * math.sqrt(2.0 * 200.0)),
    }
    drawn = {1: _noise_picture(results), 3: _bound_picture(results)}
    cards = []
    for number, row in enumerate(read("claims.toml")["contributions"], start=1):
        said = {name: row[name].format(**found) for name in ("holds", "where", "stops")}
        if "methods" in row:
            curves = _curves(row["methods"], pictures)
        else:
            curves = drawn[number]
        picture = curves and replace(curves, name=f"contribution-{number}")
        cards.append(row | said | {"number": number, "picture": picture})
    return cards


def _met(verdict: Verdict) -> str:
    """The cases met in each setting, in words."""
    scores = (f"{verdict.score[s]} ({s})" for s in NEAREST if s in verdict.score)
    if verdict.score:
        return "; ".join(scores)
    return "not run here"


def _fall(results: Results) -> str:
    found = FigureView(results, "rates").numbers("noise", "SHB-EXP")
    if not found:
        return ""
    return (
        f" Started at the minimiser, where noise is all there is, its squared error falls as "
        f"T to the power {slope_in_T(found):.2f}."
    )


def _needed(results: Results) -> str:
    view = FigureView(results, "thresholds")
    rows = [view.numbers(f"{design}, kappa=1000", "rules") for design in ("haar", "heavy")]
    if not all(rows):
        return ""
    alike, released = (100.0 * float(row["exact"][0] / row["n"][0]) for row in rows)
    return (
        f"Measured at κ = 1000: {alike:.2g} % of the rows are enough where rows are alike, "
        f"{released:.2g} % are needed on the released rows, where twenty rows carry nearly all "
        "curvature."
    )


def _noise_picture(results: Results) -> Picture | None:
    found = FigureView(results, "rates").numbers("noise", "SHB-EXP")
    if not found:
        return None
    T = found["T"].astype(float)
    error2 = found["error2"]
    lines = (Line("SHB-EXP", T, error2), Line("1/T", T, error2[-1] * T[-1] / T, "guide"))
    title = "error that the noise leaves, b = n/10"
    panel = Panel(title, "T", "E‖w − w*‖²", lines, xlog=True)
    return Picture(title="Noise-adaptive steps", panels=(panel,))


def _bound_picture(results: Results) -> Picture | None:
    found = FigureView(results, "lower_bound_n").numbers("all b", "Psi")
    if not found:
        return None
    lines = tuple(Line(name, found["kappa"], found[name]) for name in ("exact", "printed"))
    title = "SHB diverges below this batch, n = 100"
    panel = Panel(title, "κ", "batch size", lines, xlog=True, ylog=False)
    return Picture(title="Lower bound", panels=(panel,))


def _curves(methods: tuple[str, ...], pictures: dict[str, list[Picture]]) -> Picture | None:
    """Some methods of one panel of figure 3, in the setting of the published panel."""
    for picture in pictures.get("shb_quad", []):
        for panel in picture.panels:
            if picture.name.endswith(SHOWN[1]) and panel.title == SHOWN[0]:
                lines = tuple(line for line in panel.lines if line.name in methods)
                shown = replace(panel, title="figure 3, κ = 1000, r = 0.01", lines=lines)
                return replace(picture, columns=1, panels=(shown,))
    return None
