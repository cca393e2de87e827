"""Figures made of runs: curves against iterations or gradient evaluations."""

from __future__ import annotations

import math

import numpy as np

from ..claims.curves import kappa_of
from ..results import Results
from ..specs import Figure
from .base import GRADIENT, Line, Panel, Picture, method_lines, picture, visible, words_of


def curves(results: Results, figure: Figure, setting: str) -> Picture:
    panels = []
    for panel in results.panels(figure.label, setting):
        lines: list[Line] = []
        for method in results.methods(figure.label, setting, panel):
            lines += method_lines(method, results.curve(figure.label, setting, panel, method))
        panels.append(Panel(words_of(panel), "iteration k", GRADIENT, tuple(lines)))
    return picture(figure, setting, panels)


def sweep(results: Results, figure: Figure, setting: str) -> Picture:
    panels = []
    for panel in results.panels(figure.label, setting):
        kappa = kappa_of(panel)
        lines: list[Line] = []
        for method in results.methods(figure.label, setting, panel):
            lines += method_lines(method, results.curve(figure.label, setting, panel, method))
        k = np.linspace(0, max(line.x[-1] for line in lines), 200)
        first = max(line.y[0] for line in lines)
        for name, slow in (("KAP", kappa), ("SQRT-KAP", math.sqrt(kappa))):
            guide = first * np.exp(-k / slow)
            seen = guide > 1e-14 * first
            lines.append(Line(name, k[seen], guide[seen], "guide"))
        lines = [_above(line, 1e-14 * first) for line in lines]
        panels.append(Panel(words_of(panel), "iteration k", GRADIENT, tuple(lines)))
    return picture(figure, setting, panels)


def _above(line: Line, floor: float) -> Line:
    """Without what rounding leaves of a curve that has converged."""
    below = line.y < floor
    stop = int(np.argmax(below)) if below.any() else line.y.size
    bands = [None if b is None else b[:stop] for b in (line.low, line.high)]
    return Line(line.name, line.x[:stop], line.y[:stop], line.role, *bands)


def evaluations(results: Results, figure: Figure, setting: str) -> Picture:
    panels = []
    for panel in results.panels(figure.label, setting):
        if results.missing(figure.label, setting, panel):
            panels.append(Panel(panel, "", "", words="data not available"))
            continue
        lines: list[Line] = []
        title = panel
        for method in results.methods(figure.label, setting, panel):
            curve = results.curve(figure.label, setting, panel, method)
            lines += method_lines(method, curve, curve.evaluations)
            found = results.seeds(figure.label, setting, panel, method)[0].notes["data"]
            if panel == "rcv1" and not found.startswith("rcv1"):
                title = f"rcv1: stand-in {found}"
        panels.append(Panel(title, "gradient evaluations", GRADIENT, tuple(lines)))
    return picture(figure, setting, panels)


def panetal(results: Results, figure: Figure, setting: str) -> Picture:
    name = "Multi-SHB-PAN-2"
    curve = results.curve(figure.label, setting, "b=1", name)
    span = int(np.searchsorted(curve.exact_k, curve.k[-1])) + 1  # as far as the runs go
    with np.errstate(invalid="ignore", over="ignore"):
        runs = Line(name, *visible(curve.k, curve.mean, 1e300), "runs")
        squares = (curve.runs**2).mean(axis=0)
    expected = Line(name, *visible(curve.exact_k[:span], curve.exact[:span], 1e150))
    shown = Line(name, *visible(curve.exact_k, curve.exact, 10.0 * runs.y.max()))
    # at b = 1 the variance is (n - 1) ||grad f||^2 on this problem, and n = 100
    sampled = Line(name, runs.x, np.log(99.0 * squares[: runs.x.size]), "runs")
    variance = Line(name, expected.x, np.log(99.0) + 2.0 * np.log(expected.y))
    label = "log of the gradient's variance"
    return picture(
        figure,
        setting,
        [
            Panel("gradient norm, 5 runs", "iteration k", GRADIENT, (runs, shown)),
            Panel("variance", "iteration k", label, (sampled, variance), ylog=False),
        ],
    )


def alpha_beta(results: Results, figure: Figure, setting: str) -> Picture:
    numbers = results.table(figure.label, "parameters", "SHB-EXP", setting).numbers
    k, alpha = numbers["k"], numbers["alpha"]
    standard = Line("1/k", k[1:], alpha[0] / k[1:], "guide")
    return picture(
        figure,
        setting,
        [
            Panel("step size", "iteration k", "α", (Line("SHB-EXP", k, alpha), standard)),
            Panel(
                "momentum",
                "iteration k",
                "β",
                (Line("SHB-EXP", k, numbers["beta"]),),
                ylog=False,
            ),
        ],
    )
