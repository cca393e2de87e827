"""fig:psi_function: Psi as a function of b, beta and theta, typeset."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import theory
from ..._extras import install
from ..canvas import Formula, Picture, Sum
from ..compute import Outcome
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Profile, table, table_cell
from ..texts import claims
from ..verdicts import Finding

LABEL, TITLE = "psi_function", "Ψ as a function of b, β and θ"
STEPS, N = 6, 100
HEAD = r"\Psi = P_1 \sin^2\theta + P_2 \sin\theta \cos\theta + P_3 \cos^2\theta"


def _cells(setting: str, profile: Profile) -> list[Cell]:
    return [table_cell(LABEL, "paper", "Psi", "Psi", table("psi_terms", steps=STEPS, n=N))]


def psi_terms(steps: int, n: int) -> Outcome:
    """Psi by SymPy, as rows (j, m, p, c): c x^m beta^p in P_j, x = n/b; and its distance from the
    recursion at 36 points."""
    try:
        import sympy  # type: ignore[import-untyped]
    except ImportError:
        return Outcome({}, {"missing": f"Psi as an expression needs {install('symbolic')}"})
    expression = theory.psi_expression(steps, n=n)
    value = sympy.lambdify(sympy.symbols("b beta theta"), expression, "math")
    samples = [
        (b, x, t) for b in (1, 10, 70, 99) for x in (0.3, 0.6, 0.95) for t in (0.0, 1.0, 4.0)
    ]
    difference = [abs(value(*point) / theory.psi(n, *point, steps) - 1.0) for point in samples]
    return Outcome(
        {"difference": np.array(difference), "terms": np.array(_rows(sympy, expression, n))}
    )


def _rows(sympy: Any, expression: Any, n: int) -> list[tuple[int, int, int, int]]:
    b, beta, theta, x, sine, cosine = sympy.symbols("b beta theta x s c")
    plain = expression.subs({sympy.sin(theta): sine, sympy.cos(theta): cosine}).subs(b, n / x)
    polynomial = sympy.Poly(sympy.expand(plain), sine, cosine, x, beta)
    place = {(2, 0): 1, (1, 1): 2, (0, 2): 3}
    rows = [(place[s, c], m, p, int(value)) for (s, c, m, p), value in polynomial.terms()]
    return sorted(rows, key=lambda row: (row[0], row[1], -row[2]))


def _agrees(results: Results, setting: str) -> Finding:
    outcome = results.table(LABEL, "Psi", "Psi")
    if "missing" in outcome.notes:
        return Finding({"36 points": None}, {}, outcome.notes["missing"])
    worst = float(outcome.numbers["difference"].max())
    return Finding(
        {"36 points": worst < 1e-9},
        {"largest relative difference": worst, "terms": len(outcome.numbers["terms"])},
        f"The expression equals the recursion M_(j+1) = E[H^T M_j H] to {worst:.0e}.",
    )


def _picture(results: Results, setting: str) -> Picture:
    outcome = results.table(LABEL, "Psi", "Psi")
    if "missing" in outcome.notes:
        return Picture(LABEL, TITLE, formula=Formula("", (), outcome.notes["missing"]))
    parts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for j, m, p, c in outcome.numbers["terms"].tolist():
        parts.setdefault((j, m), []).append((c, p))
    lines = tuple(Sum(j if m == 0 else 0, m, tuple(terms)) for (j, m), terms in parts.items())
    note = f"x = n/b, n = {N}; six steps."
    return Picture(LABEL, TITLE, formula=Formula(HEAD, lines, note))


EXHIBIT = Exhibit(
    label=LABEL,
    alias="fig6",
    title=TITLE,
    caption=lambda profile: (
        "The growth of E||(w_k, w_{k-1})||^2 over six steps on the lower bound's problem, n = 100."
    ),
    cells=_cells,
    picture=_picture,
    tables=(psi_terms,),
    claims=claims(
        LABEL,
        psi_expression=_agrees,
    ),
)
