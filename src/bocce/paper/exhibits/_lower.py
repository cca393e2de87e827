"""What the figures of the lower bound share: runs of SHB and SGD on the diagonal problem."""

from __future__ import annotations

from ..canvas import GRADIENT, ITERATION, Line, Panel, method_lines, words_of
from ..results import Results
from ..specs import Cell, Data, Run, run_cells
from ..verdicts import Case, Finding, Judge, below

METHODS = ("SHB", "SGD", "SGD, 1/L_max")
SEEDS, T = 5, 300
CONVERGED = 1e-3


def against_sgd(label: str, panel: str, n: int, kappa: float, b: int) -> list[Cell]:
    data = Data("diagonal", n=n, d=n, kappa=kappa)
    cells = []
    for method in METHODS:
        run = Run(data, method, "paper", b, T=T, w0=1.0)
        cells += run_cells(label, "paper", panel, method, run, SEEDS, exact=True)
    return cells


def runs_panel(results: Results, label: str, panel: str) -> Panel:
    lines: list[Line] = []
    for method in METHODS:
        lines += method_lines(method, results.curve(label, "paper", panel, method), headroom=1e12)
    return Panel(f"SHB against SGD, {words_of(panel)}", ITERATION, GRADIENT, tuple(lines))


def diverges_while_sgd_converges(label: str, panel: str) -> Judge:
    def judge(results: Results, setting: str) -> Finding:
        curves = {m: results.curve(label, setting, panel, m) for m in METHODS}
        sgd, safe = curves["SGD"], curves["SGD, 1/L_max"]
        typical = sgd.on_runs()
        cases: dict[str, Case] = {
            "SHB diverges, in mean square": curves["SHB"].diverged,
            "SHB diverges, on runs": curves["SHB"].on_runs().diverged,
            "SGD with SHB's step 1/L converges, in mean square": below(
                sgd.last, sgd.start, CONVERGED
            ),
            "SGD with SHB's step 1/L converges, on runs": below(
                typical.last, typical.start, CONVERGED
            ),
        }
        numbers = {f"{m}: last / first": c.last / c.start for m, c in curves.items()}
        numbers |= {
            f"{m}: last / first of the mean run": c.on_runs().last / c.on_runs().start
            for m, c in curves.items()
        }
        falls = "it falls" if safe.last < safe.start else "it does not fall either"
        return Finding(
            cases,
            numbers,
            "SHB diverges; in mean square so does SGD with the same step 1/L, where a sample's own "
            f"curvature is n times as large; with 1/L_max {falls}.",
        )

    return judge
