"""Ours: rates that the text states without a figure."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bocce import exact, schedules

from ..canvas import ITERATION, Line, Panel, Picture, error_lines, words_of
from ..compute import prepared, problem
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import EXACT, Data, Outcome, Part, Profile, Run, table
from ..verdicts import Found, below
from ._synthetic import SMALLER

SLOPE_T = (1000, 2000, 4000, 8000, 16_000, 32_000)
SLOPES = (-1.3, -0.7)  # The slope of the squared error is -1, with room for logarithms.
FASTER = (1000.0, 500.0, 200.0)  # The condition numbers on which 2P-SHB is compared.
RIVALS = ("SGD", "SHB-EXP")
FEASIBLE_T = (1000, 2000, 4000, 8000)
FEASIBLE = ("Multi-SHB", "Multi-SHB-PAN-2")
FEASIBLE_KAPPA = 1e4  # With this kappa the longest run but one ends above rounding.
RESOLVED = 1e-12  # Below this share of the first error there is only rounding.
DOUBLED = 1.8  # Linear convergence: ln(error) falls by this factor more in twice the steps.
SUBLINEAR = 1.2  # With a power of T, ln(error) grows by a constant when T doubles.


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    horizons = tuple(profile.steps(T) for T in SLOPE_T)
    yield table("noise", "SHB-EXP", noise_slope, horizons=horizons)
    given = {"rows": profile.rows, "columns": profile.columns, "kappa": FEASIBLE_KAPPA}
    horizons = tuple(profile.steps(T) for T in FEASIBLE_T)
    yield table("feasible", "errors", feasible_errors, **given, horizons=horizons)
    for r in (0.0, 1e-2):
        for kappa in FASTER:
            data = profile.regression(kappa, r)
            for method in ("2P-SHB", *RIVALS):
                run = Run(data, method, "paper", 0.9, T=profile.steps(7000))
                yield f"kappa={kappa:g}, r={r:g}", method, EXACT, run


def noise_slope(horizons: tuple[int, ...]) -> Outcome:
    """E||w_T - w*||^2 of SHB-EXP where noise is all that is left: kappa = 2, b = 0.1 n."""
    p = problem(Data("regression", n=2000, d=2, kappa=2.0, noise_var=1.0, mu=1.0))
    c = p.constants()
    star = p.minimiser()
    tables = [schedules.shb_exponential(T, c.L, c.mu) for T in horizons]
    errors = [exact.expected(p, s, p.n // 10, star).error2[-1] for s in tables]
    return Outcome.of(T=horizons, error2=errors)


def feasible_errors(rows: int, columns: int, kappa: float, horizons: tuple[int, ...]) -> Outcome:
    """||w_T - w*|| over its start on a feasible system, b = 0.9 n, exactly."""
    data = Data("regression", n=rows, d=columns, kappa=kappa)

    def end(method: str, T: int) -> float:
        p, schedule, b, w0 = prepared(Run(data, method, "paper", 0.9, T=T))
        error2 = exact.expected(p, schedule, b, w0).error2
        return math.sqrt(error2[-1] / error2[0])

    ends = {method: [end(method, T) for T in horizons] for method in FEASIBLE}
    return Outcome.of(T=horizons, **ends)


def slope_in_T(numbers: dict[str, np.ndarray]) -> float:
    """The slope of log error^2 in log T, over the longer half of the horizons."""
    half = len(numbers["T"]) // 2
    x = np.log(numbers["T"][half:])
    y = np.log(numbers["error2"][half:])
    return float(np.polyfit(x, y, 1)[0])


@judges("noise_slope")
def noise_falls(view: FigureView) -> Found:
    slope, (low, high) = slope_in_T(view.numbers("noise", "SHB-EXP")), SLOPES
    yield "SHB-EXP", bool(low <= slope <= high), {"slope of log error^2 in log T": slope}


@judges("two_phase_faster")
def two_phase_faster(view: FigureView) -> Found:
    for panel in view.panels:
        last = {m: float(view.curve(panel, m).error[-1]) for m in ("2P-SHB", *RIVALS)}
        for rival in RIVALS:
            name = f"{panel}, {rival}"
            shown = {f"{name}: 2P-SHB / it": last["2P-SHB"] / last[rival]}
            yield name, below(last["2P-SHB"], last[rival], SMALLER), shown


@judges("pan_feasible")
def pan_feasible(view: FigureView) -> Found:
    numbers = view.numbers("feasible", "errors")
    gain = {}
    for m in FEASIBLE:
        falls = -np.log(numbers[m][numbers[m] > RESOLVED])
        gain[m] = float(falls[-1] / falls[-2])
        yield "", None, {f"{m}: ln(error) at 2T over that at T": gain[m]}
    yield "", None, {f"{m}: error at the largest T": float(numbers[m][-1]) for m in FEASIBLE}
    yield "the method of Pan et al. is sublinear", gain["Multi-SHB-PAN-2"] <= SUBLINEAR, {}
    yield "Multi-SHB is linear", gain["Multi-SHB"] >= DOUBLED, {}


def _picture(view: FigureView) -> Picture:
    noise = view.numbers("noise", "SHB-EXP")
    feasible = view.numbers("feasible", "errors")
    T = noise["T"]
    error2 = noise["error2"]
    lines = (Line("SHB-EXP", T, error2), Line("1/T", T, error2[0] * T[0] / T, "guide"))
    ends = [Line(m, feasible["T"], feasible[m]) for m in FEASIBLE]
    panels = [
        Panel("noise term of SHB-EXP", "T", "squared error", lines, xlog=True),
        Panel("feasible system, κ = 10,000", "T", "error at T / first", ends),
    ]
    for panel in view.panels:
        errors = error_lines(view, panel)
        panels.append(Panel(words_of(panel), ITERATION, "root mean square error", errors))
    return Picture(columns=4, panels=panels)


EXHIBITS = [exhibit("rates", _parts, _picture)]
