"""fig:monotone_beta .. fig:lb_100_case: the lower bound with n samples."""

from __future__ import annotations

import math

import numpy as np

from ... import exact, schedules, theory
from ..canvas import Line, Panel, Picture, Surface
from ..compute import Outcome, problem
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Data, Profile, table, table_cell
from ..texts import claims
from ..verdicts import Case, Finding, counted
from ._lower import (
    SEEDS,
    against_sgd,
    diverges_while_sgd_converges,
    runs_panel,
)

LABEL, TITLE = "lower_bound_n", "Lower bound, n samples"
RUNS = "kappa=10, b=10"
POLYAK_KAPPAS = (10.0, 100.0, 1000.0)


def _cells(setting: str, profile: Profile) -> list[Cell]:
    grid = table("psi_grid", n=100, b=70, points=61)
    return [
        table_cell(LABEL, "paper", "b=70", "Psi", grid),
        table_cell(LABEL, "paper", "all b", "Psi", table("batch_factor", n=100)),
        table_cell(LABEL, "paper", "Polyak", "critical", table("polyak_critical", n=100)),
        *against_sgd(LABEL, RUNS, n=100, kappa=10, b=10),
    ]


def psi_grid(n: int, b: int, points: int) -> Outcome:
    """The derivative of Psi for one b on a grid, and the minimum over theta against beta."""
    beta, theta = np.linspace(0.25, 0.999, points), np.linspace(0.0, 2.0 * np.pi, points)
    derivative = [[theory.psi_derivative(n, b, x, t) for x in beta] for t in theta]
    kappa = theory.kappa_star(b, n)
    return Outcome(
        {
            "beta": beta,
            "theta": theta,
            "derivative": np.array(derivative),
            "least": np.array([theory.psi_minimum(n, b, x) for x in beta]),
            "kappa_star": np.array([kappa]),
            "beta_star": schedules.shb(1, kappa, 1.0).beta.copy(),
        }
    )


def batch_factor(n: int) -> Outcome:
    """kappa*(b) for every b, the fitted line, the least derivative, and three thresholds."""
    b = np.arange(1, n)
    beta, theta = np.linspace(0.25, 0.999, 20), np.linspace(0.0, np.pi, 21)
    least = [min(theory.psi_derivative(n, int(x), y, t) for y in beta for t in theta) for x in b]
    kappas = np.geomspace(1.0, 3e4, 200)
    lines = {
        which: np.array([theory.lower_bound_threshold(n, k, which) for k in kappas])
        for which in ("printed", "six-step", "exact")
    }
    return Outcome(
        {
            "b": b,
            "kappa_star": np.array([theory.kappa_star(int(x), n) for x in b]),
            "zeta2": np.array([theory.zeta2(n, int(x)) for x in b]),
            "line": np.array(theory.best_fit_line(n)),
            "least_derivative": np.array(least),
            "kappa": kappas,
            "printed": lines["printed"],
            "six_step": lines["six-step"],
            "exact": lines["exact"],
        }
    )


def polyak_critical(n: int) -> Outcome:
    """The exact critical batch size of Polyak's parameters on the diagonal problem."""
    critical, printed = [], []
    for kappa in POLYAK_KAPPAS:
        p = problem(Data("diagonal", n=n, d=n, kappa=kappa))
        c = p.constants()
        s = schedules.polyak(2, c.L, c.mu)
        critical.append(exact.critical_batch_size(p, float(s.alpha[1]), float(s.beta[1])))
        printed.append(theory.lower_bound_threshold(n, kappa, "printed"))
    return Outcome(
        {
            "kappa": np.array(POLYAK_KAPPAS),
            "critical": np.array(critical),
            "printed": np.array(printed),
        }
    )


def _all_b(results: Results) -> dict[str, np.ndarray]:
    return results.table(LABEL, "all b", "Psi").numbers


def _derivative_positive(results: Results, setting: str) -> Finding:
    numbers = _all_b(results)
    least = numbers["least_derivative"]
    cases: dict[str, Case] = {f"b={b}": bool(x > 0.0) for b, x in zip(numbers["b"], least)}
    return Finding(
        cases,
        {"least over b, beta, theta": least.min()},
        f"The derivative is at least {least.min():.2g} on the grid for {counted(cases, 'b')}.",
    )


def _slope(kappa: np.ndarray, zeta2: np.ndarray) -> float:
    """Of the line through log zeta0^2 against log kappa*; NaN of fewer than two points."""
    if kappa.size < 2:
        return math.nan
    return float(np.polyfit(np.log(kappa), np.log(zeta2), 1)[0])


def _fitted_line(results: Results, setting: str) -> Finding:
    numbers = _all_b(results)
    slope, intercept = numbers["line"]
    inside = numbers["kappa_star"] > 1.0
    clipped = int((~inside).sum())
    free = _slope(numbers["kappa_star"][inside], numbers["zeta2"][inside])
    return Finding(
        {
            "slope": round(float(slope), 1) == -0.6,
            "intercept": round(float(intercept), 1) == -3.8,
        },
        {"slope": slope, "intercept": intercept, "slope without clipped points": free},
        f"The fit over b = 1 .. 99 has slope {slope:.3f} and intercept {intercept:.2f}, {clipped} "
        f"of the points being clipped at kappa* = 1; without them the slope is {free:.2f}, and the "
        "exact asymptote has -1/2. The text prints the intercepts -3.8, -3.3 and -4.",
    )


def _polyak_diverges(results: Results, setting: str) -> Finding:
    numbers = results.table(LABEL, "Polyak", "critical").numbers
    cases: dict[str, Case] = {}
    shown = {}
    for kappa, critical, printed in zip(*(numbers[k] for k in ("kappa", "critical", "printed"))):
        name = f"kappa={kappa:g}"
        cases[name] = bool(math.ceil(printed) - 1 < critical)
        shown[f"{name}: critical batch of 100"] = critical
        shown[f"{name}: printed threshold"] = printed
    least = ", ".join(f"{value:.2f}" for value in numbers["critical"])
    return Finding(
        cases,
        shown,
        f"With Polyak's step and momentum the exact critical batch is {least} of 100 at kappa = "
        "10, 100, 1000, above the printed threshold.",
    )


def _picture(results: Results, setting: str) -> Picture:
    numbers = results.table(LABEL, "b=70", "Psi").numbers
    every = _all_b(results)
    surface = Surface(numbers["beta"], numbers["theta"], numbers["derivative"], "∂Ψ/∂β")
    star = float(numbers["beta_star"][0])
    least = Line("min Ψ", numbers["beta"], numbers["least"])
    one = Line("Ψ = 1", numbers["beta"], np.ones_like(numbers["beta"]), "guide")
    at = Line(f"β* = {star:.4f}", np.full(2, star), np.array([0.0, 2.0]), "guide")
    x, y = np.log(every["kappa_star"]), np.log(every["zeta2"])
    clipped = every["kappa_star"] <= 1.0 + 1e-9  # Psi > 1 at every kappa: no data for a line
    slope, intercept = every["line"]
    alone = np.polyfit(x[~clipped], y[~clipped], 1)
    span = np.array([0.0, x.max()])
    points = Line("b with κ* > 1", x[~clipped], y[~clipped], "points")
    rest = Line("b with κ* cut at 1", x[clipped], y[clipped], "points")
    ours = Line(
        f"fit to all: {slope:.2f} x {intercept:+.2f}", span, slope * span + intercept, "guide"
    )
    right = Line(
        f"fit to κ* > 1: {alone[0]:.2f} x {alone[1]:+.2f}", span, np.polyval(alone, span), "guide"
    )
    printed = Line("figure: -0.6 x -3.8", span, -0.6 * span - 3.8, "guide")
    used = Line("theorem: -0.6 x -3.3", span, -0.6 * span - 3.3, "guide")
    return Picture(
        LABEL,
        TITLE,
        columns=2,
        panels=(
            Panel("derivative of Ψ in β, b = 70", "β", "θ", surface=surface),
            Panel("minimum of Ψ over θ, b = 70", "β", "min Ψ", (least, one, at), ylog=False),
            Panel(
                "batch factor (n-b)/((n-1)b), b = 1 .. 99",
                "log κ*(b)",
                "log batch factor",
                (points, rest, ours, right, printed, used),
                ylog=False,
            ),
            runs_panel(results, LABEL, RUNS),
        ),
        seeds=SEEDS,
        own_legends=True,
    )


EXHIBIT = Exhibit(
    label=LABEL,
    alias="fig7",
    title=TITLE,
    caption=lambda profile: (
        "n = 100: derivative and minimum of Psi at b = 70; log((n-b)/((n-1)b)) against log kappa* "
        "for b = 1 .. 99; SHB and SGD at kappa = 10, b = 10, 300 steps, 5 runs."
    ),
    cells=_cells,
    picture=_picture,
    tables=(psi_grid, batch_factor, polyak_critical),
    claims=claims(
        LABEL,
        n_samples_monotone=_derivative_positive,
        n_samples_line=_fitted_line,
        n_samples_polyak=_polyak_diverges,
        n_samples_runs=diverges_while_sgd_converges(LABEL, RUNS),
    ),
)
