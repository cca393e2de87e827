"""Ours, about app:L-mis-proofs and app:mu-mis-proofs: SHB-EXP with L or mu estimated badly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ..canvas import HEADROOM, ITERATION, Panel, Picture, error_lines, words_of
from ..exhibit import exhibit, judges
from ..results import NONE, FigureView
from ..specs import EXACT, Part, Profile, Run
from ..verdicts import Finding, Found, all_of, below, ratio, span

MIS_L = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0)  # The factors nu by which L is under-estimated.
MIS_MU = (0.01, 0.1, 0.3, 1.0)
PANEL_L = "L"
REGIMES = {  # kappa and r of each panel: bias alone, noise that matters, and a harder problem.
    "mu, kappa=10, r=0": (10.0, 0.0),
    "mu, kappa=10, r=1e-2": (10.0, 1e-2),
    "mu, kappa=100, r=1e-2": (100.0, 1e-2),
}
SLOWER = 1.05  # "Slower" means at least 5 per cent.
TENTH = 0.1


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    T = profile.steps(7000)
    data = profile.regression(100, 1e-2)
    for nu in MIS_L:
        # An over-estimate makes the steps shorter by nu, and gets 1/nu times as many steps.
        longer = math.ceil(T / min(nu, 1.0))
        run = Run(data, "SHB-EXP", "paper", 0.1, T=longer, wrong_L=1.0 / nu)
        yield PANEL_L, f"nu={nu:g}", EXACT, run
    for panel, (kappa, r) in REGIMES.items():
        data = profile.regression(kappa, r)
        for nu in MIS_MU:
            run = Run(data, "SHB-EXP", "paper", 0.1, T=T, wrong_mu=nu)
            yield panel, f"nu={nu:g}", EXACT, run


def _errors(view: FigureView, panel: str, nu: float) -> tuple[np.ndarray, np.ndarray]:
    curve = view.curve(panel, f"nu={nu:g}")
    return curve.exact_k, curve.error


def _steps_to(k: np.ndarray, error: np.ndarray, level: float) -> float:
    hit = np.flatnonzero(error <= level * error[0]) if np.isfinite(error[0]) else NONE
    if hit.size:
        return float(k[hit[0]])
    return math.inf


@judges("mis_L_converges")
def mis_L_converges(view: FigureView) -> Found:
    for nu in MIS_L:
        _, error = _errors(view, PANEL_L, nu)
        shown = {f"nu={nu:g}: last / first": error[-1] / error[0]}
        yield f"nu={nu:g}", below(float(error[-1]), TENTH * float(error[0])), shown


@judges("mis_L_diverges_first")
def mis_L_diverges_first(view: FigureView) -> Found:
    for nu in (value for value in MIS_L if value > 1.0):
        _, error = _errors(view, PANEL_L, nu)
        peak = float(error.max() / error[0])
        grows = bool(peak > 1.01 and error[-1] < error[0])
        yield f"nu={nu:g}", grows, {f"nu={nu:g}: peak / first": peak}


@judges("mis_L_slows")
def mis_L_slows(view: FigureView) -> Found:
    """Over-estimates of L: time to a tenth of the first error."""
    low = sorted((nu for nu in MIS_L if nu <= 1.0), reverse=True)
    times = {nu: _steps_to(*_errors(view, PANEL_L, nu), TENTH) for nu in low}
    yield "", None, {f"nu={nu:g}: steps to a tenth": t for nu, t in times.items()}
    for fast, slow in pairwise(low):
        longer = below(SLOWER * times[fast], times[slow])
        constant = below(times[slow], times[fast], 2.0 * fast / slow)
        yield f"nu={slow:g} after nu={fast:g}", all_of(longer, constant), {}


@judges("mis_mu_slows")
def mis_mu_slows(view: FigureView) -> Finding:
    """Slower "to the minimizer": the error at T, which the theorem bounds, is larger."""
    found = Finding()
    either = Finding()
    ratios = []
    for panel in REGIMES:
        k, right = _errors(view, panel, 1.0)
        lasts: list[float] = []
        for nu in (value for value in MIS_MU if value < 1.0):
            _, wrong = _errors(view, panel, nu)
            steps = (_steps_to(k, wrong, TENTH), _steps_to(k, right, TENTH))
            ends = (float(wrong[-1]), float(right[-1]))
            lasts.append(ends[0])
            name = f"{panel}, nu={nu:g}"
            later, worse = (below(SLOWER * true, wrongly) for wrongly, true in (steps, ends))
            if later is None and worse is None:
                either.cases[name] = None
            else:
                either.cases[name] = bool(later or worse)
            found.cases[name] = worse
            found.numbers[f"{name}: steps to a tenth, over those of nu = 1"] = ratio(*steps)
            found.numbers[f"{name}: error at T, over that of nu = 1"] = ratio(*ends)
            ratios += [ratio(*ends)] * (not math.isnan(ratio(*ends)))
        if np.isfinite(lasts[-1]):
            grows = lasts == sorted(lasts, reverse=True)
        else:
            grows = None
        found.cases[f"{panel}, the more the smaller nu"] = grows
    if any(np.isfinite(ratios)):
        times = span(ratios)
    else:
        times = "not"
    return found.said(
        f"With an estimate of 0.01 mu to 0.3 mu SHB-EXP is 5 % or more slower, or worse at T, in "
        f"{either.score} cases: the error at T is {times} times that with the true mu, for mu "
        "enters the momentum alone.",
        {"or later to a tenth of the first error": either},
    )


def _picture(view: FigureView) -> Picture:
    titles = {PANEL_L: "wrong L, κ = 100, r = 1e-2"}
    titles |= {panel: words_of(panel.replace("mu", "wrong μ")) for panel in REGIMES}
    panels = []
    for panel, title in titles.items():
        lines = error_lines(view, panel, HEADROOM)
        log = panel == PANEL_L
        panels.append(Panel(title, ITERATION, "root mean square error", lines, xlog=log))
    return Picture(columns=2, panels=panels)


EXHIBITS = [exhibit("misestimation", _parts, _picture)]
