"""fig:pan_multistage_compare: the SHB variants beside the multi-stage method of Pan et al."""

from __future__ import annotations

from collections.abc import Iterator

from ..canvas import Picture, curve_panels
from ..exhibit import exhibit, judges
from ..results import FigureView
from ..specs import Part, Profile
from ..verdicts import Case, Finding, all_of, below, ratio, span, within
from ._synthetic import SIMILAR, SMALLER, VARIANTS, judged_curves, lasts, noisy_parts

KAPPAS = (2000, 1000, 500, 200, 100)
NOISES = (1e-2, 1e-4, 1e-6, 1e-8)
EXTREMES = ("Multi-SHB-PAN-2", "Multi-SHB-PAN-T-KAP")
METHODS = (*VARIANTS, *EXTREMES)
NEAR = 2.0  # A generous reading lets a curve leave the interval of the extremes by this factor.


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    panels = [(kappa, r) for kappa in KAPPAS for r in NOISES]
    return noisy_parts(setting, profile, panels, METHODS)


@judges("pan_converges")
def pan_converges(view: FigureView) -> Finding:
    curves = judged_curves(view)
    found = Finding({}, lasts(curves, EXTREMES))
    shares = []
    for panel, methods in curves.items():
        for name in EXTREMES:
            found.cases[f"{name}, {panel}"] = not methods[name].diverged
            shares.append(methods[name].last / methods[name].start)
    return found.said(f"At b = 0.9 n it ends at {max(shares):.0e} of its start or less.")


@judges("pan_similar")
def pan_similar(view: FigureView) -> Finding:
    found = Finding()
    first = Finding()
    apart = []
    for panel, methods in judged_curves(view).items():
        for name in VARIANTS:
            ratios = {rival: methods[name].last / methods[rival].last for rival in EXTREMES}
            near = [within(ratio, 1.0, SIMILAR) for ratio in ratios.values()]
            if None in near:
                found.cases[f"{name}, {panel}"] = None
            else:
                found.cases[f"{name}, {panel}"] = any(near)
            first.cases[f"{name}, {panel}"] = near[0]
            found.numbers.update({f"{panel}: {name} / {rival}": r for rival, r in ratios.items()})
        low, high = sorted(methods[rival].last for rival in EXTREMES)
        apart.append(ratio(high, low))
    return found.said(
        f"{found.score} cases are within a factor {SIMILAR:g} of one extreme; the extremes "
        f"themselves are {span(apart)} times apart at T.",
        {"similar to C = 2 alone": first},
    )


@judges("pan_between")
def pan_between(view: FigureView) -> Finding:
    curves = judged_curves(view)
    found = Finding({}, lasts(curves, METHODS))
    near = Finding()
    for panel, methods in curves.items():
        low, high = sorted(methods[name].last for name in EXTREMES)
        for name in VARIANTS:
            case = f"{name}, {panel}"
            last = methods[name].last
            found.cases[case] = _inside(low, last, high, 1.0 / SMALLER)
            near.cases[case] = _inside(low, last, high, NEAR)
    return found.said(
        f"Between the extremes (with 5 % to spare) lie {found.score} cases; within a factor "
        f"{NEAR:g} of their interval {near.score} cases.",
        {f"within a factor {NEAR:g} of the interval": near},
    )


def _inside(low: float, last: float, high: float, slack: float) -> Case:
    return all_of(below(low, last, slack), below(last, high, slack))


def _picture(view: FigureView) -> Picture:
    return Picture(columns=4, panels=curve_panels(view, METHODS), seeds=view.seed_count)


EXHIBITS = [exhibit("pan_multistage_compare", _parts, _picture)]
