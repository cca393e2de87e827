"""Claims about pan_multistage_compare: the appendix's comparison."""

from __future__ import annotations

from ..paper import PAN_METHODS
from ..results import Results
from .base import SIMILAR, SMALLER, Claim, Finding, counted, within
from .curves import EXACT_NORM, VARIANTS, all_curves, lasts

PAN = "pan_multistage_compare"


def pan_converges(results: Results, setting: str) -> Finding:
    curves = all_curves(results, PAN, setting)
    names = PAN_METHODS[3:]
    cases = {f"{m}, {p}": not curves[p][m].diverged for p in curves for m in names}
    return Finding(
        cases, lasts(curves, names), f"Ends below its start at b = 0.9 n in {counted(cases)}."
    )


def variants_like_pan(results: Results, setting: str) -> Finding:
    curves = all_curves(results, PAN, setting)
    cases, numbers = {}, {}
    for panel, methods in curves.items():
        for name in VARIANTS:
            ratio = methods[name].last / methods["Multi-SHB-PAN-2"].last
            cases[f"{name}, {panel}"] = within(ratio, 1.0)
            numbers[f"{panel}: {name} / Multi-SHB-PAN-2"] = ratio
    return Finding(
        cases,
        numbers,
        f"At T within a factor {SIMILAR:g} of the method of Pan et al. (C = 2) in "
        f"{counted(cases)}.",
    )


def variants_between(results: Results, setting: str) -> Finding:
    curves = all_curves(results, PAN, setting)
    cases = {}
    for panel, methods in curves.items():
        ends = sorted(methods[name].last for name in PAN_METHODS[3:])
        for name in VARIANTS:
            cases[f"{name}, {panel}"] = SMALLER * ends[0] <= methods[name].last <= ends[1] / SMALLER
    return Finding(
        cases,
        lasts(curves, PAN_METHODS),
        f"At T between C = 2 and C = T sqrt(kappa) in {counted(cases)}.",
    )


CLAIMS = (
    Claim(
        "pan_converges",
        PAN,
        "app:pan-comparison",
        "With a sufficiently large batch-size the method by Pan et al. is able to avoid the "
        "divergence behaviour.",
        f"It ends below its start in every panel, {EXACT_NORM}.",
        pan_converges,
    ),
    Claim(
        "pan_similar",
        PAN,
        "app:pan-comparison",
        "The performance of 2P-SHB, Multi-SHB, Multi-SHB-CNST is similar to the method in Pan et "
        "al.",
        f"At T within a factor 3 of Multi-SHB-PAN-2, {EXACT_NORM}.",
        variants_like_pan,
    ),
    Claim(
        "pan_between",
        PAN,
        "app:pan-comparison",
        "It consistently lies in-between the two extremes.",
        f"At T between C = 2 and C = T sqrt(kappa), with 5 % to spare, {EXACT_NORM}.",
        variants_between,
    ),
)
