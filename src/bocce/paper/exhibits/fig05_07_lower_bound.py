"""Figures 5 and 7, the lower bound: fig:diff_f_beta, fig:psi_beta, fig:lb_2_case (two samples) and
fig:monotone_beta .. fig:lb_100_case (n samples)."""

from __future__ import annotations

import math

import numpy as np

from ... import exact, schedules, theory
from ..canvas import GRADIENT, ITERATION, Line, Panel, Picture, Surface, method_lines, words_of
from ..compute import prepared, problem
from ..exhibit import Exhibit
from ..results import FigureView
from ..specs import Cell, Data, Outcome, Profile, Run, run_cells, table, table_cell
from ..texts import claims
from ..verdicts import Cases, Finding, Judge, below, counted, tally
from ._synthetic import SMALLER

TWO, TWO_RUNS = "lower_bound_2", "kappa=6, b=1"
MANY, MANY_RUNS = "lower_bound_n", "kappa=10, b=10"
METHODS = ("SHB", "SGD", "SGD, 1/L_max")
SEEDS, T = 5, 300
ROUNDING = 1e-9  # of a rate
READINGS = ("SGD with 1/L_max", "SGD with 1/L")
POLYAK_KAPPAS = (10.0, 100.0, 1000.0)


# ---------------------------------------------------------------- SHB and SGD, run


def _run(method: str, n: int, kappa: float, b: int) -> Run:
    return Run(Data("diagonal", n=n, d=n, kappa=kappa), method, "paper", b, T=T, w0=1.0)


def _against_sgd(label: str, panel: str, n: int, kappa: float, b: int) -> list[Cell]:
    cells = []
    for method in METHODS:
        run = _run(method, n, kappa, b)
        cells += run_cells(label, "paper", panel, method, run, SEEDS, exact=True)
    job = table("diagonal_rates", n=n, kappa=kappa, b=b)
    return [*cells, table_cell(label, "paper", panel, "rates", job)]


def diagonal_rates(n: int, kappa: float, b: int) -> Outcome:
    """The exact factor a step of the root mean square error of each method."""
    rates = {}
    for method in METHODS:
        p, s, _, _ = prepared(_run(method, n, kappa, b))
        rates[method] = exact.mean_square_rate(p, float(s.alpha[1]), float(s.beta[1]), b)
    return Outcome.of(**rates)


def _diverges_while_sgd_converges(panel: str) -> Judge:
    """The paper does not say which step SGD takes: both readings are judged."""

    def judge(view: FigureView) -> Finding:
        reading, view = view.setting, FigureView(view.results, view.figure)
        sgd = "SGD, 1/L_max" if reading == READINGS[0] else "SGD"
        rate = {m: float(view.numbers(panel, "rates")[m][0]) for m in METHODS}
        runs = {m: view.curve(panel, m).on_runs() for m in METHODS}
        cases: Cases = {
            "SHB diverges, in mean square": rate["SHB"] > 1.0 + ROUNDING,
            "SHB diverges, on runs": runs["SHB"].diverged,
            "SGD converges, in mean square": rate[sgd] < 1.0 - ROUNDING,
            "SGD converges, on runs": below(runs[sgd].last, runs[sgd].start, SMALLER),
        }
        numbers = {f"{m}: factor a step": value for m, value in rate.items()}
        numbers |= {f"{m}: last / first of the mean run": c.last / c.start for m, c in runs.items()}
        return Finding(
            cases,
            numbers,
            f"In mean square SHB is multiplied by {rate['SHB']:.4f} a step, "
            f"{reading} by {rate[sgd]:.4f}.",
        )

    return judge


def _pictured(view: FigureView, columns: int, runs: str, *panels: Panel) -> Picture:
    """These panels, and the one of the runs, each with its legend."""
    lines: list[Line] = []
    for method in METHODS:
        name = "SGD, 1/L" if method == "SGD" else method
        lines += method_lines(name, view.curve(runs, method), headroom=1e6)
    last = Panel(f"SHB against SGD, {words_of(runs)}", ITERATION, GRADIENT, tuple(lines))
    return Picture(columns=columns, panels=(*panels, last), seeds=SEEDS, own_legends=True)


# ---------------------------------------------------------------- two samples


def _two_cells(setting: str, profile: Profile) -> list[Cell]:
    grid = table_cell(TWO, "paper", "psi", "Psi", table("psi_two_samples", points=61))
    return [grid, *_against_sgd(TWO, TWO_RUNS, n=2, kappa=6, b=1)]


def psi_two_samples(points: int) -> Outcome:
    """The two-sample Psi and its derivative on a grid, and its minimum against beta."""
    beta, theta = np.linspace(0.0, 1.0, points), np.linspace(0.0, 2.0 * np.pi, points)
    at_kappa_6 = float(schedules.shb(1, 6.0, 1.0).beta[0])
    return Outcome.of(
        beta=beta,
        theta=theta,
        derivative=[[theory.psi_derivative(2, 1, b, t, 3) for b in beta] for t in theta],
        psi=[theory.psi_two_samples(0.63, t) for t in theta],
        least=[theory.psi_minimum(2, 1, b, 3) for b in (0.63, at_kappa_6)],
        rate=1.0 / theory.lower_bound_threshold(2, 6.0),
    )


def two_samples_monotone(view: FigureView) -> Finding:
    numbers = view.numbers("psi", "Psi")
    derivative, beta = numbers["derivative"], numbers["beta"]
    inner = derivative[:, beta > 0.0]
    edge = Finding({"all": bool((derivative > 0).all())})
    return Finding(
        {"0 < beta <= 1": bool((inner > 0.0).all())},
        {"least for beta > 0": inner.min(), "at beta = 0": derivative[:, 0].max()},
        "The derivative is positive for beta > 0. On the edge beta = 0 it is 0, for Psi has no "
        "linear term in beta; Psi increases on [0, 1] all the same.",
        {"the derivative is above 0 on the edge too": edge},
    )


def _two_picture(view: FigureView) -> Picture:
    numbers = view.numbers("psi", "Psi")
    theta = numbers["theta"]
    surface = Surface(numbers["beta"], theta, numbers["derivative"], "∂Ψ/∂β")
    lines = (Line("Ψ", theta, numbers["psi"]), Line("Ψ = 1", theta, np.ones_like(theta), "guide"))
    return _pictured(
        *(view, 3, TWO_RUNS),
        Panel("derivative of Ψ in β", "β", "θ", surface=surface),
        Panel("Ψ at β = 0.63", "θ", "Ψ", lines, ylog=False),
    )


# ---------------------------------------------------------------- n samples


def _many_cells(setting: str, profile: Profile) -> list[Cell]:
    grid = table("psi_grid", n=100, b=70, points=61)
    return [
        table_cell(MANY, "paper", "b=70", "Psi", grid),
        table_cell(MANY, "paper", "all b", "Psi", table("batch_factor", n=100)),
        table_cell(MANY, "paper", "Polyak", "critical", table("polyak_critical", n=100)),
        *_against_sgd(MANY, MANY_RUNS, n=100, kappa=10, b=10),
    ]


def psi_grid(n: int, b: int, points: int) -> Outcome:
    """The derivative of Psi for one b on a grid, and the minimum over theta against beta."""
    beta, theta = np.linspace(0.25, 0.999, points), np.linspace(0.0, 2.0 * np.pi, points)
    kappa = theory.kappa_star(b, n)
    return Outcome.of(
        beta=beta,
        theta=theta,
        derivative=[[theory.psi_derivative(n, b, x, t) for x in beta] for t in theta],
        least=[theory.psi_minimum(n, b, x) for x in beta],
        kappa_star=kappa,
        beta_star=schedules.shb(1, kappa, 1.0).beta.copy(),
    )


def batch_factor(n: int) -> Outcome:
    """kappa*(b) for every b, the fitted line, the least derivative, and three thresholds."""
    b = np.arange(1, n)
    beta, theta = np.linspace(0.25, 0.999, 20), np.linspace(0.0, np.pi, 21)
    kappas = np.geomspace(1.0, 3e4, 200)

    def threshold(which: str) -> list[float]:
        return [theory.lower_bound_threshold(n, kappa, which) for kappa in kappas]

    return Outcome.of(
        b=b,
        kappa_star=[theory.kappa_star(int(x), n) for x in b],
        zeta2=[theory.zeta2(n, int(x)) for x in b],
        line=theory.best_fit_line(n),
        least_derivative=[
            min(theory.psi_derivative(n, int(x), y, t) for y in beta for t in theta) for x in b
        ],
        kappa=kappas,
        printed=threshold("printed"),
        six_step=threshold("six-step"),
        exact=threshold("exact"),
    )


def polyak_critical(n: int) -> Outcome:
    """The exact critical batch size of Polyak's parameters on the diagonal problem."""
    critical = []
    for kappa in POLYAK_KAPPAS:
        p = problem(Data("diagonal", n=n, d=n, kappa=kappa))
        c = p.constants()
        s = schedules.polyak(2, c.L, c.mu)
        critical.append(exact.critical_batch_size(p, float(s.alpha[1]), float(s.beta[1])))
    printed = [theory.lower_bound_threshold(n, kappa, "printed") for kappa in POLYAK_KAPPAS]
    return Outcome.of(kappa=POLYAK_KAPPAS, critical=critical, printed=printed)


def n_samples_monotone(view: FigureView) -> Finding:
    numbers = view.numbers("all b", "Psi")
    least = numbers["least_derivative"]
    cases: Cases = {f"b={b}": bool(x > 0.0) for b, x in zip(numbers["b"], least)}
    return Finding(
        cases,
        {"least over b, beta, theta": least.min()},
        f"The derivative is at least {least.min():.2g} on the grid for {counted(cases, 'b')}.",
    )


def n_samples_line(view: FigureView) -> Finding:
    numbers = view.numbers("all b", "Psi")
    slope, intercept = numbers["line"]
    inside = numbers["kappa_star"] > 1.0
    free = math.nan  # of the line through log zeta0^2 against log kappa*, of two points or more
    if inside.sum() > 1:
        x, y = (np.log(numbers[name][inside]) for name in ("kappa_star", "zeta2"))
        free = float(np.polyfit(x, y, 1)[0])
    return Finding(
        {
            "slope": round(float(slope), 1) == -0.6,
            "intercept": round(float(intercept), 1) == -3.8,
        },
        {"slope": slope, "intercept": intercept, "slope without clipped points": free},
        f"The fit over b = 1 .. 99 has slope {slope:.3f} and intercept {intercept:.2f}, "
        f"{int((~inside).sum())} of the points being clipped at kappa* = 1; without them the slope "
        f"is {free:.2f}, and the exact asymptote has -1/2. The text prints the intercepts -3.8, "
        "-3.3 and -4.",
    )


def n_samples_polyak(view: FigureView) -> Finding:
    columns = view.numbers("Polyak", "critical")
    cases, shown = tally()
    for kappa, critical, printed in zip(*(columns[k] for k in ("kappa", "critical", "printed"))):
        name = f"kappa={kappa:g}"
        cases[name] = bool(math.ceil(printed) - 1 < critical)
        shown[f"{name}: critical batch of 100"] = critical
        shown[f"{name}: printed threshold"] = printed
    least = ", ".join(f"{value:.2f}" for value in columns["critical"])
    return Finding(
        cases,
        shown,
        f"With Polyak's step and momentum the exact critical batch is {least} of 100 at kappa = "
        "10, 100, 1000, above the printed threshold.",
    )


def _many_picture(view: FigureView) -> Picture:
    numbers, every = view.numbers("b=70", "Psi"), view.numbers("all b", "Psi")
    beta, star = numbers["beta"], float(numbers["beta_star"][0])
    surface = Surface(beta, numbers["theta"], numbers["derivative"], "∂Ψ/∂β")
    minimum = (
        Line("min Ψ", beta, numbers["least"]),
        Line("Ψ = 1", beta, np.ones_like(beta), "guide"),
        Line(f"β* = {star:.4f}", np.full(2, star), np.array([0.0, 2.0]), "guide"),
    )
    x, y = np.log(every["kappa_star"]), np.log(every["zeta2"])
    clipped = every["kappa_star"] <= 1.0 + 1e-9  # Psi > 1 at every kappa: no data for a line
    ends = np.array([0.0, x.max()])
    fits = {"fit to all": every["line"], "fit to κ* > 1": np.polyfit(x[~clipped], y[~clipped], 1)}
    lines = [
        Line("b with κ* > 1", x[~clipped], y[~clipped], "points"),
        Line("b with κ* cut at 1", x[clipped], y[clipped], "points"),
    ]
    for name, (slope, intercept) in fits.items():
        fitted = slope * ends + intercept
        lines.append(Line(f"{name}: {slope:.2f} x {intercept:+.2f}", ends, fitted, "guide"))
    for name, intercept in (("figure", -3.8), ("theorem", -3.3)):
        printed = -0.6 * ends + intercept
        lines.append(Line(f"{name}: -0.6 x {intercept}", ends, printed, "guide"))
    factor = "batch factor (n-b)/((n-1)b), b = 1 .. 99"
    return _pictured(
        *(view, 2, MANY_RUNS),
        Panel("derivative of Ψ in β, b = 70", "β", "θ", surface=surface),
        Panel("minimum of Ψ over θ, b = 70", "β", "min Ψ", minimum, ylog=False),
        Panel(factor, "log κ*(b)", "log batch factor", tuple(lines), ylog=False),
    )


TWO_CLAIMS = claims(
    TWO, two_samples_monotone, two_samples_runs=_diverges_while_sgd_converges(TWO_RUNS)
)
TWO_TABLES = (psi_two_samples, diagonal_rates)
TWO_SAMPLES = Exhibit(TWO, _two_cells, _two_picture, TWO_CLAIMS, TWO_TABLES)
MANY_CLAIMS = claims(
    *(MANY, n_samples_monotone, n_samples_line, n_samples_polyak),
    n_samples_runs=_diverges_while_sgd_converges(MANY_RUNS),
)
MANY_TABLES = (psi_grid, batch_factor, polyak_critical)
MANY_SAMPLES = Exhibit(MANY, _many_cells, _many_picture, MANY_CLAIMS, MANY_TABLES)
