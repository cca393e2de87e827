"""What the figures of the lower bound share: runs of SHB and SGD on the diagonal problem."""

from __future__ import annotations

import numpy as np

from ... import exact
from ..canvas import GRADIENT, ITERATION, Line, Panel, method_lines, words_of
from ..compute import Outcome, prepared
from ..results import Results
from ..specs import Cell, Data, Run, run_cells, table, table_cell
from ..verdicts import Case, Finding, Judge, below
from ._synthetic import SMALLER

METHODS = ("SHB", "SGD", "SGD, 1/L_max")
SEEDS, T = 5, 300
ROUNDING = 1e-9  # of a rate
READINGS = ("SGD with 1/L_max", "SGD with 1/L")


def _run(method: str, n: int, kappa: float, b: int) -> Run:
    return Run(Data("diagonal", n=n, d=n, kappa=kappa), method, "paper", b, T=T, w0=1.0)


def against_sgd(label: str, panel: str, n: int, kappa: float, b: int) -> list[Cell]:
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
        rate = exact.mean_square_rate(p, float(s.alpha[1]), float(s.beta[1]), b)
        rates[method] = np.array([rate])
    return Outcome(rates)


def runs_panel(results: Results, label: str, panel: str) -> Panel:
    lines: list[Line] = []
    for method in METHODS:
        name = "SGD, 1/L" if method == "SGD" else method
        lines += method_lines(name, results.curve(label, "paper", panel, method), headroom=1e6)
    return Panel(f"SHB against SGD, {words_of(panel)}", ITERATION, GRADIENT, tuple(lines))


def diverges_while_sgd_converges(label: str, panel: str) -> Judge:
    """The paper does not say which step SGD takes: both readings are judged."""

    def judge(results: Results, reading: str) -> Finding:
        sgd = "SGD, 1/L_max" if reading == READINGS[0] else "SGD"
        rates = results.table(label, panel, "rates").numbers
        rate = {m: float(rates[m][0]) for m in METHODS}
        runs = {m: results.curve(label, "paper", panel, m).on_runs() for m in METHODS}
        cases: dict[str, Case] = {
            "SHB diverges, in mean square": rate["SHB"] > 1.0 + ROUNDING,
            "SHB diverges, on runs": runs["SHB"].diverged,
            "SGD converges, in mean square": rate[sgd] < 1.0 - ROUNDING,
            "SGD converges, on runs": below(runs[sgd].last, runs[sgd].start, SMALLER),
        }
        numbers = {f"{m}: factor a step": value for m, value in rate.items()}
        numbers |= {f"{m}: last / first of the mean run": c.last / c.start for m, c in runs.items()}
        step = reading.removeprefix("SGD with ")
        return Finding(
            cases,
            numbers,
            f"In mean square SHB is multiplied by {rate['SHB']:.4f} a step, SGD with {step} by "
            f"{rate[sgd]:.4f}.",
        )

    return judge
