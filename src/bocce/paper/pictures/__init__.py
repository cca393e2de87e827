"""Pictures of stored results: what is in them, for print and for the screen alike."""

from __future__ import annotations

from collections.abc import Callable

from ..results import Results
from ..specs import Figure
from . import curves, extra, lower
from .base import Grid, Line, Panel, Picture, over_runs

__all__ = ["Grid", "Line", "Panel", "Picture", "names_of", "over_runs", "pictures"]

KINDS: dict[str, Callable[[Results, Figure, str], Picture]] = {
    "curves": curves.curves,
    "sweep": curves.sweep,
    "evaluations": curves.evaluations,
    "panetal": curves.panetal,
    "alpha_beta": curves.alpha_beta,
    "lower_2": lower.lower_2,
    "lower_n": lower.lower_n,
    "expression": lower.expression,
    "derivatives": lower.derivatives,
    "thresholds": extra.thresholds,
    "auto": extra.auto,
    "errors": extra.errors,
    "bounds": extra.bounds,
    "reference": extra.reference,
}


def pictures(results: Results, figure: Figure) -> list[Picture]:
    """One picture for each setting of a figure that was run."""
    return [KINDS[figure.kind](results, figure, s) for s in results.settings(figure.label)]


def names_of(picture: Picture) -> list[str]:
    """Every line's name once: its place decides the style of one without a style of its own."""
    return list(dict.fromkeys(line.name for panel in picture.panels for line in panel.lines))
