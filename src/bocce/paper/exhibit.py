"""An exhibit is a figure or a table: its cells, its claims and its picture, in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .canvas import SETTING_WORDS, Picture
from .results import FigureView, Results
from .specs import Cell, Part, Profile
from .texts import claims, read
from .verdicts import Claim, Finding

HORIZONS = (2000, 7000, 10_000, 16_000, 32_000, 1_000_000)  # The values of T in captions.


@dataclass(frozen=True)
class Exhibit:
    """What one figure computes under a setting and a profile, what it shows and what it claims.

    ``label`` is the paper's LaTeX label without "fig:". The texts of the exhibit stand in
    claims.toml under its label. ``parts`` gives the cells of a setting and a profile.
    """

    label: str
    parts: Callable[[str, Profile], Iterable[Part]]
    picture: Callable[[FigureView], Picture]
    claims: tuple[Claim, ...]

    def cells(self, setting: str, profile: Profile) -> list[Cell]:
        return [Cell(self.label, setting, *part) for part in self.parts(setting, profile)]

    def _text(self, name: str, default: Any = "") -> Any:
        return read("claims.toml")["exhibits"][self.label].get(name, default)

    @property
    def alias(self) -> str:
        """The number of the exhibit in the paper, such as "fig3"."""
        return str(self._text("alias"))

    @property
    def title(self) -> str:
        return str(self._text("title"))

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(self._text("settings", ("paper",)))

    @property
    def ours(self) -> bool:
        """Whether the figure is not in the paper."""
        return bool(self._text("ours", False))

    def caption(self, profile: Profile) -> str:
        """The caption, with the sizes of a profile."""
        T = {T: profile.steps(T) for T in HORIZONS}
        runs = {wanted: profile.counted(wanted) for wanted in (3, 5)}
        return str(self._text("caption")).format(p=profile, T=T, runs=runs)

    def drawn(self, results: Results, setting: str) -> Picture:
        """The picture. With several settings, the name and the title of the picture say which."""
        picture = self.picture(FigureView(results, self.label, setting))
        name, title = self.label, picture.title or self.title
        if len(self.settings) > 1:
            name, title = f"{name}-{setting}", f"{title} ({SETTING_WORDS[setting]})"
        return replace(picture, name=name, title=title)


def exhibit(
    label: str,
    parts: Callable[[str, Profile], Iterable[Part]],
    picture: Callable[[FigureView], Picture],
    *judges: Callable[[FigureView], Finding],
    **others: Callable[[FigureView], Finding],
) -> Exhibit:
    """An exhibit whose claims stand in claims.toml. The name of a judge is the id of its claim;
    ``others`` are judges under another name."""
    named = {judge.__name__: judge for judge in judges} | others
    return Exhibit(label, parts, picture, claims(read("claims.toml")[label], named))
