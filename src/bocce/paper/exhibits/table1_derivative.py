"""table:der_beta: the derivative of Psi in beta at b = 70, against the printed values."""

from __future__ import annotations

import numpy as np

from ... import theory
from ..canvas import Grid, Picture
from ..compute import Outcome
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Profile, table, table_cell
from ..texts import claims
from ..verdicts import Finding

LABEL, TITLE = "der_beta", "Derivative of Ψ in β, b = 70"

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


def _cells(setting: str, profile: Profile) -> list[Cell]:
    return [table_cell(LABEL, "paper", "b=70", "Psi", table("psi_derivatives", n=100, b=70))]


def psi_derivatives(n: int, b: int) -> Outcome:
    return Outcome(
        {
            "beta": np.linspace(0.25, 0.999, 10),
            "theta": 0.2 * np.pi * np.arange(11),
            "derivative": theory.psi_derivative_table(n, b),
        }
    )


def misprinted(values: np.ndarray) -> np.ndarray:
    """Where the printed table is neither the rounded nor the cut value."""
    rounded, cut = np.round(values, 3), np.floor(values * 1000.0) / 1000.0
    off: np.ndarray = np.minimum(np.abs(rounded - PRINTED), np.abs(cut - PRINTED)) > 5e-4
    return off


def _agrees(results: Results, setting: str) -> Finding:
    ours = results.table(LABEL, "b=70", "Psi").numbers["derivative"]
    off = np.abs(ours - PRINTED)
    count = int(misprinted(ours).sum())
    return Finding(
        {"within 1e-3": bool((off <= 1e-3 + 1e-9).all())},
        {"largest difference": off.max(), "entries neither rounded nor cut": count},
        f"All 110 entries agree to {off.max():.1e}; {count} are neither rounded nor cut.",
    )


def _picture(results: Results, setting: str) -> Picture:
    numbers = results.table(LABEL, "b=70", "Psi").numbers
    values = numbers["derivative"]
    off = misprinted(values)
    cells = tuple(
        tuple(f"{v:.4f} ({p:.3f})" if o else f"{v:.4f}" for v, p, o in zip(*row))
        for row in zip(values, PRINTED, off)
    )
    grid = Grid(
        tuple(f"{beta:.5f}".rstrip("0") for beta in numbers["beta"]),
        tuple(f"{t / np.pi:.1f} π" for t in numbers["theta"]),
        cells,
        off,
        "Rows: θ; columns: β. The printed table rounds some entries and cuts others; marked are "
        "those that are neither, with the printed value.",
    )
    return Picture(LABEL, TITLE, grid=grid)


EXHIBIT = Exhibit(
    label=LABEL,
    alias="table1",
    title=TITLE,
    caption=lambda profile: "Ours against the printed values, n = 100.",
    cells=_cells,
    picture=_picture,
    tables=(psi_derivatives,),
    claims=claims(
        LABEL,
        table_der_beta=_agrees,
    ),
)
