"""Ours: which batch size accelerated heavy ball needs, by four rules."""

from __future__ import annotations

import math

import numpy as np

from ... import minimize, schedules, theory
from ...run import thresholds
from ..canvas import Line, Panel, Picture
from ..compute import problem
from ..exhibit import Exhibit
from ..results import FigureView
from ..specs import Cell, Data, Outcome, Profile, table, table_cell
from ..texts import claims
from ..verdicts import Finding, below, counted, span

LABEL = "thresholds"
DESIGNS = {
    "haar": "Haar rows",
    "gaussian": "Gaussian rows",
    "student": "Student-t(3) rows",
    "heavy": "the released rows",
}
KAPPAS = (10, 30, 100, 300, 1000, 2000)
TIGHT = 3.0


def _cells(setting: str, profile: Profile) -> list[Cell]:
    cells = []
    for design in DESIGNS:
        for kappa in KAPPAS:
            place = {"n": profile.rows, "kappa": float(kappa), "design": design}
            panel = f"{design}, kappa={kappa}"
            rules = table("critical_batches", **place)
            cells.append(table_cell(LABEL, "paper", panel, "rules", rules))
            for seed in range(profile.runs(3)):
                job = table("observed_batch", **place, T=profile.steps(2000), seed=seed)
                cells.append(Cell(LABEL, "paper", panel, "observed", str(seed), job))
    return cells


def critical_batches(n: int, kappa: float, design: str) -> Outcome:
    """b* of the paper (with lambda_max, and with L_max as its proof needs), certified and exact."""
    p = problem(Data("regression", n=n, d=20, kappa=kappa, design=design))
    s = thresholds.from_problem(p, T=2)
    return Outcome.of(
        n=n,
        kappa=s.kappa,
        paper=theory.batch_threshold(n, s.kappa),
        paper_L_max=theory.batch_threshold(n, s.L_max / s.mu),
        certified=theory.certified_batch_size(n, *s.step, s.L_max, s.mu, s.L),
        exact=thresholds.critical(s),
    )


def observed_batch(n: int, kappa: float, design: str, T: int, seed: int) -> Outcome:
    """The smallest batch whose run ends below where it began, by bisection."""
    p = problem(Data("regression", n=n, d=20, kappa=kappa, design=design))
    c = p.constants()
    schedule = schedules.shb(T, c.L, c.mu)

    def settles(b: int) -> bool:
        run = minimize(p, schedule, batch_size=b, seed=seed, record_every=T)
        norms = run.history["grad_norm"]
        return run.status != "diverged" and bool(norms[-1] < norms[0])

    low, high = 0, n  # the full batch settles
    while high - low > max(1, high // 100):  # to one per cent
        middle = max(low + 1, math.isqrt(low * high)) if low else (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle, high)
    return Outcome.of(observed=high)


def _rows(view: FigureView) -> dict[str, dict[str, float]]:
    """The numbers of each panel."""
    rows = {panel: view.numbers(panel, "rules") for panel in view.panels}
    return {panel: {name: float(x[0]) for name, x in row.items()} for panel, row in rows.items()}


def certificate_safe(view: FigureView) -> Finding:
    rows = _rows(view)
    cases = {panel: below(row["exact"], row["certified"], 1 + 1e-9) for panel, row in rows.items()}
    numbers = {f"{p}: certified / exact": r["certified"] / r["exact"] for p, r in rows.items()}
    said = f"The certified batch is {span(numbers.values())} times the exact one."
    return Finding(cases, numbers, said)


def threshold_tight(view: FigureView) -> Finding:
    """How much of b* is needed: the exact critical batch size beside it."""
    rows = _rows(view)
    alike = {panel: r for panel, r in rows.items() if panel.startswith(("haar", "gaussian"))}
    cases = {panel: below(TIGHT * r["exact"], r["paper"]) for panel, r in alike.items()}
    numbers = {f"{panel}: b* / exact": r["paper"] / r["exact"] for panel, r in rows.items()}
    return Finding(
        cases,
        numbers,
        f"Where rows are alike b* is more than {TIGHT:g} times what stability needs in "
        f"{counted(cases)}, up to {max(numbers.values()):.0f} times; with heavy rows it is near.",
    )


def _picture(view: FigureView) -> Picture:
    panels = []
    for design, words in DESIGNS.items():
        rows = {p: row for p, row in _rows(view).items() if p.startswith(f"{design},")}
        n = next(iter(rows.values()))["n"]
        kappa = np.array([row["kappa"] for row in rows.values()])
        lines = [
            Line(name, kappa, np.array([row[key] for row in rows.values()]) / n)
            for name, key in (("paper's b*", "paper"), ("certified",) * 2, ("exact",) * 2)
        ]
        observed = [
            [run.numbers["observed"][0] for run in view.seeds(panel, "observed")] for panel in rows
        ]
        seen = (np.array([pick(runs) for runs in observed]) / n for pick in (np.mean, min, max))
        middle, low, high = seen
        lines.append(Line("observed", kappa, middle, "runs", low, high))
        panels.append(Panel(words, "κ", "batch size / n", tuple(lines), xlog=True))
    notes = ("observed: mean of the runs, band: their range",)
    return Picture(columns=4, panels=tuple(panels), notes=notes)


CLAIMS = claims(LABEL, certificate_safe, threshold_tight)
EXHIBIT = Exhibit(LABEL, _cells, _picture, CLAIMS, (critical_batches, observed_batch))
