"""What the paper shows, made again: cells, claims, figures and the report."""

from __future__ import annotations

from .. import _checks
from . import ours, paper
from .specs import Figure

FIGURES: dict[str, Figure] = {f.label: f for f in (*paper.FIGURES, *ours.FIGURES)}
ALIASES = {f.alias: f.label for f in FIGURES.values()}


def chosen(names: list[str]) -> list[Figure]:
    """The figures of these names, aliases or "all", in the paper's order.

    >>> [figure.label for figure in chosen(["fig3", "der_beta"])]
    ['shb_quad', 'der_beta']
    """
    known = ["all", *FIGURES, *ALIASES]
    labels = {_checks.choice("reproduce", "NAMES", name, known) for name in names}
    wanted = set(FIGURES) if "all" in labels else {ALIASES.get(name, name) for name in labels}
    return [figure for label, figure in FIGURES.items() if label in wanted]
