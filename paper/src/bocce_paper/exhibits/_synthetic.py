"""What the synthetic experiments share: their data under each setting, cells and stability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bocce import exact

from ..compute import prepared
from ..results import FigureView, Trajectory
from ..specs import Data, Outcome, Part, Profile, Run, curve, table

VARIANTS = ("Multi-SHB", "Multi-SHB-CNST", "2P-SHB")
STABILITY = "stability"
SIMILAR = 3.0  # "Similar", "close" and "matches" mean within this factor.
SMALLER = 0.95  # "Smaller", "better" and "faster" mean at least 5 per cent.
Curves = dict[str, dict[str, Trajectory]]  # By panel and method.


def synthetic(setting: str, rows: int, columns: int, kappa: float, r: float) -> Data:
    """The data of a setting: haar rows and noise of variance r, or the rows of the released code.

    The released code makes heavy rows with noise of standard deviation r, and keeps the first 80 %
    of the rows. Methods get the constants of the design before it was changed (``authors``) or the
    true ones (``released-rows``). The published panel was made with all rows and the true
    constants.
    """
    data = Data("regression", n=rows, d=columns, kappa=kappa, noise_var=r)
    if setting == "paper":
        return data
    keep = 1.0 if setting == "published" else 0.8
    nominal = setting == "authors"
    return replace(data, noise_var=r * r, design="heavy", keep=keep, nominal=nominal)


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


def noisy_parts(
    setting: str,
    profile: Profile,
    panels: Sequence[tuple[float, float]],
    methods: tuple[str, ...],
) -> Iterator[Part]:
    """b = 0.9 n, T = 7000, three runs and their expectation; and which methods are stable."""
    T = profile.steps(7000)
    rows = profile.rows
    columns = profile.columns
    for kappa, r in panels:
        data = synthetic(setting, rows, columns, kappa, r)
        for method in methods:
            run = Run(data, method, setting, 0.9, T=T, every=profile.every(T))
            yield from curve(panel_name(kappa, r), method, run, profile.runs(3))
    for kappa in dict.fromkeys(kappa for kappa, _ in panels):
        place = {"setting": setting, "rows": rows, "columns": columns, "kappa": float(kappa)}
        yield table(f"kappa={kappa:g}", STABILITY, stability, **place, T=T, methods=methods)


def stability(
    setting: str, rows: int, columns: int, kappa: float, T: int, methods: tuple[str, ...]
) -> Outcome:
    """The critical batch size of each method over b, at the longest step of its schedule."""
    data = synthetic(setting, rows, columns, kappa, 0.0)
    numbers = {}
    for method in methods:
        p, schedule, b, _ = prepared(Run(data, method, setting, 0.9, T=T))
        if T > 1:
            k = int(np.argmax(schedule.alpha[1:])) + 1
        else:
            k = 0
        step = (float(schedule.alpha[k]), float(schedule.beta[k]), float(schedule.theta[k]))
        numbers[method] = exact.critical_batch_size(p, *step) / b
    return Outcome.of(**numbers)


def judged_curves(view: FigureView) -> Curves:
    """Every curve as claims are judged. A curve of an unstable method is judged on its runs."""
    found = {}
    for panel in view.panels:
        critical = view.numbers(f"kappa={kappa_of(panel):g}", STABILITY)
        found[panel] = {
            method: curve.on_runs() if critical.get(method, [0.0])[0] >= 1.0 else curve
            for method, curve in view.curves(panel).items()
        }
    return found


def lasts(curves: Curves, methods: tuple[str, ...]) -> dict[str, float]:
    """The final value of each method in each panel."""
    return {f"{panel}: {m}": curves[panel][m].last for panel in curves for m in methods}
