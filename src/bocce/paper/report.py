"""One HTML file that shows everything: claims, figures, tables and where they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import __version__
from .._atomic import atomic_write
from . import EXHIBITS, judge, runner, verdicts
from .canvas import Picture, names_of
from .exhibit import Exhibit
from .interactive import chart
from .results import Results
from .specs import PROFILES, SETTINGS, Cell, Profile, Run, slug
from .stopwatch import in_words
from .verdicts import Verdict

AUTHORS_STEP = 2018e-6  # seconds a step of the released code takes (n = 8000, b = 7200)
COLOURS = {  # classes of the page's style sheet
    "holds": "holds",
    "proved": "holds",
    "true-where-tested": "holds",
    "mostly": "mostly",
    "mixed": "partly",
    "mostly-not": "rarely",
    "fails": "fails",
}
GROUPS = verdicts.TITLES


def write(folder: Path, results: Results, found: list[Verdict]) -> Path:
    """report.html in ``folder``: self-contained, it needs no network."""
    path = folder / "report.html"
    with atomic_write(path) as stream:
        stream.write(render(folder, results, found).encode())
    return path


def render(folder: Path, results: Results, found: list[Verdict]) -> str:
    """The page as text. Everything that is not ours to write is escaped."""
    from jinja2 import Environment, PackageLoader
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    noted = runner.noted(folder)
    profile = PROFILES[noted["profile"]]
    environment = Environment(
        loader=PackageLoader("bocce.paper", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = lambda word: COLOURS.get(word, "open")
    sections = [_section(results, EXHIBITS[label], found, profile) for label in noted["figures"]]
    return environment.get_template("report.html").render(
        version=__version__,
        profile=profile,
        folder=folder.name,
        sections=sections,
        groups=_groups(found),
        settings=[s for s in SETTINGS if any(s in v.findings for v in found)],
        bottom_line=judge.bottom_line(found),
        counts=verdicts.counts(found),
        group_names=GROUPS,
        missing=_missing(results),
        times=_times(results, runner.held_cells(folder)),
        took=in_words(noted["last"]) if "elapsed" in noted.get("last", {}) else "",
        by_figure=_by_figure(results),
        rows=_provenance(results, noted["profile"]),
        versions=_versions(results),
        charts=json.dumps(_charts(sections), separators=(",", ":")).replace("<", "\\u003c"),
        plotly=get_plotlyjs(),
    )


def _groups(found: list[Verdict]) -> dict[str, list[Verdict]]:
    """Observations, statements and ours, each in the paper's order."""
    return {title: [v for v in found if v.claim.kind == kind] for kind, title in GROUPS.items()}


def _missing(results: Results) -> list[str]:
    """Data that could not be had, or that others stand in for."""
    said = [text for label in EXHIBITS for text in results.stand_ins(label)]
    return list(dict.fromkeys(said))


def _section(
    results: Results, exhibit: Exhibit, found: list[Verdict], profile: Profile
) -> dict[str, Any]:
    drawn = pictures(results, exhibit)
    return {
        "exhibit": exhibit,
        "caption": exhibit.caption(profile),
        "pictures": [{"picture": p, "alt": _alt(p)} for p in drawn],
        "verdicts": [verdict for verdict in found if verdict.figure == exhibit.label],
    }


def pictures(results: Results, exhibit: Exhibit) -> list[Picture]:
    """One picture for each setting of an exhibit that was run."""
    return [exhibit.picture(results, setting) for setting in results.settings(exhibit.label)]


def _alt(picture: Picture) -> str:
    """What the picture shows, in words."""
    if not picture.panels:
        return picture.title
    names = names_of(picture)
    panels = "; ".join(panel.title for panel in picture.panels)
    lines = f" Lines: {', '.join(names)}." if names else ""
    return f"{picture.title}. {len(picture.panels)} panels: {panels}.{lines}"


def _charts(sections: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        entry["picture"].name: chart(entry["picture"])
        for section in sections
        for entry in section["pictures"]
        if entry["picture"].panels
    }


def _times(results: Results, cells: list[Cell]) -> dict[str, float]:
    """Seconds of all cells, and what the released code would take for its share of them."""
    seconds = sum(float(entry["seconds"]) for entry in results.provenance.values())
    sampled, theirs = 0.0, 0.0
    for cell in cells:
        job = cell.job
        if isinstance(job, Run) and cell.seed.isdigit() and job.data.source == "regression":
            sampled += float(results.provenance[cell.key]["seconds"])
            theirs += AUTHORS_STEP * job.T
    ratio = theirs / sampled if sampled else 0.0
    return {"cells": seconds, "sampled": sampled, "theirs": theirs, "ratio": ratio}


def _by_figure(results: Results) -> list[dict[str, Any]]:
    """How many cells each figure has and how long they took, the dearest first."""
    rows: dict[str, dict[str, Any]] = {}
    for key, entry in results.provenance.items():
        row = rows.setdefault(key[0], {"figure": key[0], "cells": 0, "seconds": 0.0})
        row["cells"] += 1
        row["seconds"] += float(entry["seconds"])
    return sorted(rows.values(), key=lambda row: -row["seconds"])


def _versions(results: Results) -> dict[str, str]:
    """Every version that some cell was computed with."""
    entries = list(results.provenance.values())
    if not entries:
        return {}
    names = ("bocce", "python", "numpy", "scipy", "numba", "machine")
    found = {name: sorted({entry[name] for entry in entries}) for name in names}
    return {name: ", ".join(values) for name, values in found.items()}


def _provenance(results: Results, profile: str) -> list[dict[str, str]]:
    """A row for each curve: seeds, time, and the command that makes it again."""
    rows: dict[str, dict[str, Any]] = {}
    for (figure, setting, panel, method, seed), entry in results.provenance.items():
        curve = "/".join([figure, setting, slug(panel), slug(method)])
        row = rows.setdefault(curve, {"curve": curve, "seeds": [], "seconds": 0.0})
        row["seeds"].append(seed)
        row["seconds"] += float(entry["seconds"])
    return [
        {
            "curve": row["curve"],
            "seeds": ", ".join(row["seeds"]),
            "seconds": f"{row['seconds']:.2f}",
            "command": f"bocce reproduce {row['curve'].split('/')[0]} --profile {profile} "
            f"--setting {row['curve'].split('/')[1]} --fresh --only {row['curve']}/",
        }
        for row in rows.values()
    ]


def publish(folder: Path, results: Results) -> tuple[list[Verdict], Path]:
    """claims.json and the report, of all that the folder holds."""
    found, text = judged(folder, results)
    with atomic_write(folder / "claims.json") as stream:
        stream.write(text.encode() + b"\n")
    return found, write(folder, results, found)


def judged(folder: Path, results: Results) -> tuple[list[Verdict], str]:
    """The verdicts, and claims.json as text."""
    profile = PROFILES[runner.noted(folder)["profile"]]
    found = judge.judge_all(results, profile)
    return found, verdicts.as_json(found, profile.name, judge.bottom_line(found))


def draw(folder: Path, results: Results, exhibits: list[Exhibit], jobs: int = 1) -> None:
    """The figures as PNG and PDF."""
    from .draw import save

    drawn = [p for exhibit in exhibits for p in pictures(results, exhibit)]
    drawn.sort(key=lambda picture: -len(picture.panels))
    if jobs == 1:
        for picture in drawn:
            save(picture, folder / "figures")
        return
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    Parallel(n_jobs=jobs)(delayed(save)(picture, folder / "figures") for picture in drawn)
