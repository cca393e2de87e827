"""fig:diff_f_beta, fig:psi_beta, fig:lb_2_case: the lower bound with two samples."""

from __future__ import annotations

import numpy as np

from ... import schedules, theory
from ..canvas import Line, Panel, Picture, Surface
from ..compute import Outcome
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Profile, table, table_cell
from ..texts import claims
from ..verdicts import Finding
from ._lower import (
    SEEDS,
    against_sgd,
    diagonal_rates,
    diverges_while_sgd_converges,
    runs_panel,
)

LABEL, TITLE = "lower_bound_2", "Lower bound, two samples"
RUNS = "kappa=6, b=1"


def _cells(setting: str, profile: Profile) -> list[Cell]:
    grid = table("psi_two_samples", points=61)
    return [
        table_cell(LABEL, "paper", "psi", "Psi", grid),
        *against_sgd(LABEL, RUNS, n=2, kappa=6, b=1),
    ]


def psi_two_samples(points: int) -> Outcome:
    """The two-sample Psi and its derivative on a grid, and its minimum against beta."""
    beta, theta = np.linspace(0.0, 1.0, points), np.linspace(0.0, 2.0 * np.pi, points)
    derivative = [[theory.psi_derivative(2, 1, b, t, 3) for b in beta] for t in theta]
    at_kappa_6 = float(schedules.shb(1, 6.0, 1.0).beta[0])
    return Outcome(
        {
            "beta": beta,
            "theta": theta,
            "derivative": np.array(derivative),
            "psi": np.array([theory.psi_two_samples(0.63, t) for t in theta]),
            "least": np.array([theory.psi_minimum(2, 1, b, 3) for b in (0.63, at_kappa_6)]),
            "rate": np.array([1.0 / theory.lower_bound_threshold(2, 6.0)]),
        }
    )


def _numbers(results: Results) -> dict[str, np.ndarray]:
    return results.table(LABEL, "psi", "Psi").numbers


def _monotone(results: Results, setting: str) -> Finding:
    numbers = _numbers(results)
    derivative, beta = numbers["derivative"], numbers["beta"]
    inner = derivative[:, beta > 0.0]
    return Finding(
        {"0 < beta <= 1": bool((inner > 0.0).all())},
        {"least for beta > 0": inner.min(), "at beta = 0": derivative[:, 0].max()},
        "The derivative is positive for beta > 0. On the edge beta = 0 it is 0, for Psi has no "
        "linear term in beta; Psi increases on [0, 1] all the same.",
        {
            "the derivative is above 0 on the edge too": Finding(
                {"all": bool((derivative > 0).all())}
            )
        },
    )


def _picture(results: Results, setting: str) -> Picture:
    numbers = _numbers(results)
    theta = numbers["theta"]
    surface = Surface(numbers["beta"], theta, numbers["derivative"], "∂Ψ/∂β")
    one = Line("Ψ = 1", theta, np.ones_like(theta), "guide")
    psi = Line("Ψ", theta, numbers["psi"])
    return Picture(
        LABEL,
        TITLE,
        columns=3,
        panels=(
            Panel("derivative of Ψ in β", "β", "θ", surface=surface),
            Panel("Ψ at β = 0.63", "θ", "Ψ", (psi, one), ylog=False),
            runs_panel(results, LABEL, RUNS),
        ),
        seeds=SEEDS,
        own_legends=True,
    )


EXHIBIT = Exhibit(
    label=LABEL,
    alias="fig5",
    title=TITLE,
    caption=lambda profile: (
        "Derivative of Psi in beta over beta in [0, 1] and theta in [0, 2 pi]; Psi against theta "
        "at beta = 0.63; SHB and SGD at b = 1, kappa = 6, 300 steps, 5 runs."
    ),
    cells=_cells,
    picture=_picture,
    tables=(psi_two_samples, diagonal_rates),
    claims=claims(
        LABEL,
        two_samples_monotone=_monotone,
        two_samples_runs=diverges_while_sgd_converges(LABEL, RUNS),
    ),
)
