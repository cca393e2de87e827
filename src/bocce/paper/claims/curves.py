"""Curves of a figure by panel and method, and what several claims measure on them."""

from __future__ import annotations

import re

from ..results import Curve, Results

VARIANTS = ("Multi-SHB", "Multi-SHB-CNST", "2P-SHB")
EXACT_NORM = "on the exact root mean square of the gradient norm"


def kappa_of(panel: str) -> float:
    """
    >>> kappa_of("kappa=1000, r=1e-02")
    1000.0
    """
    return float(re.search(r"kappa=([0-9.e+]+)", panel).group(1))


def all_curves(results: Results, figure: str, setting: str) -> dict[str, dict[str, Curve]]:
    return {
        panel: {
            method: results.curve(figure, setting, panel, method)
            for method in results.methods(figure, setting, panel)
        }
        for panel in results.panels(figure, setting)
    }


def lasts(curves: dict[str, dict[str, Curve]], methods: tuple[str, ...]) -> dict[str, float]:
    """The final value of each method in each panel."""
    return {f"{panel}: {m}": curves[panel][m].last for panel in curves for m in methods}
