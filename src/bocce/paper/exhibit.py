"""An exhibit is a figure or a table: its cells, its claims and its picture, in one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .canvas import SETTING_WORDS, Picture
from .results import Results, View
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
    picture: Callable[[View], Picture]
    claims: tuple[Claim, ...]
    tables: tuple[Callable[..., Any], ...] = ()
    settings: tuple[str, ...] = ("paper",)
    ours: bool = False

    def drawn(self, results: Results, setting: str) -> Picture:
        """The picture; where there are several settings, its name and title say which it shows."""
        picture = self.picture(View(results, self.label, setting))
        name, title = self.label, picture.title or self.title
        if len(self.settings) > 1:
            name, title = f"{name}-{setting}", f"{title} ({SETTING_WORDS[setting]})"
        return replace(picture, name=name, title=title)
