"""Ours: rates that the text states without a figure."""

from __future__ import annotations

import math

import numpy as np

from ... import exact, schedules
from ..canvas import ITERATION, Line, Panel, Picture, visible
from ..compute import Outcome, prepared, problem
from ..exhibit import Exhibit
from ..results import Results
from ..specs import EXACT, Cell, Data, Profile, Run, table, table_cell
from ..texts import claims
from ..verdicts import Case, Finding, below, counted
from ._synthetic import SMALLER

LABEL, TITLE = "rates", "Rates that the text states"
SLOPE_T = (1000, 2000, 4000, 8000, 16_000, 32_000)
SLOPES = {"SHB-EXP": (-1.3, -0.7)}  # of the squared error: -1, with room for the logarithms
FASTER = {"kappa=1000": 1000.0, "kappa=500": 500.0, "kappa=200": 200.0}
RIVALS = ("SGD", "SHB-EXP")
FEASIBLE_T = (1000, 2000, 4000, 8000)
FEASIBLE = ("Multi-SHB", "Multi-SHB-PAN-2")
FEASIBLE_KAPPA = 1e4  # so that the longest run but one ends above rounding
RESOLVED = 1e-12  # of the first error: below it there is rounding only
DOUBLED = 1.8  # ln(error) must fall by so much more in twice the steps to be called linear


def _cells(setting: str, profile: Profile) -> list[Cell]:
    cells = []
    slope = table("noise_slope", horizons=tuple(profile.steps(T) for T in SLOPE_T))
    cells.append(table_cell(LABEL, "paper", "noise", "SHB-EXP", slope))
    feasible = table(
        "feasible_errors",
        rows=profile.rows,
        columns=profile.columns,
        kappa=FEASIBLE_KAPPA,
        horizons=tuple(profile.steps(T) for T in FEASIBLE_T),
    )
    cells.append(table_cell(LABEL, "paper", "feasible", "errors", feasible))
    for r in (0.0, 1e-2):
        for name, kappa in FASTER.items():
            data = Data("regression", n=profile.rows, d=profile.columns, kappa=kappa, noise_var=r)
            for method in ("2P-SHB", *RIVALS):
                run = Run(data, method, "paper", 0.9, T=profile.steps(7000))
                cells.append(Cell(LABEL, "paper", f"{name}, r={r:g}", method, EXACT, run))
    return cells


def noise_slope(horizons: tuple[int, ...]) -> Outcome:
    """E||w_T - w*||^2 of SHB-EXP where noise is all that is left: kappa = 2, b = 0.1 n."""
    p = problem(Data("regression", n=2000, d=2, kappa=2.0, noise_var=1.0, mu=1.0))
    c = p.constants()
    errors = [
        exact.expected(p, schedules.shb_exponential(T, c.L, c.mu), p.n // 10, p.minimiser()).error2[
            -1
        ]
        for T in horizons
    ]
    return Outcome({"T": np.array(horizons), "error2": np.array(errors)})


def feasible_errors(rows: int, columns: int, kappa: float, horizons: tuple[int, ...]) -> Outcome:
    """||w_T - w*|| over its start on a feasible system, b = 0.9 n, exactly."""
    data = Data("regression", n=rows, d=columns, kappa=kappa)
    numbers = {"T": np.array(horizons)}
    for method in FEASIBLE:
        ends = []
        for T in horizons:
            p, schedule, b, w0 = prepared(Run(data, method, "paper", 0.9, T=T))
            error2 = exact.expected(p, schedule, b, w0).error2
            ends.append(math.sqrt(error2[-1] / error2[0]))
        numbers[method] = np.array(ends)
    return Outcome(numbers)


def _slope(results: Results) -> float:
    numbers = results.table(LABEL, "noise", "SHB-EXP").numbers
    half = len(numbers["T"]) // 2
    x, y = np.log(numbers["T"][half:]), np.log(numbers["error2"][half:])
    return float(np.polyfit(x, y, 1)[0])


def _noise_falls_as_one_over_T(results: Results, setting: str) -> Finding:
    slope, (low, high) = _slope(results), SLOPES["SHB-EXP"]
    return Finding(
        {"SHB-EXP": bool(low <= slope <= high)},
        {"slope of log error^2 in log T": slope},
        f"From the minimiser, where noise is all there is, the squared error of SHB-EXP falls as "
        f"T^{slope:.2f}.",
    )


def _two_phase_is_faster(results: Results, setting: str) -> Finding:
    cases: dict[str, Case] = {}
    numbers: dict[str, float] = {}
    for panel in results.panels(LABEL, "paper"):
        last = {
            m: float(results.curve(LABEL, "paper", panel, m).error[-1]) for m in ("2P-SHB", *RIVALS)
        }
        for rival in RIVALS:
            name = f"{panel}, {rival}"
            cases[name] = below(last["2P-SHB"], last[rival], SMALLER)
            numbers[f"{name}: 2P-SHB / it"] = last["2P-SHB"] / last[rival]
    return Finding(
        cases, numbers, f"2P-SHB has the smaller error at T, by 5 % or more, in {counted(cases)}."
    )


def _pan_is_sublinear(results: Results, setting: str) -> Finding:
    numbers = results.table(LABEL, "feasible", "errors").numbers
    falls = {m: -np.log(numbers[m][numbers[m] > RESOLVED]) for m in FEASIBLE}
    gains = {m: float(values[-1] / values[-2]) for m, values in falls.items()}
    linear = {m: gain >= DOUBLED for m, gain in gains.items()}
    return Finding(
        {
            "Pan et al. is sublinear": not linear["Multi-SHB-PAN-2"],
            "Multi-SHB is linear": linear["Multi-SHB"],
        },
        {f"{m}: ln(error) at 2T over that at T": gain for m, gain in gains.items()}
        | {f"{m}: error at the largest T": float(numbers[m][-1]) for m in FEASIBLE},
        f"In twice the steps ln(error) of Multi-SHB falls {gains['Multi-SHB']:.2f} times as far, "
        f"that of Pan et al. {gains['Multi-SHB-PAN-2']:.2f} times, for its stages are shorter than "
        "T by the factor log2(T sqrt(kappa)): nearly linear, where its bound is sublinear.",
    )


def _picture(results: Results, setting: str) -> Picture:
    noise = results.table(LABEL, "noise", "SHB-EXP").numbers
    T, error2 = noise["T"], noise["error2"]
    guide = Line("1/T", T, error2[0] * T[0] / T, "guide")
    feasible = results.table(LABEL, "feasible", "errors").numbers
    panels = [
        Panel(
            "noise term of SHB-EXP",
            "T",
            "squared error",
            (Line("SHB-EXP", T, error2), guide),
            xlog=True,
        ),
        Panel(
            "feasible system, κ = 10,000",
            "T",
            "error at T / first",
            tuple(Line(m, feasible["T"], feasible[m]) for m in FEASIBLE),
        ),
    ]
    for panel in results.panels(LABEL, "paper"):
        lines = []
        for method in ("2P-SHB", *RIVALS):
            curve = results.curve(LABEL, "paper", panel, method)
            lines.append(Line(method, *visible(curve.exact_k, curve.error, 1e300)))
        title = panel.replace("kappa", "κ").replace("=", " = ")
        panels.append(Panel(title, ITERATION, "root mean square error", tuple(lines)))
    return Picture(LABEL, TITLE, columns=4, panels=tuple(panels))


EXHIBIT = Exhibit(
    label=LABEL,
    alias="rates",
    title=TITLE,
    caption=lambda profile: (
        f"Exact errors: SHB-EXP started at the minimiser, T up to "
        f"{profile.steps(SLOPE_T[-1]):,}; Multi-SHB and the method of Pan et al. on a feasible "
        f"system; 2P-SHB beside SGD and SHB-EXP, n = {profile.rows:,}, d = {profile.columns}, "
        f"b = 0.9 n, T = {profile.steps(7000):,}."
    ),
    cells=_cells,
    picture=_picture,
    tables=(noise_slope, feasible_errors),
    ours=True,
    claims=claims(
        LABEL,
        noise_slope=_noise_falls_as_one_over_T,
        two_phase_faster=_two_phase_is_faster,
        pan_feasible=_pan_is_sublinear,
    ),
)
