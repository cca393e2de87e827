"""An exhibit is a figure or a table: its cells, its claims and its picture, in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .canvas import SETTING_WORDS, Picture
from .results import FigureView, Results
from .specs import Cell, Part, Profile
from .texts import read
from .verdicts import OBSERVATION, Change, Claim, Judge

HORIZONS = (2000, 7000, 10_000, 16_000, 32_000, 1_000_000)  # The values of T in captions.


@dataclass(frozen=True)
class Exhibit:
    """What one figure computes under a setting and a profile, what it shows and what it claims.

    ``label`` is the paper's LaTeX label without "fig:". ``parts`` gives the cells of a setting and
    a profile. The texts stand in claims.toml: ``alias`` is the number of the exhibit in the paper,
    such as "fig3", and ``about`` is the caption without its sizes. A figure that is ``ours`` is not
    in the paper.
    """

    label: str
    parts: Callable[[str, Profile], Iterable[Part]]
    picture: Callable[[FigureView], Picture]
    claims: tuple[Claim, ...]
    alias: str
    title: str
    about: str
    settings: tuple[str, ...] = ("paper",)
    ours: bool = False

    def cells(self, setting: str, profile: Profile) -> list[Cell]:
        return [Cell(self.label, setting, *part) for part in self.parts(setting, profile)]

    def caption(self, profile: Profile) -> str:
        """The caption, with the sizes of a profile."""
        T = {T: profile.steps(T) for T in HORIZONS}
        runs = {wanted: profile.counted(wanted) for wanted in (3, 5)}
        return self.about.format(p=profile, T=T, runs=runs)

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
    judges: Mapping[str, Any],
    claimed: tuple[Claim, ...] = (),
) -> Exhibit:
    """An exhibit with the texts and claims of claims.toml, after those that are ``claimed``.

    ``judges`` are the names of the exhibit's file: the judge of a claim is the function whose name
    is the claim's id.
    """
    content = read("claims.toml")
    made = (*claimed, *claims(content.get(label, {}), judges))
    return Exhibit(label, parts, picture, made, **content["exhibits"][label])


def claims(content: dict[str, Any], judges: Mapping[str, Judge]) -> tuple[Claim, ...]:
    """The claims of a table of TOML, in its order. Keys that are no claim hold for all claims."""
    texts = {id: row for id, row in content.items() if isinstance(row, dict)}
    shared = {"kind": OBSERVATION} | {key: content[key] for key in content if key not in texts}
    made = []
    for id, row in texts.items():
        changes = tuple(Change(**change) for change in row.get("changes", ()))
        made.append(Claim(id, judge=judges[id], **shared | row | {"changes": changes}))
    return tuple(made)
