"""An exhibit is a figure or a table: its cells, its claims and its picture, in one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .canvas import Picture
from .results import Results
from .specs import Cell, Profile
from .verdicts import Claim


@dataclass(frozen=True)
class Exhibit:
    """What one figure computes under a setting and a profile, shows, and claims.

    Attributes
    ----------
    label, alias, title : str
        The paper's LaTeX label without "fig:", its number, and a title.
    caption, cells, picture : callable
        What a profile shows, what it computes, and how the results are drawn.
    claims, tables, settings : tuple
        The claims; the functions that `NamedTable` cells name; the settings.
    ours : bool
        Whether the figure is not in the paper.
    """

    label: str
    alias: str
    title: str
    caption: Callable[[Profile], str]
    cells: Callable[[str, Profile], list[Cell]]
    picture: Callable[[Results, str], Picture]
    claims: tuple[Claim, ...]
    tables: tuple[Callable[..., Any], ...] = ()
    settings: tuple[str, ...] = ("paper",)
    ours: bool = False
