"""Ours: the paper's 22 statements, each with the evidence that its class rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from ... import theory
from ..canvas import Grid, Picture
from ..exhibit import claims, exhibit
from ..results import FigureView
from ..specs import Outcome, Part, Profile, table
from ..texts import read
from ..verdicts import Change, Finding, below
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
        found.numbers[f"{case}: left"], found.numbers[f"{case}: right"] = a, b
    if found.first_false:
        return found.said(f"The evidence fails at {found.first_false}: not to be relied on.")
    return found.said(STATEMENTS[statement]["because"])


CLAIMS = claims(
    {name: content for name, content in STATEMENTS.items() if name != "other"},
    {id: partial(_judge, id) for id, row in STATEMENTS.items() if isinstance(row, dict)},
)


def _picture(view: FigureView) -> Picture:
    cells, marked = [], []
    for claim in CLAIMS:
        names, left, right = _columns(view, claim.id)
        ratios = [a / b if a > 0.0 < b else -math.inf for a, b in zip(left, right)]
        at = int(np.argmax(ratios))
        wrong = bool(claim.judge(view).first_false)
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


def batch_share_falls(view: FigureView) -> Finding:
    found = Finding()
    for kappa in (10.0, 100.0, 1000.0):
        for n in (10**3, 10**4, 10**5, 10**6, 10**7):
            many, few = (theory.batch_threshold(m, kappa) / m for m in (10 * n, n))
            found.cases[f"kappa={kappa:g}, n={n}"] = many <= few
            found.numbers[f"b*/n, kappa={kappa:g}, n={n}"] = few
    return found.said(
        "Both parts of b*/n, 1/(1 + (n-1)/(C kappa^2)) and 1/(1 + (n-1)a/3), fall with n; while n "
        "is below C kappa^2 they hardly do."
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


EXHIBITS = [exhibit("theorems", _parts, _picture, globals(), CLAIMS)]
REMARKS = EXHIBITS[0].claims[len(CLAIMS) :]
# Slips outside the statements, in the order of the paper's lines.
OTHER = [Change(**row) for row in STATEMENTS["other"]]
OTHER += [change for remark in REMARKS for change in remark.changes]
OTHER.sort(key=lambda change: change.line)
