"""Figures that the paper does not have."""

from __future__ import annotations

import numpy as np

from ..claims.base import within
from ..claims.extra import REFERENCE, REFERENCE_NEAR, REFERENCE_T
from ..ours import AUTO_METHODS, AUTO_SHARES, DESIGNS, REFERENCE_KAPPAS, REFERENCE_METHODS
from ..results import Results
from ..specs import Figure
from .base import HEADROOM, Grid, Line, Panel, Picture, picture, visible, words_of

LETTERS = {"L": "L", "mu": "μ"}
TITLES = {
    "thm1": "Theorem 1",
    "thm2": "Theorem 2",
    "thm4": "Theorem 4",
    "two_phase": "two phases",
    "mis_L": "L too small by 4",
    "mis_mu": "μ too small by 4",
}


def thresholds(results: Results, figure: Figure, setting: str) -> Picture:
    panels = []
    for design in DESIGNS:
        names = [p for p in results.panels(figure.label, "paper") if p.startswith(f"{design},")]
        rows = [results.table(figure.label, name, "rules").numbers for name in names]
        n = float(rows[0]["n"][0])
        kappa = np.array([row["kappa"][0] for row in rows])
        lines = [
            Line(words, kappa, np.array([row[key][0] for row in rows]) / n)
            for words, key in (
                ("paper's b*", "paper"),
                ("certified", "certified"),
                ("exact", "exact"),
            )
        ]
        observed = [
            [
                run.numbers["observed"][0]
                for run in results.seeds(figure.label, "paper", p, "observed")
            ]
            for p in names
        ]
        middle = np.array([np.mean(values) for values in observed]) / n
        ends = [np.array([f(values) for values in observed]) / n for f in (min, max)]
        lines.append(Line("observed", kappa, middle, "runs", *ends))
        panels.append(Panel(f"{design} rows", "κ", "batch size / n", tuple(lines), xlog=True))
    return picture(figure, setting, panels)


def auto(results: Results, figure: Figure, setting: str) -> Picture:
    panels = []
    for panel in results.panels(figure.label, "paper"):
        lines = []
        for method in AUTO_METHODS:
            last = np.array(
                [
                    results.curve(figure.label, "paper", panel, f"{method}, b={s:g} n").error[-1]
                    for s in AUTO_SHARES
                ]
            )
            first = results.curve(figure.label, "paper", panel, f"{method}, b=0.5 n").error[0]
            settled = np.isfinite(last) & (last < first)
            lines.append(Line(method, np.array(AUTO_SHARES)[settled], last[settled]))
        panels.append(
            Panel(words_of(panel), "batch size / n", "error at T", tuple(lines), xlog=True)
        )
    return picture(figure, setting, panels)


def errors(results: Results, figure: Figure, setting: str) -> Picture:
    panels = []
    for panel in results.panels(figure.label, "paper"):
        lines = []
        for method in results.methods(figure.label, "paper", panel):
            curve = results.curve(figure.label, "paper", panel, method)
            top = HEADROOM * curve.error[0]
            lines.append(Line(method, *visible(curve.exact_k, curve.error, top)))
        panels.append(Panel(f"wrong {LETTERS[panel]}", "iteration k", "error", tuple(lines)))
    return picture(figure, setting, panels)


def bounds(results: Results, figure: Figure, setting: str) -> Picture:
    panels = []
    for panel in results.panels(figure.label, "paper"):
        columns = results.table(figure.label, panel, "bounds").numbers
        lines = [
            Line(name, *visible(columns["T"], columns[name], 1e300))
            for name in ("exact", "printed", "corrected")
        ]
        theorem, unit = panel.split(", ")
        title = f"{TITLES[theorem]}, {unit.replace('mu=', 'μ = ')}"
        panels.append(Panel(title, "T", "error", tuple(lines), xlog=True))
    return picture(figure, setting, panels)


def reference(results: Results, figure: Figure, setting: str) -> Picture:
    columns = tuple(f"{design}, {kappa}" for design in REFERENCE for kappa in REFERENCE_KAPPAS)
    cells, marked = [], []
    for method in REFERENCE_METHODS:
        row, marks = [], []
        for design, rows in REFERENCE.items():
            for place, kappa in enumerate(REFERENCE_KAPPAS):
                panel = f"{design}, kappa={kappa}"
                curve = results.curve(figure.label, "paper", panel, method)
                reference, same = rows[method][place], bool(curve.exact_k[-1] == REFERENCE_T)
                row.append(f"{curve.last:.2e}" + f" ({reference:.2e})" * same)
                marks.append(
                    same and design == "haar" and not within(curve.last, reference, REFERENCE_NEAR)
                )
        cells.append(tuple(row))
        marked.append(marks)
    grid = Grid(
        columns,
        REFERENCE_METHODS,
        tuple(cells),
        np.array(marked),
        f"In brackets the reference, if this is T = {REFERENCE_T}; marked: more than 5 % apart "
        "(haar). With heavy rows the floors move up to twentyfold with the noise that was drawn, "
        "all methods alike.",
    )
    return Picture(figure.label, figure.title, 1, grid=grid)
