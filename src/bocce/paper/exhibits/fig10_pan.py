"""fig:pan_multistage_compare: the SHB variants beside the multi-stage method of Pan et al."""

from __future__ import annotations

from ..canvas import Picture, curve_panels, runs_picture
from ..exhibit import Exhibit
from ..results import Results
from ..specs import Cell, Profile
from ..verdicts import OBSERVATION, Case, Claim, Finding, below, counted, ratio, within
from ._synthetic import (
    JUDGED_ON,
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
BETWEEN = 2.0  # a factor by which a curve may leave the interval of the extremes


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
    numbers: dict[str, float] = {}
    for panel, methods in curves.items():
        for name in VARIANTS:
            ratios = {rival: methods[name].last / methods[rival].last for rival in EXTREMES}
            near = [within(ratio, 1.0, SIMILAR) for ratio in ratios.values()]
            cases[f"{name}, {panel}"] = None if None in near else any(near)
            numbers |= {f"{panel}: {name} / {rival}": r for rival, r in ratios.items()}
    apart = [ratio(*(m[rival].last for rival in reversed(EXTREMES))) for m in curves.values()]
    return Finding(
        cases,
        numbers,
        f"{counted(cases)} are within a factor {SIMILAR:g} of one extreme; the extremes themselves "
        f"are {min(apart):.2g} to {max(apart):.2g} times apart at T.",
    )


def _between(results: Results, setting: str) -> Finding:
    curves = judged_curves(results, LABEL, setting)
    cases: dict[str, Case] = {}
    strict: dict[str, Case] = {}
    for panel, methods in curves.items():
        low, high = sorted(methods[name].last for name in EXTREMES)
        for name in VARIANTS:
            case, last = f"{name}, {panel}", methods[name].last
            strict[case] = _inside(low, last, high, 1.0 / SMALLER)
            cases[case] = _inside(low, last, high, BETWEEN)
    return Finding(
        cases,
        lasts(curves, METHODS),
        f"Strictly between (with 5 % to spare) lie {counted(strict)}, the others that count within "
        f"a factor {BETWEEN:g}.",
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
    claims=(
        Claim(
            id="pan_converges",
            kind=OBSERVATION,
            source="app:pan-comparison",
            text="With a large batch the method of Pan et al. does not diverge.",
            quote=r"with a sufficiently large batch-size the method by \citet{pan2023accelerated} "
            r"is "
            r"able to avoid the divergence behaviour in \cref{fig:panetal_multistage}.",
            line=1815,
            criterion="It ends below its start in every panel.",
            judge=_converges,
            judged_on=JUDGED_ON,
        ),
        Claim(
            id="pan_similar",
            kind=OBSERVATION,
            source="app:pan-comparison",
            text="The three variants perform as the method of Pan et al. does.",
            quote=r"the performance of \texttt{2P-SHB}, \texttt{Multi-SHB}, "
            r"\texttt{Multi-SHB-CNST} "
            r"is similar to the method in \citet{pan2023accelerated}",
            line=1815,
            criterion="At T within a factor 3 of Multi-SHB-PAN-2 or of Multi-SHB-PAN-T-KAP.",
            judge=_similar,
            judged_on=JUDGED_ON,
        ),
        Claim(
            id="pan_between",
            kind=OBSERVATION,
            source="app:pan-comparison",
            text="The three variants end between C = 2 and C = T sqrt(kappa).",
            quote="it consistently lies in-between the two extremes.",
            line=1815,
            criterion="At T between C = 2 and C = T sqrt(kappa), or within a factor 2 of that "
            "interval.",
            judge=_between,
            judged_on=JUDGED_ON,
        ),
    ),
)
