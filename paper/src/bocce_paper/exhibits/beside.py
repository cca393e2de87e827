"""Ours: what a student would try first, and auto, beside the paper's best methods in figure 3."""

from __future__ import annotations

from collections.abc import Iterator

from ..canvas import Picture, curve_panels
from ..exhibit import exhibit
from ..methods import COSINE
from ..results import FigureView
from ..specs import EXACT, Part, Profile, Run
from ._synthetic import panel_name, synthetic
from .fig03_quad import KAPPAS, PAPER_T

METHODS = ("SHB", "2P-SHB", "Nesterov-EXP", COSINE, "auto")
NOISE = 1e-2


def _parts(setting: str, profile: Profile) -> Iterator[Part]:
    T = profile.steps(PAPER_T)
    for kappa in KAPPAS:
        data = synthetic(setting, profile.rows, profile.columns, kappa, NOISE)
        for method in METHODS:
            run = Run(data, method, setting, 0.9, T=T, every=profile.every(T))
            yield panel_name(kappa, NOISE), method, EXACT, run


def _picture(view: FigureView) -> Picture:
    return Picture(columns=3, panels=curve_panels(view, METHODS))


EXHIBITS = [exhibit("beside", _parts, _picture)]
