"""An exhibit is a figure or a table: its cells, its claims and its picture, in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from bocce.cli.commands import refused

from .canvas import SETTING_WORDS, Picture
from .results import FigureView, Results
from .specs import Cell, Part, Profile
from .texts import read
from .verdicts import OBSERVATION, Change, Claim, Judge

J = TypeVar("J", bound=Judge)
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
        name = self.label
        title = picture.title or self.title
        if len(self.settings) > 1:
            name = f"{name}-{setting}"
            title = f"{title} ({SETTING_WORDS[setting]})"
        return replace(picture, name=name, title=title)


def exhibit(
    label: str,
    parts: Callable[[str, Profile], Iterable[Part]],
    picture: Callable[[FigureView], Picture],
    claimed: tuple[Claim, ...] = (),
) -> Exhibit:
    """An exhibit with the texts and claims of claims.toml, after those that are ``claimed``."""
    content = read("claims.toml")
    made = (*claimed, *claims(content.get(label, {})))
    return Exhibit(label, parts, picture, made, **content["exhibits"][label])


# The judge of each claim, by the claim's id: what `judges` has found.
JUDGES: dict[str, Judge] = {}


def judges(id: str) -> Callable[[J], J]:
    """The decorated function is the judge of the claim ``id`` of claims.toml or statements.toml.

    >>> judges("quad_i_flor")
    Traceback (most recent call last):
    ...
    ValueError: judges: id='quad_i_flor' must be the id of a claim in claims.toml or \
statements.toml; did you mean 'quad_i_floor'?
    """
    known = _ids()
    if id not in known:
        near = get_close_matches(id, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "write the claim's text first"
        rule = "the id of a claim in claims.toml or statements.toml"
        raise refused(ValueError, "judges", "id", id, rule, hint)
    if id in JUDGES:
        raise refused(ValueError, "judges", "id", id, "a claim without a judge", "it has one")

    def register(judge: J) -> J:
        JUDGES[id] = judge
        return judge

    return register


def _ids() -> list[str]:
    """The ids of all claims: tables of tables, in both files."""
    tables = [read("statements.toml"), *read("claims.toml").values()]
    rows = [table.items() for table in tables if isinstance(table, dict)]
    return [id for table in rows for id, row in table if isinstance(row, dict) and "text" in row]


def claims(content: dict[str, Any]) -> tuple[Claim, ...]:
    """The claims of a table of TOML, in its order. Keys that are no claim hold for all claims."""
    texts = {id: row for id, row in content.items() if isinstance(row, dict)}
    for id in texts:
        if id not in JUDGES:
            rule = "a claim with a judge"
            remedy = f'decorate its judge with @judges("{id}")'
            raise refused(ValueError, "claims", "id", id, rule, remedy)
    shared = {"kind": OBSERVATION} | {key: content[key] for key in content if key not in texts}
    made = []
    for id, row in texts.items():
        changes = tuple(Change(**change) for change in row.get("changes", ()))
        made.append(Claim(id, judge=JUDGES[id], **shared | row | {"changes": changes}))
    return tuple(made)
