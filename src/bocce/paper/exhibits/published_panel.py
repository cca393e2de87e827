"""Ours: the one real panel in the release's notebook (kappa = 512, r = 0.01), by setting."""

from __future__ import annotations

import math

import numpy as np

from ..canvas import GRADIENT, ITERATION, Line, Panel, Picture, method_lines
from ..exhibit import Exhibit
from ..results import FigureView
from ..specs import Cell, Profile
from ..texts import claims
from ..verdicts import Finding, tally, within
from ._synthetic import VARIANTS, noisy_cells, panel_name
from .fig03_quad import METHODS

LABEL = "published_panel"
KAPPA, R, T = 512.0, 0.01, 7000
PANEL = panel_name(KAPPA, R)
# read off the notebook's picture, at its markers
READ_K = (1000, 2000, 3000, 4000, 5000, 6000, 7000)
READ = {
    "SHB": (3.5e-3, 4.8e-3, 4.5e-3, 3.0e-3, 4.2e-3, 1.9e-3, 5.0e-3),
    "Multi-SHB": (3.5e-3, 4.8e-3, 2.4e-3, 1.5e-3, 1.2e-3, 8.1e-4, 4.2e-4),
    "Multi-SHB-CNST": (3.5e-3, 4.8e-3, 1.1e-3, 2.7e-4, 1.2e-4, 1.0e-4, 9.0e-5),
    "2P-SHB": (3.5e-3, 4.8e-3, 4.2e-3, 3.6e-4, 1.6e-4, 1.1e-4, 9.0e-5),
    "SGD": (math.inf, 6.5e-2, 1.1e-3, 8.0e-4, 2.0e-3, 8.5e-4, 1.8e-3),
    "Nesterov-EXP": (1.1e-3, 6.8e-4, 6.7e-4, 4.9e-4, 4.2e-4, 3.1e-4, 2.3e-4),
}
REACHED_1 = {"SHB": 500.0, "Multi-SHB": 500.0, "SGD": 1230.0, "Nesterov-EXP": 110.0}
NEAR = 2.0  # two runs of noisy curves, read off a picture
TOGETHER, APART = (1000, 2000), (4000, 7000)


def _cells(setting: str, profile: Profile) -> list[Cell]:
    return noisy_cells(LABEL, setting, profile, [(KAPPA, R)], METHODS)


def _typical(view: FigureView, method: str, k: int) -> float:
    """The geometric mean of the runs' gradient norms around step k."""
    curve = view.curve(PANEL, method)
    near = (curve.k >= k - 150) & (curve.k <= k + 150)
    with np.errstate(divide="ignore"):
        return float(np.exp(np.log(curve.mean[near]).mean())) if near.any() else math.nan


def _levels(view: FigureView) -> dict[str, tuple[float, float]]:
    """(ours, theirs) by case: over SHB at the same k while they lie together, then its floor.

    SGD is left out: where it stands at a given k depends on the minimiser that was drawn.
    """
    ours_floor = _typical(view, "SHB", T - 150)
    their_floor = float(np.exp(np.mean(np.log(READ["SHB"]))))
    found = {}
    for k in TOGETHER:
        for method in VARIANTS:
            at = READ_K.index(k)
            ours = _typical(view, method, k) / _typical(view, "SHB", k)
            found[f"{method} over SHB at k={k}"] = (ours, READ[method][at] / READ["SHB"][at])
    for k in APART:
        for method in (*VARIANTS, "Nesterov-EXP"):
            ours = _typical(view, method, min(k, T - 150)) / ours_floor
            theirs = READ[method][READ_K.index(k)] / their_floor
            found[f"{method} over SHB's floor at k={k}"] = (ours, theirs)
    return found


def published_panel(view: FigureView) -> Finding:
    cases, numbers = tally()
    ran = int(view.curve(PANEL, "SHB").k[-1])
    pairs = _levels(view)
    for method, theirs in REACHED_1.items():
        ours = view.curve(PANEL, method).on_runs().first_below(1.0)
        pairs[f"{method} reaches 1"] = (ours, theirs)
    for name, (ours, theirs) in pairs.items():
        cases[name] = within(ours, theirs, NEAR) if ran == T else None
        numbers[f"{name}: ours"], numbers[f"{name}: theirs"] = ours, theirs
    wrong = [name for name, case in cases.items() if case is False]
    said = f"Not within a factor {NEAR:g}: {', '.join(wrong)}." if wrong else "All agree."
    return Finding(cases, numbers, said if ran == T else f"T = {ran} is not the notebook's {T}.")


def _picture(view: FigureView) -> Picture:
    ours = tuple(line for m in METHODS for line in method_lines(m, view.curve(PANEL, m))[:1])
    theirs = tuple(
        Line(m, np.array(READ_K)[np.isfinite(v)], np.array(v)[np.isfinite(v)], "runs")
        for m, v in READ.items()
    )
    panels = (
        Panel("runs of ours", ITERATION, GRADIENT, ours),
        Panel("read off the notebook", ITERATION, GRADIENT, theirs),
    )
    return Picture(columns=2, panels=panels, seeds=view.seed_count)


CLAIMS = claims(LABEL, published_panel)
EXHIBIT = Exhibit(LABEL, _cells, _picture, CLAIMS)
