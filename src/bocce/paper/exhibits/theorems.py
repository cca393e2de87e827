"""Ours: the paper's 22 statements, each with the evidence that its class rests on."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from ... import theory
from ..canvas import Grid, Picture
from ..exhibit import Exhibit
from ..results import FigureView
from ..specs import Cell, Outcome, Profile, table, table_cell
from ..texts import HORIZON, STATEMENTS, Statement, claims
from ..verdicts import STATEMENT, Claim, Finding, below, first_false, tally
from . import _evidence_lemmas, _evidence_theorems

LABEL = "theorems"
ROUNDING = 1.0 + 1e-9
EVIDENCE = _evidence_theorems.EVIDENCE | _evidence_lemmas.EVIDENCE


def _cells(setting: str, profile: Profile) -> list[Cell]:
    return [
        table_cell(LABEL, "paper", row.id, "test", table("lemma", statement=row.id))
        for row in STATEMENTS
    ]


def lemma(statement: str) -> Outcome:
    """Both sides of the evidence, case by case: "left" must be at most "right"."""
    cases, left, right = zip(*EVIDENCE[statement]())
    numbers = {"left": np.array(left, dtype=float), "right": np.array(right, dtype=float)}
    return Outcome(numbers, {"cases": "\n".join(cases)})


# ---------------------------------------------------------------- statements


def _columns(view: FigureView, name: str) -> tuple[list[str], list[float], list[float]]:
    outcome = view.table(name, "test")
    sides = (outcome.numbers[side].tolist() for side in ("left", "right"))
    return outcome.notes["cases"].split("\n"), *sides


def _judge(row: Statement, view: FigureView) -> Finding:
    """Every inequality that the class rests on."""
    cases, numbers = tally()
    for case, a, b in zip(*_columns(view, row.id)):
        cases[case] = below(a, b + (ROUNDING - 1.0) * abs(b))
        numbers[f"{case}: left"], numbers[f"{case}: right"] = a, b
    wrong = first_false(cases)
    said = f"The evidence fails at {wrong}: not to be relied on." if wrong else row.because
    return Finding(cases, numbers, said)


def _claim(row: Statement) -> Claim:
    return Claim(
        id=row.id,
        kind=STATEMENT,
        source=row.label,
        text=f"{row.name}: {row.says}",
        criterion="Every inequality that the verdict rests on holds when it is computed: of the "
        "corrected form where there is one, and of the printed form's failure.",
        judge=partial(_judge, row),
        judged_on="exact values",
        quote=row.quote,
        line=row.line,
        proof=row.proof,
        verdict=row.verdict,
        changes=row.changes,
        root=row.root,
    )


CLAIMS = tuple(_claim(row) for row in STATEMENTS)


def _picture(view: FigureView) -> Picture:
    cells, marked = [], []
    for row, claim in zip(STATEMENTS, CLAIMS):
        finding = claim.judge(view)
        wrong = bool(first_false(finding.cases))
        name, share = _tightest(view, row.id)
        cells.append((row.verdict, str(len(finding.cases)), f"{share:.4g}", name))
        marked.append([False, False, wrong, wrong])
    columns = ("verdict", "checks", "left / right", "the closest check")
    rows = tuple(row.name for row in STATEMENTS)
    note = (
        "Each check is an inequality, left <= right, that the verdict rests on: a right form that "
        "holds, or a printed form that is exceeded. The closest one is shown."
    )
    return Picture(grid=Grid(columns, rows, tuple(cells), np.array(marked), note))


def _tightest(view: FigureView, name: str) -> tuple[str, float]:
    """The check with the largest left / right among those with positive sides."""
    names, left, right = _columns(view, name)
    ratios = [a / b if a > 0.0 < b else -math.inf for a, b in zip(left, right)]
    at = int(np.argmax(ratios))
    return names[at], ratios[at]


# ---------------------------------------------------------------- remarks about batch sizes


C = theory.batch_threshold(10**18, 1.0, interpolation=True)  # 15,552: b* of many rows at kappa = 1


def batch_share_falls(view: FigureView) -> Finding:
    cases, numbers = tally()
    for kappa in (10.0, 100.0, 1000.0):
        for n in (10**3, 10**4, 10**5, 10**6, 10**7):
            many, few = (theory.batch_threshold(m, kappa) / m for m in (10 * n, n))
            cases[f"kappa={kappa:g}, n={n}"] = many <= few
            numbers[f"b*/n, kappa={kappa:g}, n={n}"] = few
    return Finding(
        cases,
        numbers,
        "Both parts of b*/n, 1/(1 + (n-1)/(C kappa^2)) and 1/(1 + (n-1)a/3), fall with n; while n "
        "is below C kappa^2 they hardly do.",
    )


def horizon_proportional(view: FigureView) -> Finding:
    """T = psi n with psi = 1 and kappa = 10: the two parts of b* over n."""
    numbers, parts = {}, {}
    for n in (10**6, 10**9, 10**12):
        stages = theory.stage_count(n, 10.0)
        first = theory.batch_threshold(n, 10.0, interpolation=True) / n
        second = 1.0 / (1.0 + (n - 1) * 2.0**-stages / 3.0)
        parts[n] = (first, second)
        numbers[f"first part of b*/n, n={n:.0e}"] = first
        numbers[f"second part of b*/n, n={n:.0e}"] = second
    return Finding(
        {
            "the second part is 1/(1 + 1/(4 psi)) = 0.8": all(
                abs(second - 0.8) < 0.05 for _, second in parts.values()
            ),
            "at n = 10^6 the condition number decides": parts[10**6][0] > parts[10**6][1],
        },
        numbers,
        f"a_I is of the order (ln T/T)^2, not 1/T: at kappa = 10 and psi = 1 the second part is "
        f"{parts[10**6][1]:.3f} n at n = 10^6 (so that the condition number decides, as the paper "
        f"concludes), {parts[10**9][1]:.2f} n at n = 10^9 and tends to n.",
    )


def batch_compared_bollapragada(view: FigureView) -> Finding:
    kappa = 100.0
    just_above = 2.0 * kappa**0.5  # columns, above the stated sqrt(kappa)
    return Finding(
        {
            "in orders, d = 2 sqrt(kappa)": kappa**2 < just_above * kappa**1.5,
            "with the printed C, d = 2 sqrt(kappa)": C * kappa**2 < just_above * kappa**1.5,
        },
        {"C": C, "d from which C kappa^2 < d kappa^(3/2), over sqrt(kappa)": C},
        "In orders it is so: kappa^2 < d kappa^(3/2) from d = sqrt(kappa) on. With the printed "
        "C = 15,552 it is so from d = 15,552 sqrt(kappa) on (the other constant is not given), and "
        "kappa is L_max/mu in b*, which is at least d.",
    )


def batch_compared_lee(view: FigureView) -> Finding:
    average, kappa = 1.0, 1.0
    share = average / kappa**0.5
    return Finding(
        {"kappa_bar = kappa = 1": share == 1.0},
        {"required share of n": share, "b*/n at kappa = 1, n = 1e6": C / 1e6},
        "Their condition as quoted, b >= n kappa_bar/sqrt(kappa), is b = n there, where equal rows "
        "leave no sampling noise at all.",
    )


_REMARKS = claims(
    *("remarks", batch_share_falls, batch_compared_bollapragada, batch_compared_lee),
    horizon_proportional,
)
# T = psi n, the last of the remarks, has a change of its own
REMARKS = (*_REMARKS[:-1], replace(_REMARKS[-1], changes=(HORIZON,)))
EXHIBIT = Exhibit(LABEL, _cells, _picture, (*CLAIMS, *REMARKS), (lemma,))
