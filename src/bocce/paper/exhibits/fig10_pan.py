"""fig:pan_multistage_compare: the SHB variants beside the multi-stage method of Pan et al."""

from __future__ import annotations

from ..canvas import Picture, curve_panels, runs_picture
from ..exhibit import Exhibit
from ..results import FigureView
from ..specs import Cell, Profile
from ..texts import claims
from ..verdicts import Case, Finding, all_of, below, counted, ratio, span, tally, within
from ._synthetic import (
    SIMILAR,
    SMALLER,
    VARIANTS,
    judged_curves,
    lasts,
    noisy_cells,
)

LABEL = "pan_multistage_compare"
KAPPAS, NOISES = (2000, 1000, 500, 200, 100), (1e-2, 1e-4, 1e-6, 1e-8)
EXTREMES = ("Multi-SHB-PAN-2", "Multi-SHB-PAN-T-KAP")
METHODS = (*VARIANTS, *EXTREMES)
NEAR = 2.0  # a factor by which a curve may leave the interval of the extremes, generously read


def _cells(setting: str, profile: Profile) -> list[Cell]:
    panels = [(kappa, r) for kappa in KAPPAS for r in NOISES]
    return noisy_cells(LABEL, setting, profile, panels, METHODS)


def pan_converges(view: FigureView) -> Finding:
    curves = judged_curves(view)
    cases, _ = tally()
    worst = []
    for panel, methods in curves.items():
        for name in EXTREMES:
            cases[f"{name}, {panel}"] = not methods[name].diverged
            worst.append(methods[name].last / methods[name].start)
    said = f"At b = 0.9 n it ends at {max(worst):.0e} of its start or less."
    return Finding(cases, lasts(curves, EXTREMES), said)


def pan_similar(view: FigureView) -> Finding:
    cases, numbers = tally()
    first, _ = tally()
    apart = []
    for panel, methods in judged_curves(view).items():
        for name in VARIANTS:
            ratios = {rival: methods[name].last / methods[rival].last for rival in EXTREMES}
            near = [within(ratio, 1.0, SIMILAR) for ratio in ratios.values()]
            cases[f"{name}, {panel}"] = None if None in near else any(near)
            first[f"{name}, {panel}"] = near[0]
            numbers |= {f"{panel}: {name} / {rival}": r for rival, r in ratios.items()}
        low, high = sorted(methods[rival].last for rival in EXTREMES)
        apart.append(ratio(high, low))
    return Finding(
        cases,
        numbers,
        f"{counted(cases)} are within a factor {SIMILAR:g} of one extreme; the extremes themselves "
        f"are {span(apart)} times apart at T.",
        {"similar to C = 2 alone": Finding(first)},
    )


def pan_between(view: FigureView) -> Finding:
    curves = judged_curves(view)
    cases, _ = tally()
    near, _ = tally()
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
    return all_of(below(low, last, slack), below(last, high, slack))


def _picture(view: FigureView) -> Picture:
    return runs_picture(view, 4, curve_panels(view, METHODS))


CLAIMS = claims(LABEL, pan_converges, pan_similar, pan_between)
EXHIBIT = Exhibit(LABEL, _cells, _picture, CLAIMS)
