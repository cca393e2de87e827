"""One HTML file that shows everything: claims, figures, tables and where they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import __version__
from .._atomic import atomic_write
from . import FIGURES, claims, pictures, runner
from .claims import Verdict
from .interactive import chart
from .pictures import Picture
from .results import Results
from .specs import PROFILES, Cell, Figure, Run, slug

AUTHORS_STEP = 2018e-6  # seconds a step of the released code takes (n = 8000, b = 7200)
ORDER = ("holds", "holds only under", "fails", "not evaluated")
SLUGS = {"holds": "holds", "holds only under": "partly", "fails": "fails"}


def write(folder: Path, results: Results, verdicts: list[Verdict]) -> Path:
    """report.html in ``folder``: self-contained, it needs no network."""
    path = folder / "report.html"
    with atomic_write(path) as stream:
        stream.write(render(folder, results, verdicts).encode())
    return path


def render(folder: Path, results: Results, verdicts: list[Verdict]) -> str:
    """The page as text. Everything that is not ours to write is escaped."""
    from jinja2 import Environment, PackageLoader
    from plotly.offline import get_plotlyjs

    noted = runner.noted(folder)
    environment = Environment(
        loader=PackageLoader("bocce.paper", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = lambda word: SLUGS.get(word, "open")
    figures = [_section(results, FIGURES[label], verdicts) for label in noted["figures"]]
    return environment.get_template("report.html").render(
        version=__version__,
        profile=PROFILES[noted["profile"]],
        folder=folder.name,
        sections=figures,
        verdicts=verdicts,
        counts=_counts(verdicts),
        times=_times(results, runner.held_cells(folder)),
        rows=_provenance(results, noted["profile"]),
        versions=_versions(results),
        charts=json.dumps(_charts(figures), separators=(",", ":")).replace("<", "\\u003c"),
        plotly=get_plotlyjs(),
    )


def _counts(verdicts: list[Verdict]) -> dict[str, int]:
    """How many of the paper's claims hold; ours are not among them."""
    words = [verdict.kind for verdict in verdicts if not verdict.claim.ours]
    return {word: words.count(word) for word in ORDER if word in words}


def _section(results: Results, figure: Figure, verdicts: list[Verdict]) -> dict[str, Any]:
    drawn = pictures.pictures(results, figure)
    return {
        "figure": figure,
        "pictures": [{"picture": p, "alt": _alt(p)} for p in drawn],
        "verdicts": [verdict for verdict in verdicts if verdict.claim.figure == figure.label],
    }


def _alt(picture: Picture) -> str:
    """What the picture shows, in words."""
    if picture.grid is not None or not picture.panels:
        return picture.title
    names = pictures.names_of(picture)
    panels = "; ".join(panel.title for panel in picture.panels)
    lines = f" Lines: {', '.join(names)}." if names else ""
    return f"{picture.title}. {len(picture.panels)} panels: {panels}.{lines}"


def _charts(sections: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        entry["picture"].name: chart(entry["picture"])
        for section in sections
        for entry in section["pictures"]
        if entry["picture"].panels and not _wordy(entry["picture"])
    }


def _wordy(picture: Picture) -> bool:
    return len(picture.panels) == 1 and bool(picture.panels[0].words)


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
    verdicts = claims.judge_all(results)
    profile = runner.noted(folder)["profile"]
    with atomic_write(folder / "claims.json") as stream:
        stream.write(claims.as_json(verdicts, profile).encode() + b"\n")
    return verdicts, write(folder, results, verdicts)


def draw(folder: Path, results: Results, figures: list[Figure], jobs: int = 1) -> None:
    """The figures as PNG and PDF."""
    from .draw import save

    drawn = [p for figure in figures for p in pictures.pictures(results, figure)]
    drawn.sort(key=lambda picture: -len(picture.panels))
    if jobs == 1:
        for picture in drawn:
            save(picture, folder / "figures")
        return
    from joblib import Parallel, delayed

    Parallel(n_jobs=jobs)(delayed(save)(picture, folder / "figures") for picture in drawn)
