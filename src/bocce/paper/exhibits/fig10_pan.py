"""fig:pan_multistage_compare: the SHB variants beside the multi-stage method of Pan et al."""

from __future__ import annotations

from ..canvas import Picture, curve_panels, runs_picture
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Profile
from ..texts import claims
from ..verdicts import Case, Finding, below, counted, ratio, within
from ._synthetic import (
    SIMILAR,
    SMALLER,
    VARIANTS,
    judged_curves,
    lasts,
    noisy_cells,
    sizes,
)

LABEL = "pan_multistage_compare"
TITLE = "Comparison with the multi-stage method of Pan et al."
SETTINGS = ("paper", "released-rows", "authors")  # no published panel of this figure could be had
KAPPAS, NOISES = (2000, 1000, 500, 200, 100), (1e-2, 1e-4, 1e-6, 1e-8)
EXTREMES = ("Multi-SHB-PAN-2", "Multi-SHB-PAN-T-KAP")
METHODS = (*VARIANTS, *EXTREMES)
NEAR = 2.0  # a factor by which a curve may leave the interval of the extremes, generously read


def _cells(setting: str, profile: Profile) -> list[Cell]:
    panels = [(kappa, r) for kappa in KAPPAS for r in NOISES]
    return noisy_cells(LABEL, setting, profile, panels, METHODS)


def _converges(results: Results, setting: str) -> Finding:
    curves = judged_curves(results, LABEL, setting)
    cases: dict[str, Case] = {
        f"{m}, {p}": not curves[p][m].diverged for p in curves for m in EXTREMES
    }
    worst = max(curves[p][m].last / curves[p][m].start for p in curves for m in EXTREMES)
    said = f"At b = 0.9 n it ends at {worst:.0e} of its start or less."
    return Finding(cases, lasts(curves, EXTREMES), said)


def _similar(results: Results, setting: str) -> Finding:
    curves = judged_curves(results, LABEL, setting)
    cases: dict[str, Case] = {}
    first: dict[str, Case] = {}
    numbers: dict[str, float] = {}
    for panel, methods in curves.items():
        for name in VARIANTS:
            ratios = {rival: methods[name].last / methods[rival].last for rival in EXTREMES}
            near = [within(ratio, 1.0, SIMILAR) for ratio in ratios.values()]
            cases[f"{name}, {panel}"] = None if None in near else any(near)
            first[f"{name}, {panel}"] = near[0]
            numbers |= {f"{panel}: {name} / {rival}": r for rival, r in ratios.items()}
    ends = [sorted(methods[rival].last for rival in EXTREMES) for methods in curves.values()]
    apart = [ratio(high, low) for low, high in ends]
    return Finding(
        cases,
        numbers,
        f"{counted(cases)} are within a factor {SIMILAR:g} of one extreme; the extremes themselves "
        f"are {min(apart):.2g} to {max(apart):.2g} times apart at T.",
        {"similar to C = 2 alone": Finding(first)},
    )


def _between(results: Results, setting: str) -> Finding:
    curves = judged_curves(results, LABEL, setting)
    cases: dict[str, Case] = {}
    near: dict[str, Case] = {}
    for panel, methods in curves.items():
        low, high = sorted(methods[name].last for name in EXTREMES)
        for name in VARIANTS:
            case, last = f"{name}, {panel}", methods[name].last
            cases[case] = _inside(low, last, high, 1.0 / SMALLER)
            near[case] = _inside(low, last, high, NEAR)
    return Finding(
        cases,
        lasts(curves, METHODS),
        f"Between the extremes (with 5 % to spare) lie {counted(cases)}; within a factor {NEAR:g} "
        f"of their interval {counted(near)}.",
        {f"within a factor {NEAR:g} of the interval": Finding(near)},
    )


def _inside(low: float, last: float, high: float, slack: float) -> Case:
    sides = (below(low, last, slack), below(last, high, slack))
    return None if None in sides else all(sides)


def _picture(results: Results, setting: str) -> Picture:
    panels = curve_panels(results, LABEL, setting, METHODS)
    return runs_picture(results, LABEL, TITLE, setting, SETTINGS, 4, panels)


EXHIBIT = Exhibit(
    label=LABEL,
    alias="fig10",
    title=TITLE,
    caption=lambda profile: (
        f"{sizes(profile, 7000)}, b = 0.9 n, {profile.counted(3)}; kappa from top to bottom "
        "2000, 1000, 500, 200, 100, noise r from left to right 1e-2, 1e-4, 1e-6, 1e-8."
    ),
    cells=_cells,
    picture=_picture,
    settings=SETTINGS,
    claims=claims(
        LABEL,
        pan_converges=_converges,
        pan_similar=_similar,
        pan_between=_between,
    ),
)
