"""Ours: auto beside all methods, at all batch sizes."""

from __future__ import annotations

import numpy as np

from ..canvas import Line, Panel, Picture, words_of
from ..exhibit import Exhibit
from ..results import FigureView
from ..specs import EXACT, Cell, Data, Profile, Run
from ..texts import claims
from ..verdicts import Finding, below, counted, tally

LABEL = "auto"
METHODS = (
    *("sgd", "sgd-exp", "shb", "shb-exp", "2p-shb", "nesterov-exp", "multi-shb-pan", "mass"),
    *("auto-shb", "auto"),
)
SHARES = (0.0005, 0.01, 0.1, 0.5, 0.9)
NEAR = 3.0


def _cells(setting: str, profile: Profile) -> list[Cell]:
    T, n = profile.steps(7000), profile.few_rows
    cells = []
    for design in ("haar", "heavy"):
        for kappa in (100, 1000):
            data = Data("regression", n=n, d=10, kappa=kappa, noise_var=0.1, design=design, mu=1.0)
            for method in METHODS:
                for share in SHARES:
                    run = Run(data, method, "paper", max(1, round(share * n)), T=T)
                    panel, name = f"{design}, kappa={kappa}", f"{method}, b={share:g} n"
                    cells.append(Cell(LABEL, "paper", panel, name, EXACT, run))
    return cells


def _error(view: FigureView, panel: str, method: str, share: float) -> np.ndarray:
    return view.curve(panel, f"{method}, b={share:g} n").error


def auto_near_best(view: FigureView) -> Finding:
    cases, numbers = tally()
    for panel in view.panels:
        for share in SHARES:
            last = {method: float(_error(view, panel, method, share)[-1]) for method in METHODS}
            best = min(last.values())
            name = f"{panel}, b={share:g} n"
            cases[name] = below(last["auto"], best, NEAR)
            numbers[f"{name}: auto / best"] = last["auto"] / best
    return Finding(
        cases,
        numbers,
        f"auto ends within a factor {NEAR:g} of the best of {len(METHODS)} methods in "
        f"{counted(cases)}; the worst ratio is {max(numbers.values()):.2g}.",
    )


def _title(panel: str) -> str:
    """
    >>> _title("heavy, kappa=100")
    'the released rows, κ = 100'
    """
    design, _, rest = panel.partition(", ")
    return f"{ {'haar': 'Haar rows', 'heavy': 'the released rows'}[design] }, {words_of(rest)}"


def _picture(view: FigureView) -> Picture:
    panels = []
    for panel in view.panels:
        lines = []
        for method in METHODS:
            errors = [_error(view, panel, method, share) for share in SHARES]
            last, first = np.array([e[-1] for e in errors]), errors[0][0]
            settled = np.isfinite(last) & (last < first)
            lines.append(Line(method, np.array(SHARES)[settled], last[settled]))
        panels.append(Panel(_title(panel), "batch size / n", "error at T", tuple(lines), xlog=True))
    return Picture(columns=2, panels=tuple(panels))


CLAIMS = claims(LABEL, auto_near_best)
EXHIBIT = Exhibit(LABEL, _cells, _picture, CLAIMS)
