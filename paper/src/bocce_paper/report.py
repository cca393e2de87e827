"""One HTML file that shows everything: claims, figures, tables and where they come from."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

from bocce import __version__
from bocce.cli.commands import atomic_write

from . import judge, runner
from .canvas import SETTING_WORDS, Picture
from .contributions import contributions
from .exhibit import Exhibit
from .exhibits import EXHIBITS
from .interactive import chart
from .judge import TITLES
from .results import Results
from .specs import SETTINGS, Json, Profile, slug
from .stopwatch import in_words
from .typeset import pieces
from .verdicts import WORDS, Verdict

# Of a figure's settings the first of these is shown, the others at the press of a button.
SHOWN_FIRST = ("published", "released-rows", "paper", "authors")


def sizes(profile: Profile, cells: int, jobs: int) -> str:
    """What is about to be run, in a sentence.

    >>> from .specs import PROFILES
    >>> sizes(PROFILES["smoke"], 9, 1)
    'smoke test, 9 cells on 1 process: 60 rows, 0.4 % of the steps; it judges nothing'
    """
    where = f"{cells:,} cells on {jobs} process{'es' * (jobs > 1)}"
    if not profile.judges:
        return (
            f"{profile.name} test, {where}: {profile.rows} rows, {100 * profile.share:g} % of the "
            "steps; it judges nothing"
        )
    return (
        f"the paper's own sizes, {where}: n = {profile.rows:,}, d = {profile.columns}, T = 7,000 "
        f"(figure 4: 2,000), {profile.passes:g} passes over the LIBSVM data, as many runs as the "
        "paper's"
    )


class Page:
    """Everything that a folder's results show: verdicts and pictures, each made once."""

    def __init__(self, folder: Path, results: Results) -> None:
        self.folder = folder
        self.results = results
        self.notes = runner.notes_of(folder)
        self.profile = runner.profile_of(folder)
        self.verdicts, self.claims = judged(folder, results)
        self.pictures = {  # One picture for each setting of an exhibit that was run.
            label: [EXHIBITS[label].drawn(results, s) for s in results.settings(label)]
            for label in self.notes["figures"]
        }
        self.cards: list[Json] = []
        if self.profile.judges:
            self.cards = contributions(results, self.verdicts, self.pictures)

    def draw(self, exhibits: list[Exhibit], jobs: int = 1) -> None:
        """The figures as PNG and PDF."""
        from joblib import Parallel, delayed  # type: ignore[import-untyped]

        from .draw import save

        drawn = [p for exhibit in exhibits for p in self.pictures[exhibit.label]]
        drawn.sort(key=lambda picture: -len(picture.panels))
        Parallel(n_jobs=jobs)(delayed(save)(picture, self.folder / "figures") for picture in drawn)

    def publish(self) -> Path:
        """claims.json (if the profile judges) and report.html, which needs no network."""
        self.notes = runner.notes_of(self.folder)  # the time may be newer
        if self.profile.judges:
            with atomic_write(self.folder / "claims.json") as stream:
                stream.write(self.claims.encode() + b"\n")
        path = self.folder / "report.html"
        with atomic_write(path) as stream:
            stream.write(self.render().encode())
        return path

    def render(self) -> str:
        """The page as text. Everything that is not ours to write is escaped."""
        from jinja2 import Environment, PackageLoader
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

        environment = Environment(
            loader=PackageLoader("bocce_paper", "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["slug"] = lambda word: WORDS[word].style
        found = self.verdicts
        results = self.results
        sections = [self._section(EXHIBITS[label]) for label in self.notes["figures"]]
        shown = [card["picture"] for card in self.cards if card["picture"]]
        shown += [p for drawn in self.pictures.values() for p in drawn if p.panels]
        charts = json.dumps({p.name: chart(p) for p in shown}, separators=(",", ":"))
        curves = _curves(results, self.profile.name)
        last = self.notes.get("last", {})
        return environment.get_template("report.html").render(
            version=__version__,
            profile=self.profile,
            folder=self.folder.name,
            cards=self.cards,
            alt=_alt,
            by_id={v.claim.id: v for v in found},
            changes=_changes(found),
            sections=sections,
            groups={t: [v for v in found if v.claim.kind == kind] for kind, t in TITLES.items()},
            settings=[s for s in SETTINGS if any(s in v.findings for v in found)],
            setting_words=SETTING_WORDS,
            meanings={name: word.meaning for name, word in WORDS.items()},
            words_used={v.word for v in found},
            bottom_line=judge.bottom_line(found) if found else [],
            counts=judge.counts(found),
            group_names=TITLES,
            missing=list(dict.fromkeys(x for name in EXHIBITS for x in results.stand_ins(name))),
            took=in_words(last) if "elapsed" in last else "",
            by_figure=_by_figure(curves),
            curves=curves,
            versions=_versions(results),
            pieces=pieces,
            proofs=self._proofs(),
            charts=_packed(charts),
            plotly=_packed(get_plotlyjs()),
        )

    def _proofs(self) -> dict[str, str]:
        """Where the pages with proofs are, relative to the report, if it lies in a clone."""
        pages = {v.claim.proof for v in self.verdicts}
        pages |= {change.proof for v in self.verdicts for change in v.claim.changes}
        clone = self.folder.resolve().parent
        return {page: f"../{page}" for page in pages if page and (clone / page).is_file()}

    def _section(self, exhibit: Exhibit) -> Json:
        settings = self.results.settings(exhibit.label)
        return {
            "exhibit": exhibit,
            "name": "" if exhibit.ours else _numbered(exhibit.alias),
            "first": next((s for s in SHOWN_FIRST if s in settings), ""),
            "caption": exhibit.caption(self.profile),
            "pictures": self.pictures[exhibit.label],
            "settings": settings,
            "verdicts": [v for v in self.verdicts if v.figure == exhibit.label],
        }


def _packed(text: str) -> str:
    """Text for the page, a third as long: gzip, in base64; the same text gives the same bytes."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _numbered(alias: str) -> str:
    """
    >>> _numbered("fig5"), _numbered("table1")
    ('Figure 5', 'Table 1')
    """
    return alias.replace("fig", "Figure ").replace("table", "Table ")


def _alt(picture: Picture) -> str:
    """What the picture shows, in words."""
    if not picture.panels:
        return picture.title
    names = picture.names
    panels = "; ".join(panel.title for panel in picture.panels)
    if names:
        lines = f" Lines: {', '.join(names)}."
    else:
        lines = ""
    return f"{picture.title}. {len(picture.panels)} panels: {panels}.{lines}"


def _changes(found: list[Verdict]) -> list[Json]:
    """What to change in the paper, in the order of its lines."""
    rows = [
        {"name": v.claim.source, "claim": v.claim.id, "word": v.word, "change": change}
        for v in found
        for change in v.claim.changes
    ]
    return sorted(rows, key=lambda row: int(row["change"].line))


def _curves(results: Results, profile: str) -> list[Json]:
    """A row for each curve or table: seeds, time, and the command that makes it again."""
    rows = []
    for (figure, setting), panels in results.figures.items():
        for panel, methods in panels.items():
            for method, seeds in methods.items():
                curve = "/".join([figure, setting, slug(panel), slug(method)])
                command = (
                    f"bocce reproduce {figure} --profile {profile} --setting {setting} --fresh "
                    f"--only {curve}/"
                )
                seconds = sum(float(seed.made.get("seconds", 0)) for seed in seeds.values())
                row = {"figure": figure, "curve": curve, "seeds": [*seeds], "seconds": seconds}
                rows.append(row | {"command": command})
    return rows


def _by_figure(curves: list[Json]) -> list[Json]:
    """How many cells each figure has and how long they took, the dearest first."""
    rows: dict[str, Json] = {}
    for curve in curves:
        row = rows.setdefault(curve["figure"], {"cells": 0, "seconds": 0.0})
        row["cells"] += len(curve["seeds"])
        row["seconds"] += curve["seconds"]
    found = [{"figure": figure} | row for figure, row in rows.items()]
    return sorted(found, key=lambda row: -row["seconds"])


def _versions(results: Results) -> dict[str, str]:
    """Every version that some cell was computed with."""
    found: dict[str, set[str]] = {}
    for outcome in results.outcomes.values():
        for name in outcome.made.keys() - {"written", "seconds"}:
            found.setdefault(name, set()).add(outcome.made[name])
    names = ("bocce", "python", "numpy", "scipy", "numba", "machine")
    return {name: ", ".join(sorted(found[name])) for name in names if name in found}


def judged(folder: Path, results: Results) -> tuple[list[Verdict], str]:
    """The verdicts, and claims.json as text; a profile that is too small gives none."""
    profile = runner.profile_of(folder)
    if profile.judges:
        found = judge.judge_all(results, profile)
    else:
        found = []
    return found, judge.as_json(found, profile.name, judge.bottom_line(found))
