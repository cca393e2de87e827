"""Ours: the paper's 22 statements, each with the evidence that its class rests on."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..canvas import Grid, Picture
from ..compute import Outcome
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Profile, table, table_cell
from ..texts import STATEMENTS, Statement
from ..verdicts import STATEMENT, Case, Claim, Finding, below, first_false
from . import _evidence_lemmas, _evidence_theorems
from ._remarks import REMARKS

LABEL, TITLE = "theorems", "Theorems, corollaries and lemmas, tested"
ROUNDING = 1.0 + 1e-9
EVIDENCE = _evidence_theorems.EVIDENCE | _evidence_lemmas.EVIDENCE


def _cells(setting: str, profile: Profile) -> list[Cell]:
    return [
        table_cell(LABEL, "paper", row.id, "test", table("lemma", statement=row.id))
        for row in STATEMENTS
    ]


def lemma(statement: str) -> Outcome:
    """Both sides of the evidence, case by case: "left" must be at most "right"."""
    cases, left, right = EVIDENCE[statement]()
    return Outcome({"left": np.array(left), "right": np.array(right)}, {"cases": "\n".join(cases)})


# ---------------------------------------------------------------- claims


def _columns(results: Results, name: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    outcome = results.table(LABEL, name, "test")
    return outcome.notes["cases"].split("\n"), outcome.numbers["left"], outcome.numbers["right"]


def _judge(row: Statement, results: Results, setting: str) -> Finding:
    """Every inequality that the class rests on."""
    cases: dict[str, Case] = {}
    numbers: dict[str, float] = {}
    for case, a, b in zip(*_columns(results, row.id)):
        slack = (ROUNDING - 1.0) * abs(b)
        cases[case] = below(float(a), float(b) + slack)
        numbers[f"{case}: left"], numbers[f"{case}: right"] = float(a), float(b)
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


def _picture(results: Results, setting: str) -> Picture:
    rows, cells, marked = [], [], []
    for row, claim in zip(STATEMENTS, CLAIMS):
        finding = claim.judge(results, "paper")
        wrong = first_false(finding.cases)
        name, share = _tightest(results, row.id)
        rows.append(row.name)
        cells.append((row.verdict, str(len(finding.cases)), f"{share:.4g}", name))
        marked.append([False, False, bool(wrong), bool(wrong)])
    grid = Grid(
        ("verdict", "checks", "left / right", "the closest check"),
        tuple(rows),
        tuple(cells),
        np.array(marked),
        "Each check is an inequality, left <= right, that the verdict rests on: a right form that "
        "holds, or a printed form that is exceeded. The closest one is shown.",
    )
    return Picture(LABEL, TITLE, grid=grid)


def _tightest(results: Results, name: str) -> tuple[str, float]:
    """The check with the largest left / right among those with positive sides."""
    names, left, right = _columns(results, name)
    ratios = [a / b if a > 0.0 < b else -math.inf for a, b in zip(left, right)]
    at = int(np.argmax(ratios))
    return names[at], float(ratios[at])


EXHIBIT = Exhibit(
    label=LABEL,
    alias="theorems",
    title=TITLE,
    caption=lambda profile: "The evidence for each verdict, computed exactly; any profile.",
    cells=_cells,
    picture=_picture,
    tables=(lemma,),
    ours=True,
    claims=(*CLAIMS, *REMARKS),
)
