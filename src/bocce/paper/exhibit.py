"""An exhibit is a figure or a table: its cells, its claims and its picture, in one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .canvas import SETTING_WORDS, Picture
from .results import FigureView, Results
from .specs import Cell, Profile
from .texts import read
from .verdicts import Claim

HORIZONS = (2000, 7000, 10_000, 16_000, 32_000, 1_000_000)  # that captions name


@dataclass(frozen=True)
class Exhibit:
    """What one figure computes under a setting and a profile, shows, and claims.

    Attributes
    ----------
    label : str
        The paper's LaTeX label without "fig:"; claims.toml has the text of the exhibit under it.
    cells, picture : callable
        What a setting and a profile compute, and how the results are drawn.
    claims, tables : tuple
        The claims; the functions that `NamedTable` cells name.
    """

    label: str
    cells: Callable[[str, Profile], list[Cell]]
    picture: Callable[[FigureView], Picture]
    claims: tuple[Claim, ...]
    tables: tuple[Callable[..., Any], ...] = ()

    def _text(self, name: str, default: Any = "") -> Any:
        return read("claims.toml")["exhibits"][self.label].get(name, default)

    @property
    def alias(self) -> str:
        """Its number in the paper, such as "fig3"."""
        return str(self._text("alias"))

    @property
    def title(self) -> str:
        return str(self._text("title"))

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(self._text("settings", ("paper",)))

    @property
    def ours(self) -> bool:
        """Is the figure not in the paper?"""
        return bool(self._text("ours", False))

    def caption(self, profile: Profile) -> str:
        """What a profile shows.

        Parameters
        ----------
        profile : Profile
            The sizes that are run.

        Returns
        -------
        str
            The caption, with these sizes.
        """
        T = {T: profile.steps(T) for T in HORIZONS}
        runs = {wanted: profile.counted(wanted) for wanted in (3, 5)}
        return str(self._text("caption")).format(p=profile, T=T, runs=runs)

    def drawn(self, results: Results, setting: str) -> Picture:
        """The picture; where there are several settings, its name and title say which it shows.

        Parameters
        ----------
        results : Results
            The stored cells.
        setting : str
            The name of the setting.

        Returns
        -------
        Picture
            Panels, name and title.
        """
        picture = self.picture(FigureView(results, self.label, setting))
        name, title = self.label, picture.title or self.title
        if len(self.settings) > 1:
            name, title = f"{name}-{setting}", f"{title} ({SETTING_WORDS[setting]})"
        return replace(picture, name=name, title=title)
