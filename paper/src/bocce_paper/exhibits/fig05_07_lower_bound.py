"""Figures 5 and 7, the lower bound: fig:diff_f_beta, fig:psi_beta, fig:lb_2_case (two samples) and
fig:monotone_beta .. fig:lb_100_case (n samples)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bocce import exact, schedules, theory

from ..canvas import GRADIENT, ITERATION, Line, Panel, Picture, Surface, method_lines, words_of
from ..compute import problem, rate
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import Data, Outcome, Part, Profile, Run, curve, table
from ..verdicts import Finding, Found, below
from ._synthetic import SMALLER

TWO_RUNS = "kappa=6, b=1"
MANY_RUNS = "kappa=10, b=10"
METHODS = ("SHB", "SGD", "SGD, 1/L_max")
SEEDS = 5
T = 300
ROUNDING = 1e-9  # A rate is known up to this error.
POLYAK_KAPPAS = (10.0, 100.0, 1000.0)


# ---------------------------------------------------------------- SHB and SGD, run
MOST_OF_FIT = 95  # Over batches up to this one the fit has the slope that the paper prints.


def _run(method: str, n: int, kappa: float, b: int) -> Run:
    return Run(Data("diagonal", n=n, d=n, kappa=kappa), method, "paper", b, T=T, w0=1.0)


def _against_sgd(panel: str, n: int, kappa: float, b: int) -> Iterator[Part]:
    for method in METHODS:
        yield from curve(panel, method, _run(method, n, kappa, b), SEEDS)
    yield table(panel, "rates", diagonal_rates, n=n, kappa=kappa, b=b)


def diagonal_rates(n: int, kappa: float, b: int) -> Outcome:
    """The exact factor a step of the root mean square error of each method."""
    return Outcome.of(**{method: rate(_run(method, n, kappa, b)) for method in METHODS})


@judges("two_samples_runs")
@judges("n_samples_runs")
def two_samples_runs(view: FigureView) -> Finding:
    """The paper does not say which step SGD takes: both readings are judged."""
    reading = view.setting
    view = FigureView(view.results, view.figure)
    (panel,) = view.panels
    if reading == "SGD with 1/L_max":
        sgd = "SGD, 1/L_max"
    else:
        sgd = "SGD"
    factor = {m: float(view.numbers(panel, "rates")[m][0]) for m in METHODS}
    runs = {m: view.curve(panel, m).on_runs() for m in METHODS}
    numbers = {f"{m}: factor a step": value for m, value in factor.items()}
    numbers |= {f"{m}: last / first of the mean run": c.last / c.start for m, c in runs.items()}
    return Finding(
        {
            "SHB diverges, in mean square": factor["SHB"] > 1.0 + ROUNDING,
            "SHB diverges, on runs": runs["SHB"].diverged,
            "SGD converges, in mean square": factor[sgd] < 1.0 - ROUNDING,
            "SGD converges, on runs": below(runs[sgd].last, runs[sgd].start, SMALLER),
        },
        numbers,
        f"In mean square SHB is multiplied by {factor['SHB']:.4f} a step, {reading} by "
        f"{factor[sgd]:.4f}.",
    )


def _pictured(view: FigureView, columns: int, runs: str, *panels: Panel) -> Picture:
    """The panels and a panel of the runs. Each panel has its own legend."""
    lines: list[Line] = []
    for method in METHODS:
        name = "SGD, 1/L" if method == "SGD" else method
        lines += method_lines(name, view.curve(runs, method), headroom=1e6)
    last = Panel(f"SHB against SGD, {words_of(runs)}", ITERATION, GRADIENT, lines)
    return Picture(columns=columns, panels=(*panels, last), seeds=SEEDS, own_legends=True)


# ---------------------------------------------------------------- two samples


def _two_parts(setting: str, profile: Profile) -> Iterator[Part]:
    yield table("psi", "Psi", psi_two_samples, points=61)
    yield from _against_sgd(TWO_RUNS, n=2, kappa=6, b=1)


def psi_two_samples(points: int) -> Outcome:
    """The derivative of the two-sample Psi on a grid, and Psi at beta = 0.63."""
    beta = np.linspace(0.0, 1.0, points)
    theta = np.linspace(0.0, 2.0 * np.pi, points)
    return Outcome.of(
        beta=beta,
        theta=theta,
        derivative=[[theory.psi_derivative(2, 1, b, t, 3) for b in beta] for t in theta],
        psi=[theory.psi_two_samples(0.63, t) for t in theta],
    )


@judges("two_samples_monotone")
def two_samples_monotone(view: FigureView) -> Finding:
    numbers = view.numbers("psi", "Psi")
    derivative = numbers["derivative"]
    beta = numbers["beta"]
    inner = derivative[:, beta > 0.0]
    edge = Finding({"all": bool((derivative > 0).all())})
    return Finding(
        {"0 < beta <= 1": bool((inner > 0.0).all())},
        {"least for beta > 0": inner.min(), "at beta = 0": derivative[:, 0].max()},
        also={"the derivative is above 0 on the edge too": edge},
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


def _many_parts(setting: str, profile: Profile) -> Iterator[Part]:
    yield table("b=70", "Psi", psi_grid, n=100, b=70, points=61)
    yield table("all b", "Psi", batch_factor, n=100)
    yield table("Polyak", "critical", polyak_critical, n=100)
    yield from _against_sgd(MANY_RUNS, n=100, kappa=10, b=10)


def psi_grid(n: int, b: int, points: int) -> Outcome:
    """The derivative of Psi for one b on a grid, and the minimum over theta against beta."""
    beta = np.linspace(0.25, 0.999, points)
    theta = np.linspace(0.0, 2.0 * np.pi, points)
    kappa = theory.kappa_star(b, n)
    return Outcome.of(
        beta=beta,
        theta=theta,
        derivative=[[theory.psi_derivative(n, b, x, t) for x in beta] for t in theta],
        least=[theory.psi_minimum(n, b, x) for x in beta],
        beta_star=schedules.shb(1, kappa, 1.0).beta.copy(),
    )


def batch_factor(n: int) -> Outcome:
    """kappa*(b) for every b, the fitted line, the least derivative, and two thresholds."""
    b = np.arange(1, n)
    beta = np.linspace(0.25, 0.999, 20)
    theta = np.linspace(0.0, np.pi, 21)
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


@judges("n_samples_monotone")
def n_samples_monotone(view: FigureView) -> Found:
    numbers = view.numbers("all b", "Psi")
    least = numbers["least_derivative"]
    yield "", None, {"least over b, beta, theta": least.min()}
    yield from ((f"b={b}", bool(x > 0.0), {}) for b, x in zip(numbers["b"], least))


@judges("n_samples_line")
def n_samples_line(view: FigureView) -> Finding:
    numbers = view.numbers("all b", "Psi")
    slope, intercept = numbers["line"]
    inside = numbers["kappa_star"] > 1.0
    free = _slope(numbers, inside)
    shorter = _slope(numbers, numbers["b"] <= MOST_OF_FIT)
    return Finding(
        {
            "slope": round(float(slope), 1) == -0.6,
            "intercept": round(float(intercept), 1) == -3.8,
        },
        {
            "slope": slope,
            "intercept": intercept,
            "slope over b <= 95": shorter,
            "slope over kappa* > 1": free,
        },
        f"The fit over b = 1 .. 99 has slope {slope:.3f} and intercept {intercept:.2f}, over "
        f"b <= {MOST_OF_FIT} slope {shorter:.3f}; the exact asymptote has -1/2. The text has the "
        "intercepts -3.8, -3.3 and -4.",
    )


def _slope(numbers: dict[str, np.ndarray], chosen: np.ndarray) -> float:
    """The slope of log zeta0^2 against log kappa*, which needs two kappa* or more."""
    x, y = (np.log(numbers[name][chosen]) for name in ("kappa_star", "zeta2"))
    if np.unique(x).size < 2:
        return math.nan
    return float(np.polyfit(x, y, 1)[0])


@judges("n_samples_polyak")
def n_samples_polyak(view: FigureView) -> Finding:
    columns = view.numbers("Polyak", "critical")
    found = Finding()
    for kappa, critical, printed in zip(*(columns[k] for k in ("kappa", "critical", "printed"))):
        name = f"kappa={kappa:g}"
        found.cases[name] = bool(math.ceil(printed) - 1 < critical)
        found.numbers[f"{name}: critical batch of 100"] = critical
        found.numbers[f"{name}: printed threshold"] = printed
    least = ", ".join(f"{value:.2f}" for value in columns["critical"])
    return found.said(
        f"With Polyak's step and momentum the exact critical batch is {least} of 100 at kappa = "
        "10, 100, 1000, above the printed threshold."
    )


def _many_picture(view: FigureView) -> Picture:
    numbers = view.numbers("b=70", "Psi")
    every = view.numbers("all b", "Psi")
    beta = numbers["beta"]
    star = float(numbers["beta_star"][0])
    surface = Surface(beta, numbers["theta"], numbers["derivative"], "∂Ψ/∂β")
    minimum = (
        Line("min Ψ", beta, numbers["least"]),
        Line("Ψ = 1", beta, np.ones_like(beta), "guide"),
        Line(f"β* = {star:.4f}", np.full(2, star), np.array([0.0, 2.0]), "guide"),
    )
    x = np.log(every["kappa_star"])
    y = np.log(every["zeta2"])
    clipped = every["kappa_star"] <= 1.0 + 1e-9  # Psi > 1 at every kappa: not part of a line.
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
        Panel(factor, "log κ*(b)", "log batch factor", lines, ylog=False),
    )


EXHIBITS = [
    exhibit("lower_bound_2", _two_parts, _two_picture),
    exhibit("lower_bound_n", _many_parts, _many_picture),
]
