"""Ours: auto beside all methods, at all batch sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from ..canvas import Line, Panel, Picture, words_of
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import EXACT, Data, Part, Profile, Run
from ..verdicts import Finding, below

METHODS = (
    *("sgd", "sgd-exp", "shb", "shb-exp", "2p-shb", "nesterov-exp", "multi-shb-pan", "mass"),
    *("auto-shb", "auto"),
)
SHARES = (0.0005, 0.01, 0.1, 0.5, 0.9)
DESIGNS = {"haar": "Haar rows", "heavy": "the released rows"}
NEAR = 3.0  # "Near the best" means within this factor.


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    T = profile.steps(7000)
    n = profile.few_rows
    for design, kappa in product(DESIGNS, (100, 1000)):
        data = Data("regression", n=n, d=10, kappa=kappa, noise_var=0.1, design=design, mu=1.0)
        for method, share in product(METHODS, SHARES):
            run = Run(data, method, "paper", max(1, round(share * n)), T=T)
            yield f"{design}, kappa={kappa}", f"{method}, b={share:g} n", EXACT, run


def _error(view: FigureView, panel: str, method: str, share: float) -> np.ndarray:
    return view.curve(panel, f"{method}, b={share:g} n").error


@judges("auto_near_best")
def auto_near_best(view: FigureView) -> Finding:
    found = Finding()
    for panel, share in product(view.panels, SHARES):
        last = {method: float(_error(view, panel, method, share)[-1]) for method in METHODS}
        best = min(last.values())
        name = f"{panel}, b={share:g} n"
        found.cases[name] = below(last["auto"], best, NEAR)
        found.numbers[f"{name}: auto / best"] = last["auto"] / best
    return found.said(
        f"auto ends within a factor {NEAR:g} of the best of {len(METHODS)} methods in "
        f"{found.score} cases; the worst ratio is {max(found.numbers.values()):.2g}."
    )


def _picture(view: FigureView) -> Picture:
    panels = []
    for panel in view.panels:
        lines = []
        for method in METHODS:
            errors = [_error(view, panel, method, share) for share in SHARES]
            last = np.array([e[-1] for e in errors])
            first = errors[0][0]
            settled = np.isfinite(last) & (last < first)
            lines.append(Line(method, np.array(SHARES)[settled], last[settled]))
        design, _, kappa = panel.partition(", ")
        title = f"{DESIGNS[design]}, {words_of(kappa)}"
        panels.append(Panel(title, "batch size / n", "error at T", lines, xlog=True))
    return Picture(columns=2, panels=panels)


EXHIBITS = [exhibit("auto", _parts, _picture)]
