"""What the figures of the lower bound share: runs of SHB and SGD on the diagonal problem."""

from __future__ import annotations

from ..canvas import GRADIENT, ITERATION, Line, Panel, method_lines, words_of
from ..results import Results
from ..specs import Cell, Data, Run, run_cells
from ..verdicts import Case, Finding, Judge, below

METHODS = ("SHB", "SGD", "SGD, 1/L_max")
SEEDS, T = 5, 300
FALLEN = 0.9  # of its start: SGD with 1/L_max has a rate of 1 - 1/(n kappa) a step
READINGS = ("SGD with 1/L_max", "SGD with 1/L")
CRITERION = (
    "The gradient norm of SHB ends above its start; that of SGD falls by 10 % or more; in exact "
    "mean square and in the mean of 5 runs. The paper leaves SGD's step open: both are judged."
)


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
    """The paper does not say which step SGD takes: both readings are judged."""

    def judge(results: Results, reading: str) -> Finding:
        curves = {m: results.curve(label, "paper", panel, m) for m in METHODS}
        sgd = curves["SGD, 1/L_max" if reading == READINGS[0] else "SGD"]
        typical = sgd.on_runs()
        cases: dict[str, Case] = {
            "SHB diverges, in mean square": curves["SHB"].diverged,
            "SHB diverges, on runs": curves["SHB"].on_runs().diverged,
            "SGD converges, in mean square": below(sgd.last, sgd.start, FALLEN),
            "SGD converges, on runs": below(typical.last, typical.start, FALLEN),
        }
        numbers = {f"{m}: last / first": c.last / c.start for m, c in curves.items()}
        numbers |= {
            f"{m}: last / first of the mean run": c.on_runs().last / c.on_runs().start
            for m, c in curves.items()
        }
        falls = "falls" if sgd.last < sgd.start else "does not fall"
        step = reading.removeprefix("SGD with ")
        said = f"SHB diverges; SGD with {step} {falls} in mean square."
        return Finding(cases, numbers, said)

    return judge
