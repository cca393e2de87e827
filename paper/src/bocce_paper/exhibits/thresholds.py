"""Ours: which batch size accelerated heavy ball needs, by four rules."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from bocce import minimize, schedules, theory

from .. import thresholds
from ..canvas import Line, Panel, Picture
from ..compute import problem
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import Data, Outcome, Part, Profile, table
from ..verdicts import Finding, Found, below

DESIGNS = {
    "haar": "Haar rows",
    "gaussian": "Gaussian rows",
    "student": "Student-t(3) rows",
    "heavy": "the released rows",
}
KAPPAS = (10, 30, 100, 300, 1000, 2000)
TIGHT = 3.0  # A threshold is not tight if it is more than this factor too large.


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    for design, kappa in product(DESIGNS, KAPPAS):
        place = {"n": profile.rows, "kappa": float(kappa), "design": design}
        panel = f"{design}, kappa={kappa}"
        yield table(panel, "rules", critical_batches, **place)
        for seed in range(profile.runs(3)):
            given = {**place, "T": profile.steps(2000), "seed": seed}
            yield table(panel, "observed", observed_batch, **given)


def critical_batches(n: int, kappa: float, design: str) -> Outcome:
    """The critical batch size: b* of the paper, certified and exact."""
    p = problem(Data("regression", n=n, d=20, kappa=kappa, design=design))
    s = thresholds.from_problem(p, T=2)
    return Outcome.of(
        n=n,
        kappa=s.kappa,
        paper=theory.batch_threshold(n, s.kappa),
        certified=theory.certified_batch_size(n, *s.step, s.L_max, s.mu, s.L),
        exact=s.critical_batch,
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

    # the full batch settles
    low = 0
    high = n
    while high - low > max(1, high // 100):  # to one per cent
        if low:
            middle = max(low + 1, math.isqrt(low * high))
        else:
            middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle, high)
    return Outcome.of(observed=high)


def _rows(view: FigureView) -> dict[str, dict[str, float]]:
    """The numbers of each panel."""
    rows = {panel: view.numbers(panel, "rules") for panel in view.panels}
    return {panel: {name: float(x[0]) for name, x in row.items()} for panel, row in rows.items()}


@judges("certificate_safe")
def certificate_safe(view: FigureView) -> Found:
    for panel, row in _rows(view).items():
        shown = {f"{panel}: certified / exact": row["certified"] / row["exact"]}
        yield panel, below(row["exact"], row["certified"], 1 + 1e-9), shown


@judges("threshold_tight")
def threshold_tight(view: FigureView) -> Finding:
    """How much of b* is needed: the exact critical batch size beside it."""
    found = Finding()
    for panel, row in _rows(view).items():
        found.numbers[f"{panel}: b* / exact"] = row["paper"] / row["exact"]
        if panel.startswith(("haar", "gaussian")):
            found.cases[panel] = below(TIGHT * row["exact"], row["paper"])
    return found.said(
        f"Where rows are alike b* is more than {TIGHT:g} times what stability needs in "
        f"{found.score} cases, up to {max(found.numbers.values()):.0f} times; with heavy rows it "
        "is near."
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
        seeds = [view.seeds(panel, "observed") for panel in rows]
        observed = [[run.numbers["observed"][0] for run in runs] for runs in seeds]
        middle, *band = (np.array([of(x) for x in observed]) / n for of in (np.mean, min, max))
        lines.append(Line("observed", kappa, middle, "runs", np.array(band)))
        panels.append(Panel(words, "κ", "batch size / n", lines, xlog=True))
    notes = ("observed: mean of the runs, band: their range",)
    return Picture(columns=4, panels=panels, notes=notes)


EXHIBITS = [exhibit("thresholds", _parts, _picture)]
