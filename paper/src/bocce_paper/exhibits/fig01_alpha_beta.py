"""fig:non_acc_alpha_beta: the step sizes and momenta of SHB-EXP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bocce import schedules

from .. import authors
from ..canvas import ITERATION, Line, Panel, Picture
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import Outcome, Part, Profile, table
from ..verdicts import Finding

NOT_A_TEST = (
    "The release takes tau = 10 kappa, which here equals T: its steps do not decay, and it cannot "
    "show this figure."
)


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    yield table("parameters", "SHB-EXP", alpha_beta, T=100, L=10.0, mu=1.0, setting=setting)


def alpha_beta(T: int, L: float, mu: float, setting: str) -> Outcome:
    """(alpha_k, beta_k) of SHB-EXP: the main text's form, or the released code's."""
    if setting == "paper":
        s = schedules.shb_exponential(T, L, mu, form="average")
    else:
        s = authors.shb_exponential(T, L, mu)
    return Outcome.of(k=np.arange(T), alpha=s.alpha, beta=s.beta)


@judges("alpha_falls")
def alpha_falls(view: FigureView) -> Finding:
    numbers = view.numbers("parameters", "SHB-EXP")
    alpha = numbers["alpha"]
    T = numbers["k"].size
    slope = float(np.log(alpha[-1] / alpha[T // 2]) / np.log((T - 1) / (T // 2)))
    shown = {"alpha_0": alpha[0], "alpha_{T-1}": alpha[-1], "slope in log k": slope}
    if view.setting == "authors":
        return Finding({"total": None, "at the end": None}, shown, NOT_A_TEST)
    fall = alpha[-1] / alpha[0]
    said = f"The step falls to {fall:.1e} of its first value in T = {T}."
    return Finding({"total": bool(fall < 1.0 / T), "at the end": slope < -1.0}, shown, said)


@judges("beta_rises")
def beta_rises(view: FigureView) -> Finding:
    beta = view.numbers("parameters", "SHB-EXP")["beta"]
    shown = {"beta_1": beta[1], "beta_{T-1}": beta[-1]}
    if view.setting == "authors":
        return Finding({"beta_k": None}, shown, NOT_A_TEST)
    said = f"beta_k rises at every step, from {beta[0]:.3g} to {beta[-1]:.3g}."
    return Finding({"beta_k": bool((np.diff(beta) > 0.0).all())}, shown, said)


def _picture(view: FigureView) -> Picture:
    numbers = view.numbers("parameters", "SHB-EXP")
    k = numbers["k"]
    alpha = numbers["alpha"]
    standard = Line("1/k", k[1:], alpha[0] / k[1:], "guide")
    panels = (
        Panel("step size", ITERATION, "α", (Line("SHB-EXP", k, alpha), standard)),
        Panel("momentum", ITERATION, "β", (Line("SHB-EXP", k, numbers["beta"]),), ylog=False),
    )
    notes = (NOT_A_TEST.rstrip("."),) * (view.setting == "authors")
    return Picture(columns=2, panels=panels, notes=notes)


EXHIBITS = [exhibit("non_acc_alpha_beta", _parts, _picture)]
