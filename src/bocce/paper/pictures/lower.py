"""Figures of the lower bound, and its table."""

from __future__ import annotations

import numpy as np

from ..claims.lower import PRINTED_TABLE, misprinted
from ..results import Results
from ..specs import Figure
from .base import GRADIENT, Grid, Line, Panel, Picture, method_lines, picture, words_of


def _heat(title: str, numbers: dict[str, np.ndarray]) -> Panel:
    values = (numbers["beta"], numbers["theta"], numbers["derivative"])
    return Panel(title, "β", "θ", heat=values, ylog=False)


def _runs_panel(results: Results, label: str, panel: str) -> Panel:
    lines: list[Line] = []
    for method in results.methods(label, "paper", panel):
        lines += method_lines(method, results.curve(label, "paper", panel, method))[-1:]
    return Panel(f"exact, {words_of(panel)}", "iteration k", GRADIENT, tuple(lines))


def lower_2(results: Results, figure: Figure, setting: str) -> Picture:
    numbers = results.table(figure.label, "psi", "Psi").numbers
    one = Line("Ψ = 1", numbers["theta"], np.ones_like(numbers["theta"]), "guide")
    psi = Line("Ψ", numbers["theta"], numbers["psi"])
    return picture(
        figure,
        setting,
        [
            _heat("derivative of Ψ in β", numbers),
            Panel("Ψ at β = 0.63", "θ", "Ψ", (psi, one), ylog=False),
            _runs_panel(results, figure.label, "kappa=6, b=1"),
        ],
    )


def lower_n(results: Results, figure: Figure, setting: str) -> Picture:
    numbers = results.table(figure.label, "b=70", "Psi").numbers
    every = results.table(figure.label, "all b", "Psi").numbers
    star = float(numbers["beta_star"][0])
    least = Line("min Ψ", numbers["beta"], numbers["least"])
    one = Line("Ψ = 1", numbers["beta"], np.ones_like(numbers["beta"]), "guide")
    x, y = np.log(every["kappa_star"]), np.log(every["zeta2"])
    slope, intercept = every["line"]
    span = np.array([0.0, x.max()])
    ours = Line(f"fit: {slope:.3f} x {intercept:+.2f}", span, slope * span + intercept, "guide")
    printed = Line("printed: -0.6 x -3.8", span, -0.6 * span - 3.8, "guide")
    return picture(
        figure,
        setting,
        [
            _heat("derivative of Ψ in β, b = 70", numbers),
            Panel(f"b = 70: β* = {star:.4f}", "β", "min Ψ", (least, one), ylog=False),
            Panel(
                "batch factor",
                "log κ*(b)",
                "log batch factor",
                (Line("b = 1 .. 99", x, y), ours, printed),
                ylog=False,
            ),
            _runs_panel(results, figure.label, "kappa=10, b=10"),
        ],
    )


def expression(results: Results, figure: Figure, setting: str) -> Picture:
    notes = results.table(figure.label, "Psi", "Psi").notes
    words = notes.get("text", notes.get("missing", ""))
    return picture(figure, setting, [Panel("Ψ(b, β, θ)", "", "", words=words)])


def derivatives(results: Results, figure: Figure, setting: str) -> Picture:
    numbers = results.table(figure.label, "b=70", "Psi").numbers
    values = numbers["derivative"]
    off = misprinted(values)
    cells = tuple(
        tuple(f"{v:.4f} ({p:.3f})" if o else f"{v:.4f}" for v, p, o in zip(*row))
        for row in zip(values, PRINTED_TABLE, off)
    )
    grid = Grid(
        tuple(f"{beta:.5f}".rstrip("0") for beta in numbers["beta"]),
        tuple(f"{t / np.pi:.1f} π" for t in numbers["theta"]),
        cells,
        off,
        "Rows: θ; columns: β. The printed table rounds some entries and cuts others; marked are "
        "those that are neither, with the printed value.",
    )
    return Picture(figure.label, figure.title, 1, grid=grid)
