"""fig:psi_function: Psi as a function of b, beta and theta, typeset."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ... import theory
from ..canvas import Formula, Picture
from ..compute import Outcome
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Profile, table, table_cell
from ..verdicts import OBSERVATION, Claim, Finding

LABEL, TITLE = "psi_function", "Psi as a function of b, beta and theta"
STEPS, N = 6, 100
HEAD = r"\Psi = P_1 \sin^2\theta + P_2 \sin\theta \cos\theta + P_3 \cos^2\theta"


def _cells(setting: str, profile: Profile) -> list[Cell]:
    return [
        table_cell(LABEL, "paper", "Psi", "Psi", table("psi_typeset", steps=STEPS, n=N))
    ]


def psi_typeset(steps: int, n: int) -> Outcome:
    """Psi as SymPy writes it, sorted by powers; and how far it is from the recursion."""
    try:
        import sympy
    except ImportError:
        return Outcome({}, {"missing": "Psi as an expression needs pip install 'bocce[symbolic]'"})
    expression = theory.psi_expression(steps, n=n)
    value = sympy.lambdify(sympy.symbols("b beta theta"), expression, "math")
    samples = [
        (b, x, t) for b in (1, 10, 70, 99) for x in (0.3, 0.6, 0.95) for t in (0.0, 1.0, 4.0)
    ]
    difference = [abs(value(*point) / theory.psi(n, *point, steps) - 1.0) for point in samples]
    lines = _lines(sympy, expression)
    notes = {
        "latex": json.dumps([sympy.latex(line) for line in lines]),
        "mathml": "".join(
            f"<math display='block'>{sympy.mathml(line, printer='presentation')}</math>"
            for line in lines
        ),
    }
    terms = len(sympy.Add.make_args(expression))
    return Outcome({"difference": np.array(difference), "terms": np.array([terms])}, notes)


def _lines(sympy: Any, expression: Any) -> list[Any]:
    """P_j = sum over m of b^-m times a polynomial in beta: one line for each j and m."""
    b, beta, theta, u = sympy.symbols("b beta theta u")
    sine, cosine = sympy.symbols("s c")
    plain = expression.subs({sympy.sin(theta): sine, sympy.cos(theta): cosine}).subs(1 / b, u)
    polynomial = sympy.Poly(sympy.expand(plain.subs(b, 1 / u)), sine, cosine, u)
    lines = []
    for j, powers in enumerate(((2, 0), (1, 1), (0, 2)), start=1):
        parts = {
            m: coefficient
            for (p, q, m), coefficient in polynomial.terms()
            if (p, q) == powers
        }
        for m in sorted(parts):
            name = sympy.Symbol(f"P_{j}^({m})" if m else f"P_{j}^(0)")
            inner = sympy.Poly(parts[m], beta).as_expr()
            lines.append(sympy.Eq(name, sympy.Mul(b**-m, inner, evaluate=False)))
    return lines


def _agrees(results: Results, setting: str) -> Finding:
    outcome = results.table(LABEL, "Psi", "Psi")
    if "missing" in outcome.notes:
        return Finding({"36 points": None}, {}, outcome.notes["missing"])
    worst = float(outcome.numbers["difference"].max())
    return Finding(
        {"36 points": worst < 1e-9},
        {"largest relative difference": worst, "terms": int(outcome.numbers["terms"][0])},
        f"The expression equals the recursion M_(j+1) = E[H^T M_j H] to {worst:.0e}.",
    )


def _picture(results: Results, setting: str) -> Picture:
    notes = results.table(LABEL, "Psi", "Psi").notes
    if "missing" in notes:
        return Picture(LABEL, TITLE, formula=Formula((), "", notes["missing"]))
    note = (
        f"P_j is the sum over m of its parts of order 1/b^m; n = {N}. In print the powers of beta "
        "fall from left to right."
    )
    return Picture(
        LABEL,
        TITLE,
        formula=Formula((HEAD, *json.loads(notes["latex"])), notes["mathml"], note),
    )


EXHIBIT = Exhibit(
    label=LABEL,
    alias="fig6",
    title=TITLE,
    caption=lambda profile: (
        "The growth of E||(w_k, w_{k-1})||^2 over six steps on the lower bound's problem, n = 100."
    ),
    cells=_cells,
    picture=_picture,
    tables=(psi_typeset,),
    claims=(
        Claim(
            id="psi_expression",
            kind=OBSERVATION,
            source="fig:psi_function",
            text="Psi as a function of b, beta and theta, by symbolic mathematics.",
            criterion="The expression equals the recursion to 1e-9 at 36 points.",
            judge=_agrees,
            judged_on="exact values of Psi",
        ),
    ),
)
