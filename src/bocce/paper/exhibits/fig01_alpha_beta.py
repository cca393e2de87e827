"""fig:non_acc_alpha_beta: the step sizes and momenta of SHB-EXP."""

from __future__ import annotations

import numpy as np

from ... import schedules
from .. import authors
from ..canvas import ITERATION, Line, Panel, Picture, picture_name, picture_title
from ..compute import Outcome
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Profile, table, table_cell
from ..texts import claims
from ..verdicts import Case, Finding

LABEL, TITLE = "non_acc_alpha_beta", "Step size and momentum of SHB-EXP"
SETTINGS = ("paper", "authors")
NOT_A_TEST = (
    "The release takes tau = 10 kappa, which here equals T: its steps do not decay, and it cannot "
    "show this figure."
)


def _cells(setting: str, profile: Profile) -> list[Cell]:
    job = table("alpha_beta", T=100, L=10.0, mu=1.0, setting=setting)
    return [table_cell(LABEL, setting, "parameters", "SHB-EXP", job)]


def alpha_beta(T: int, L: float, mu: float, setting: str) -> Outcome:
    """(alpha_k, beta_k) of SHB-EXP: the main text's form, or the released code's."""
    if setting == "paper":
        s = schedules.shb_exponential(T, L, mu, form="average")
    else:
        s = authors.shb_exponential(T, L, mu)
    return Outcome({"k": np.arange(T), "alpha": s.alpha, "beta": s.beta})


def _numbers(results: Results, setting: str) -> dict[str, np.ndarray]:
    return results.table(LABEL, "parameters", "SHB-EXP", setting).numbers


def _step_falls_fast(results: Results, setting: str) -> Finding:
    numbers = _numbers(results, setting)
    alpha, T = numbers["alpha"], numbers["k"].size
    slope = float(np.log(alpha[-1] / alpha[T // 2]) / np.log((T - 1) / (T // 2)))
    shown = {"alpha_0": alpha[0], "alpha_{T-1}": alpha[-1], "slope in log k": slope}
    if setting == "authors":
        return Finding({"total": None, "at the end": None}, shown, NOT_A_TEST)
    cases: dict[str, Case] = {
        "total": bool(alpha[-1] / alpha[0] < 1.0 / T),
        "at the end": bool(slope < -1.0),
    }
    fall = alpha[-1] / alpha[0]
    return Finding(cases, shown, f"The step falls to {fall:.1e} of its first value in T = {T}.")


def _momentum_rises(results: Results, setting: str) -> Finding:
    beta = _numbers(results, setting)["beta"]
    shown = {"beta_1": beta[1], "beta_{T-1}": beta[-1]}
    if setting == "authors":
        return Finding({"beta_k": None}, shown, NOT_A_TEST)
    return Finding(
        {"beta_k": bool((np.diff(beta) > 0.0).all())},
        shown,
        f"beta_k rises at every step, from {beta[0]:.3g} to {beta[-1]:.3g}.",
    )


def _picture(results: Results, setting: str) -> Picture:
    numbers = _numbers(results, setting)
    k, alpha = numbers["k"], numbers["alpha"]
    standard = Line("1/k", k[1:], alpha[0] / k[1:], "guide")
    return Picture(
        picture_name(LABEL, setting, SETTINGS),
        picture_title(TITLE, setting, SETTINGS),
        columns=2,
        panels=(
            Panel("step size", ITERATION, "α", (Line("SHB-EXP", k, alpha), standard)),
            Panel("momentum", ITERATION, "β", (Line("SHB-EXP", k, numbers["beta"]),), ylog=False),
        ),
        notes=(NOT_A_TEST.rstrip("."),) * (setting == "authors"),
    )


EXHIBIT = Exhibit(
    label=LABEL,
    alias="fig1",
    title=TITLE,
    caption=lambda profile: "alpha_k and beta_k for T = 100, L = 10, mu = 1, tau = 1.",
    cells=_cells,
    picture=_picture,
    tables=(alpha_beta,),
    settings=SETTINGS,
    claims=claims(
        LABEL,
        alpha_falls=_step_falls_fast,
        beta_rises=_momentum_rises,
    ),
)
