"""Ours: the paper's 22 statements, each with the evidence that its class rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from bocce import theory

from ..canvas import Grid, Picture
from ..exhibit import claims, exhibit, judges
from ..results import FigureView
from ..specs import Outcome, Part, Profile, table
from ..texts import read
from ..verdicts import Change, Finding, Found, below
from . import _evidence_lemmas, _evidence_theorems

ROUNDING = 1e-9  # The right side may be smaller than the left side by this share.
STATEMENTS = read("statements.toml")


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    for claim in CLAIMS:
        yield table(claim.id, "test", lemma, statement=claim.id)


def lemma(statement: str) -> Outcome:
    """Both sides of the evidence, case by case: "left" must be at most "right".

    The evidence of a statement is a function whose name is the statement's id.
    """
    modules = (_evidence_theorems, _evidence_lemmas)
    evidence = next(getattr(module, statement) for module in modules if statement in dir(module))
    cases, left, right = zip(*evidence())
    numbers = {"left": np.array(left, dtype=float), "right": np.array(right, dtype=float)}
    return Outcome(numbers, {"cases": "\n".join(cases)})


# ---------------------------------------------------------------- statements


def _columns(view: FigureView, name: str) -> tuple[list[str], list[float], list[float]]:
    outcome = view.table(name, "test")
    sides = (outcome.numbers[side].tolist() for side in ("left", "right"))
    return outcome.notes["cases"].split("\n"), *sides


def _judge(statement: str, view: FigureView) -> Finding:
    """Every inequality that the class rests on."""
    found = Finding()
    for case, a, b in zip(*_columns(view, statement)):
        found.cases[case] = below(a, b + ROUNDING * abs(b))
        found.numbers[f"{case}: left"] = a
        found.numbers[f"{case}: right"] = b
    if found.first_false:
        return found.said(f"The evidence fails at {found.first_false}: not to be relied on.")
    return found


for statement in (name for name, row in STATEMENTS.items() if isinstance(row, dict)):
    judges(statement)(partial(_judge, statement))
CLAIMS = claims({name: content for name, content in STATEMENTS.items() if name != "other"})


def _picture(view: FigureView) -> Picture:
    cells = []
    marked = []
    for claim in CLAIMS:
        names, left, right = _columns(view, claim.id)
        ratios = [a / b if a > 0.0 < b else -math.inf for a, b in zip(left, right)]
        at = int(np.argmax(ratios))
        wrong = bool(claim.finding(view).first_false)
        cells.append((claim.verdict, str(len(names)), f"{ratios[at]:.4g}", names[at]))
        marked.append([False, False, wrong, wrong])
    columns = ("verdict", "checks", "left / right", "the closest check")
    note = (
        "Each check is an inequality, left <= right, that the verdict rests on: a right form that "
        "holds, or a printed form that is exceeded. The closest one is shown."
    )
    rows = [claim.name for claim in CLAIMS]
    return Picture(grid=Grid(columns, rows, cells, np.array(marked), note))


# ---------------------------------------------------------------- remarks about batch sizes


C = theory.batch_threshold(10**18, 1.0, interpolation=True)  # 15,552: b* of many rows at kappa = 1


@judges("batch_share_falls")
def batch_share_falls(view: FigureView) -> Found:
    for kappa, n in product((10.0, 100.0, 1000.0), (10**3, 10**4, 10**5, 10**6, 10**7)):
        many, few = (theory.batch_threshold(m, kappa) / m for m in (10 * n, n))
        yield f"kappa={kappa:g}, n={n}", many <= few, {f"b*/n, kappa={kappa:g}, n={n}": few}


@judges("horizon_proportional")
def horizon_proportional(view: FigureView) -> Found:
    """T = psi n with psi = 1 and kappa = 10: the two parts of b* over n."""
    parts = {}
    for n in (10**6, 10**9, 10**12):
        first = theory.batch_threshold(n, 10.0, interpolation=True) / n
        second = 1.0 / (1.0 + (n - 1) * 2.0 ** -theory.stage_count(n, 10.0) / 3.0)
        parts[n] = (first, second)
        yield "", None, {f"first part of b*/n, n={n:.0e}": first}
        yield "", None, {f"second part of b*/n, n={n:.0e}": second}
    near = all(abs(second - 0.8) < 0.05 for _, second in parts.values())
    yield "the second part is 1/(1 + 1/(4 psi)) = 0.8", near, {}
    decides = parts[10**6][0] > parts[10**6][1]
    yield "at n = 10^6 the condition number decides", decides, {}


@judges("batch_compared_bollapragada")
def batch_compared_bollapragada(view: FigureView) -> Found:
    kappa = 100.0
    other = 2.0 * kappa**0.5 * kappa**1.5  # d kappa^(3/2) with d above the stated sqrt(kappa)
    shown = {"d from which C kappa^2 < d kappa^(3/2), over sqrt(kappa)": C}
    yield "in orders, d = 2 sqrt(kappa)", kappa**2 < other, shown


@judges("batch_compared_lee")
def batch_compared_lee(view: FigureView) -> Found:
    average = 1.0
    kappa = 1.0
    share = average / kappa**0.5
    shown = {"required share of n": share, "b*/n at kappa = 1, n = 1e6": C / 1e6}
    yield "kappa_bar = kappa = 1", share == 1.0, shown


EXHIBITS = [exhibit("theorems", _parts, _picture, CLAIMS)]
REMARKS = EXHIBITS[0].claims[len(CLAIMS) :]
# Slips outside the statements, in the order of the paper's lines.
OTHER = [Change(**row) for row in STATEMENTS["other"]]
OTHER += [change for remark in REMARKS for change in remark.changes]
OTHER.sort(key=lambda change: change.line)
