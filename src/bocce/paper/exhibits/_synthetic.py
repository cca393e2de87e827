"""What the synthetic experiments share: their data under each setting, cells and stability."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ... import exact
from ..compute import prepared
from ..results import FigureView, Trajectory
from ..specs import Cell, Data, Outcome, Profile, Run, run_cells, table, table_cell

VARIANTS = ("Multi-SHB", "Multi-SHB-CNST", "2P-SHB")
STABILITY = "stability"
SIMILAR = 3.0  # "similar", "close", "matches": within this factor
SMALLER = 0.95  # "smaller", "better", "faster": at least 5 per cent


def synthetic(setting: str, profile: Profile, kappa: float, r: float) -> Data:
    """The data of a setting: haar rows and noise of variance r, or what the released code makes.

    That is heavy rows, noise of standard deviation r, the first 80 % of the rows, and methods that
    are told the constants of the design before it was changed (``authors``) or the true ones
    (``released-rows``). The published panel was made with all rows and the true constants.
    """
    data = Data("regression", n=profile.rows, d=profile.columns, kappa=kappa, noise_var=r)
    if setting == "paper":
        return data
    return replace(
        data,
        noise_var=r * r,
        design="heavy",
        keep=1.0 if setting == "published" else 0.8,
        nominal=setting == "authors",
    )


def panel_name(kappa: float, r: float) -> str:
    """
    >>> panel_name(1000, 1e-4)
    'kappa=1000, r=1e-04'
    """
    return f"kappa={kappa:g}, r={r:.0e}"


def kappa_of(panel: str) -> float:
    """
    >>> kappa_of("kappa=1000, r=1e-02")
    1000.0
    """
    found = re.search(r"kappa=([0-9.e+]+)", panel)
    assert found is not None, panel
    return float(found.group(1))


def noisy_cells(
    label: str,
    setting: str,
    profile: Profile,
    panels: Sequence[tuple[float, float]],
    methods: tuple[str, ...],
) -> list[Cell]:
    """b = 0.9 n, T = 7000, three runs and their expectation; and which methods are stable."""
    T = profile.steps(7000)
    cells = []
    for kappa, r in panels:
        data = synthetic(setting, profile, kappa, r)
        for method in methods:
            run = Run(data, method, setting, 0.9, T=T, every=profile.every(T))
            place = (label, setting, panel_name(kappa, r), method)
            cells += run_cells(*place, run, profile.runs(3), exact=True)
    given = {"setting": setting, "rows": profile.rows, "columns": profile.columns}
    for kappa in dict.fromkeys(kappa for kappa, _ in panels):
        job = table("stability", **given, kappa=float(kappa), T=T, methods=methods)
        cells.append(table_cell(label, setting, f"kappa={kappa:g}", STABILITY, job))
    return cells


def stability(
    setting: str, rows: int, columns: int, kappa: float, T: int, methods: tuple[str, ...]
) -> Outcome:
    """The critical batch size of each method, at the longest step of its schedule, over b."""
    data = synthetic(setting, Profile("", rows, columns, 1.0, 1, 1.0), kappa, 0.0)
    numbers = {}
    for method in methods:
        p, schedule, b, _ = prepared(Run(data, method, setting, 0.9, T=T))
        k = int(np.argmax(schedule.alpha[1:])) + 1 if T > 1 else 0
        step = (float(schedule.alpha[k]), float(schedule.beta[k]), float(schedule.theta[k]))
        numbers[method] = exact.critical_batch_size(p, *step) / b
    return Outcome.of(**numbers)


def judged_curves(view: FigureView) -> dict[str, dict[str, Trajectory]]:
    """Every curve by panel and method, as claims are judged: of unstable methods, on the runs."""
    found = {}
    for panel in view.panels:
        key = (view.figure, view.setting, f"kappa={kappa_of(panel):g}", STABILITY, "table")
        critical = view.results.outcomes.get(key, Outcome()).numbers
        found[panel] = {
            method: curve.on_runs() if critical.get(method, [0.0])[0] >= 1.0 else curve
            for method, curve in view.curves(panel).items()
        }
    return found


def lasts(curves: dict[str, dict[str, Trajectory]], methods: tuple[str, ...]) -> dict[str, float]:
    """The final value of each method in each panel."""
    return {f"{panel}: {m}": curves[panel][m].last for panel in curves for m in methods}
