"""Ours: which batch size accelerated heavy ball needs, by four rules."""

from __future__ import annotations

import math

import numpy as np

from ... import minimize, schedules, theory
from ...run import thresholds
from ..canvas import Line, Panel, Picture
from ..compute import Outcome, problem
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Data, Profile, table, table_cell
from ..texts import claims
from ..verdicts import Finding, below, counted

LABEL, TITLE = "thresholds", "Which batch size does accelerated heavy ball need?"
DESIGNS = ("haar", "gaussian", "student", "heavy")
WORDS = {
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
    numbers = {
        "n": n,
        "kappa": s.kappa,
        "paper": theory.batch_threshold(n, s.kappa),
        "paper_L_max": theory.batch_threshold(n, s.L_max / s.mu),
        "certified": theory.certified_batch_size(n, *s.step, s.L_max, s.mu, s.L),
        "exact": thresholds.critical(s),
    }
    return Outcome({name: np.array([value]) for name, value in numbers.items()})


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
    return Outcome({"observed": np.array([high])})


def _rows(results: Results) -> dict[str, dict[str, float]]:
    rows = {}
    for panel in results.tables(LABEL):
        numbers = results.table(LABEL, panel, "rules").numbers
        rows[panel] = {name: float(values[0]) for name, values in numbers.items()}
    return rows


def _certificate_is_safe(results: Results, setting: str) -> Finding:
    rows = _rows(results)
    cases = {panel: below(row["exact"], row["certified"], 1 + 1e-9) for panel, row in rows.items()}
    numbers = {
        f"{panel}: certified / exact": r["certified"] / r["exact"] for panel, r in rows.items()
    }
    span = f"{min(numbers.values()):.2g} to {max(numbers.values()):.2g}"
    return Finding(cases, numbers, f"The certified batch is {span} times the exact one.")


def _paper_threshold_is_far(results: Results, setting: str) -> Finding:
    """How much of b* is needed: the exact critical batch size beside it."""
    rows = _rows(results)
    alike = {panel: r for panel, r in rows.items() if panel.startswith(("haar", "gaussian"))}
    cases = {panel: below(TIGHT * r["exact"], r["paper"]) for panel, r in alike.items()}
    numbers = {f"{panel}: b* / exact": r["paper"] / r["exact"] for panel, r in rows.items()}
    return Finding(
        cases,
        numbers,
        f"Where rows are alike b* is more than {TIGHT:g} times what stability needs in "
        f"{counted(cases)}, up to {max(numbers.values()):.0f} times; with heavy rows it is near.",
    )


def _picture(results: Results, setting: str) -> Picture:
    panels = []
    for design in DESIGNS:
        names = [p for p in results.tables(LABEL) if p.startswith(f"{design},")]
        rows = [results.table(LABEL, name, "rules").numbers for name in names]
        n = float(rows[0]["n"][0])
        kappa = np.array([row["kappa"][0] for row in rows])
        lines = [
            Line(words, kappa, np.array([row[key][0] for row in rows]) / n)
            for words, key in (
                ("paper's b*", "paper"),
                ("certified", "certified"),
                ("exact", "exact"),
            )
        ]
        observed = [
            [run.numbers["observed"][0] for run in results.seeds(LABEL, "paper", p, "observed")]
            for p in names
        ]
        middle = np.array([np.mean(values) for values in observed]) / n
        low, high = (np.array([pick(values) for values in observed]) / n for pick in (min, max))
        lines.append(Line("observed", kappa, middle, "runs", low, high))
        panels.append(Panel(WORDS[design], "κ", "batch size / n", tuple(lines), xlog=True))
    notes = ("observed: mean of the runs, band: their range",)
    return Picture(LABEL, TITLE, columns=4, panels=tuple(panels), notes=notes)


EXHIBIT = Exhibit(
    label=LABEL,
    alias="thresholds",
    title=TITLE,
    caption=lambda profile: (
        "The paper's b*, the certified and the exact critical batch size, and the smallest batch "
        f"whose runs settle, against kappa, for four row laws; n = {profile.rows:,}, d = 20."
    ),
    cells=_cells,
    picture=_picture,
    tables=(critical_batches, observed_batch),
    ours=True,
    claims=claims(
        LABEL,
        certificate_safe=_certificate_is_safe,
        threshold_tight=_paper_threshold_is_far,
    ),
)
