"""Figure 6, fig:psi_function: Psi as a function of b, beta and theta, typeset; and table 1,
table:der_beta: the derivative of Psi in beta at b = 70, against the printed values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bocce import theory

from ..canvas import Formula, Grid, Picture, Sum
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import Outcome, Part, Profile, table
from ..verdicts import Finding, Found

STEPS = 6
N = 100
HEAD = r"\Psi = P_1 \sin^2\theta + P_2 \sin\theta \cos\theta + P_3 \cos^2\theta"
# The printed rows of theta = 0 .. 0.8 pi; they repeat after pi, but for one entry.
_HALF = np.array(
    [
        [0.120, 0.299, 0.667, 1.364, 2.608, 4.719, 8.168, 13.643, 22.137, 35.083],
        [0.203, 0.387, 0.701, 1.216, 2.037, 3.311, 5.238, 8.102, 12.283, 18.281],
        [0.490, 0.891, 1.532, 2.515, 3.970, 6.055, 8.962, 12.911, 18.151, 24.968],
        [0.584, 1.114, 2.012, 3.466, 5.734, 9.160, 14.193, 21.423, 31.632, 45.902],
        [0.354, 0.748, 1.477, 2.754, 4.892, 8.333, 13.703, 21.875, 34.094, 52.153],
    ]
)
PRINTED = np.vstack([_HALF, _HALF, _HALF[:1]])
PRINTED[5, -1] = 35.082


# ---------------------------------------------------------------- figure 6


def _psi_parts(setting: str, profile: Profile) -> Iterator[Part]:
    yield table("Psi", "Psi", psi_terms, steps=STEPS, n=N)


def psi_terms(steps: int, n: int) -> Outcome:
    """Psi by SymPy, in rows (j, m, p, c): the term c x^m beta^p of P_j, x = n/b; and the distance
    from the recursion at 36 points."""
    import sympy  # type: ignore[import-untyped]

    expression = theory.psi_expression(steps, n=n)
    value = sympy.lambdify(sympy.symbols("b beta theta"), expression, "math")
    samples = [
        (b, x, t) for b in (1, 10, 70, 99) for x in (0.3, 0.6, 0.95) for t in (0.0, 1.0, 4.0)
    ]
    difference = [abs(value(*point) / theory.psi(n, *point, steps) - 1.0) for point in samples]
    return Outcome.of(difference=difference, terms=_rows(sympy, expression, n))


def _rows(sympy: Any, expression: Any, n: int) -> list[tuple[int, int, int, int]]:
    b, beta, theta, x, sine, cosine = sympy.symbols("b beta theta x s c")
    plain = expression.subs({sympy.sin(theta): sine, sympy.cos(theta): cosine}).subs(b, n / x)
    polynomial = sympy.Poly(sympy.expand(plain), sine, cosine, x, beta)
    place = {(2, 0): 1, (1, 1): 2, (0, 2): 3}
    rows = [(place[s, c], m, p, int(value)) for (s, c, m, p), value in polynomial.terms()]
    return sorted(rows, key=lambda row: (row[0], row[1], -row[2]))


@judges("psi_expression")
def psi_expression(view: FigureView) -> Finding:
    outcome = view.table("Psi", "Psi")
    if "missing" in outcome.notes:
        return Finding({"36 points": None}, {}, outcome.notes["missing"])
    worst = float(outcome.numbers["difference"].max())
    return Finding(
        {"36 points": worst < 1e-9},
        {"largest relative difference": worst, "terms": len(outcome.numbers["terms"])},
    )


def _psi_picture(view: FigureView) -> Picture:
    outcome = view.table("Psi", "Psi")
    if "missing" in outcome.notes:
        return Picture(formula=Formula("", (), outcome.notes["missing"]))
    parts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for j, m, p, c in outcome.numbers["terms"].tolist():
        parts.setdefault((j, m), []).append((c, p))
    lines = tuple(Sum(j if m == 0 else 0, m, tuple(terms)) for (j, m), terms in parts.items())
    return Picture(formula=Formula(HEAD, lines, f"x = n/b, n = {N}; six steps."))


# ---------------------------------------------------------------- table 1


def _table_parts(setting: str, profile: Profile) -> Iterator[Part]:
    yield table("b=70", "Psi", psi_derivatives, n=100, b=70)


def psi_derivatives(n: int, b: int) -> Outcome:
    return Outcome.of(
        beta=np.linspace(0.25, 0.999, 10),
        theta=0.2 * np.pi * np.arange(11),
        derivative=theory.psi_derivative_table(n, b),
    )


def misprinted(values: np.ndarray) -> np.ndarray:
    """Where the printed table is neither the rounded nor the cut value."""
    rounded = np.round(values, 3)
    cut = np.floor(values * 1000.0) / 1000.0
    off: np.ndarray = np.minimum(np.abs(rounded - PRINTED), np.abs(cut - PRINTED)) > 5e-4
    return off


@judges("table_der_beta")
def table_der_beta(view: FigureView) -> Found:
    ours = view.numbers("b=70", "Psi")["derivative"]
    off = np.abs(ours - PRINTED)
    shown = {"largest difference": off.max()}
    shown["entries neither rounded nor cut"] = int(misprinted(ours).sum())
    yield "within 1e-3", bool((off <= 1e-3 + 1e-9).all()), shown


def _table_picture(view: FigureView) -> Picture:
    numbers = view.numbers("b=70", "Psi")
    values = numbers["derivative"]
    off = misprinted(values)
    cells = tuple(
        tuple(f"{v:.4f} ({p:.3f})" if o else f"{v:.4f}" for v, p, o in zip(*row))
        for row in zip(values, PRINTED, off)
    )
    columns = tuple(f"{beta:.5f}".rstrip("0") for beta in numbers["beta"])
    rows = tuple(f"{t / np.pi:.1f} π" for t in numbers["theta"])
    note = (
        "Rows: θ; columns: β. The printed table rounds some entries and cuts others; marked are "
        "those that are neither, with the printed value."
    )
    return Picture(grid=Grid(columns, rows, cells, off, note))


EXHIBITS = [
    exhibit("psi_function", _psi_parts, _psi_picture),
    exhibit("der_beta", _table_parts, _table_picture),
]
