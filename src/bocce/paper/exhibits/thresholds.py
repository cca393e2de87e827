"""Ours: which batch size accelerated heavy ball needs, by four rules."""

from __future__ import annotations

import math

import numpy as np

from ... import minimize, schedules, theory
from .. import thresholds
from ..canvas import Line, Panel, Picture
from ..compute import Outcome, problem
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Data, Profile, table, table_cell
from ..verdicts import OBSERVATION, THEOREM, Case, Claim, Finding, below, counted

LABEL, TITLE = "thresholds", "Which batch size does accelerated heavy ball need?"
DESIGNS = ("haar", "gaussian", "heavy")
KAPPAS = (10, 30, 100, 300, 1000, 2000)
DIAGONAL_ROWS = (20_000, 10**6, 10**8)
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
    for n in DIAGONAL_ROWS:
        job = table("diagonal_thresholds", n=n)
        cells.append(table_cell(LABEL, "paper", f"diagonal, n={n}", "rules", job))
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


def diagonal_thresholds(n: int) -> Outcome:
    """On the lower bound's problem: b* with lambda_max against where heavy ball diverges."""
    kappas = np.geomspace(1.0, 1000.0, 31)
    return Outcome(
        {
            "kappa": kappas,
            "paper": np.array([theory.batch_threshold(n, k) for k in kappas]),
            "exact": np.array([theory.lower_bound_threshold(n, k) for k in kappas]),
        }
    )


def _rows(results: Results) -> dict[str, dict[str, float]]:
    rows = {}
    for panel in results.tables(LABEL):
        if panel.startswith("diagonal"):
            continue
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
    cases = {panel: below(r["paper"], r["exact"], TIGHT) for panel, r in rows.items()}
    numbers = {f"{panel}: b* / exact": r["paper"] / r["exact"] for panel, r in rows.items()}
    return Finding(
        cases,
        numbers,
        f"b* is within a factor {TIGHT:g} of what stability needs in {counted(cases)}, those with "
        f"heavy rows; where rows are alike it asks for up to {max(numbers.values()):.0f} times as "
        "much.",
    )


def _needs_row_smoothness(results: Results, setting: str) -> Finding:
    cases: dict[str, Case] = {}
    numbers: dict[str, float] = {}
    for n in DIAGONAL_ROWS:
        columns = results.table(LABEL, f"diagonal, n={n}", "rules").numbers
        wrong = columns["paper"] < columns["exact"]
        cases[f"n={n:,}"] = not bool(wrong.any())
        numbers[f"n={n:,}: kappa (of 31) where b* is too small"] = int(wrong.sum())
        numbers[f"n={n:,}: b* at kappa = 1"] = columns["paper"][0]
        numbers[f"n={n:,}: exact at kappa = 1"] = columns["exact"][0]
    first = f"n={DIAGONAL_ROWS[0]:,}"
    return Finding(
        cases,
        numbers,
        f"The counterexample is the diagonal problem, n = 20,000, kappa = 1: b* = "
        f"{numbers[f'{first}: b* at kappa = 1']:.0f}, but SHB diverges below "
        f"{numbers[f'{first}: exact at kappa = 1']:.0f}; with larger n at most kappa up to 1000. "
        "The proof needs L_max.",
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
        panels.append(Panel(f"{design} rows", "κ", "batch size / n", tuple(lines), xlog=True))
    notes = ("observed: mean of the runs, band: their range",)
    return Picture(LABEL, TITLE, columns=3, panels=tuple(panels), notes=notes)


EXHIBIT = Exhibit(
    label=LABEL,
    alias="thresholds",
    title=TITLE,
    caption=lambda profile: (
        "The paper's b*, the certified and the exact critical batch size, and the smallest batch "
        f"whose runs settle, against kappa, for three designs; n = {profile.rows:,}, d = 20."
    ),
    cells=_cells,
    picture=_picture,
    tables=(critical_batches, observed_batch, diagonal_thresholds),
    ours=True,
    claims=(
        Claim(
            id="thm2_lambda_max",
            kind=THEOREM,
            source="thm:SHB_quad",
            text="For b >= b* SHB converges (with L = lambda_max, as in the experiments).",
            criterion="On the diagonal problem with n = 2e4, 1e6 and 1e8, b* with kappa = "
            "lambda_max/mu is at least the exact critical batch size, kappa from 1 to 1000.",
            judge=_needs_row_smoothness,
            judged_on="the exact critical batch size",
        ),
        Claim(
            id="certificate_safe",
            kind=THEOREM,
            source="docs/theory/certificate.md",
            text="The certified batch size is never below the exact critical one.",
            criterion="certified >= exact for three designs and six kappa.",
            judge=_certificate_is_safe,
            judged_on="the exact critical batch size",
            ours=True,
            proof="docs/theory/certificate.md",
        ),
        Claim(
            id="threshold_tight",
            kind=OBSERVATION,
            source="sec:conclusion",
            text="A batch near b* is what acceleration needs (the gap that the conclusion leaves "
            "open).",
            criterion="b* is at most 3 times the exact critical batch size.",
            judge=_paper_threshold_is_far,
            judged_on="the exact critical batch size",
            ours=True,
        ),
    ),
)
