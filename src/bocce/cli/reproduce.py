"""``bocce reproduce``, ``report`` and ``claims``: the paper's figures and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ._options import Json
from ._terminal import progress, resumable, say, show_json, show_table

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that `bocce reproduce` filled.")
]


def _figures(incomplete: str) -> list[tuple[str, str]]:
    from ..paper import FIGURES

    titles = {"all": "every figure"}
    for figure in FIGURES.values():
        titles |= {figure.label: figure.title, figure.alias: figure.title}
    return [(name, title) for name, title in titles.items() if name.startswith(incomplete)]


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMES]",
            help="Figures by the paper's label or number (shb_quad, fig3, table1, auto), or all.",
            autocompletion=_figures,
        ),
    ] = None,
    profile: Annotated[
        Literal["quick", "full"], typer.Option(help="A small experiment, or the paper's sizes.")
    ] = "quick",
    setting: Annotated[
        Literal["paper", "authors", "both"],
        typer.Option(help="The paper's words, what the released code does, or both."),
    ] = "both",
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results"),
    jobs: Annotated[
        int | None, typer.Option(help="Processes; all processors if not given.")
    ] = None,
    backend: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Processes here, or a Ray cluster that shares the folder."),
    ] = "local",
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what is stored.")] = False,
    only: Annotated[
        str, typer.Option(help="Compute only cells whose path begins so; then stop.")
    ] = "",
    json: Json = False,
) -> None:
    """Reproduce figures of the paper, and judge its claims.

    Runs what is not stored yet, then writes claims, figures and a report. A run that was stopped
    goes on where it was; the numbers do not depend on --jobs.

    \b
    Examples:
      bocce reproduce fig3                    one figure, at a small size
      bocce reproduce all --profile full      everything, at the paper's sizes
      bocce reproduce fig4 --setting paper --out elsewhere
    """
    from .._checks import integer
    from ..paper import chosen, report, runner, store
    from ..paper.specs import PROFILES, SETTINGS

    figures = chosen(names or ["all"])
    workers = runner.default_jobs() if jobs is None else integer("reproduce", "--jobs", jobs)
    settings = SETTINGS if setting == "both" else (setting,)
    store.require_extras()
    planned = runner.planned(figures, settings, PROFILES[profile], only)
    if not planned:
        raise ValueError(
            f"reproduce: no cell of these figures begins with --only {only!r}; the report lists "
            "the paths."
        )
    with resumable(out), progress("starting", 100) as tell:
        results = runner.reproduce(
            out,
            figures,
            PROFILES[profile],
            settings,
            jobs=workers,
            fresh=fresh,
            only=only,
            tell=tell,
            backend=backend,
        )
    if only:
        say(f"computed {len(planned)} cells below {out / 'cells'}; bocce report {out} shows them")
        return
    with resumable(out), progress("reading the cells") as tell:
        every = runner.load(out)
        tell("drawing the figures")
        report.draw(out, every, figures, workers)
        tell("judging the claims, writing the report")
        verdicts, page = report.publish(out, every)
    if json:
        summary = {"profile": profile, "cells": len(results.outcomes), "report": str(page)}
        show_json(summary | {"verdicts": {v.claim.name: v.word for v in verdicts}})
        return
    _show_verdicts(verdicts)
    say(f"wrote {page}; claims.json and figures/ are beside it")


def _show_verdicts(verdicts: list[Any]) -> None:
    show_table(
        ("claim", "verdict"),
        [(v.claim.name + " (ours)" * v.claim.ours, v.word) for v in verdicts],
    )


def report(folder: Folder, json: Json = False) -> None:
    """Write report.html and claims.json of DIR again.

    They are made from what is stored there; nothing is run.

    \b
    Examples:
      bocce report results
    """
    from ..paper import report as reports
    from ..paper import runner

    with progress("reading the cells") as tell:
        results = runner.load(folder)
        tell("judging the claims, writing the report")
        _, page = reports.publish(folder, results)
    if json:
        show_json({"report": str(page)})
    else:
        say(f"wrote {page}")


def claims(
    folder: Folder,
    json: Json = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table of docs/reproduction.md.")
    ] = False,
) -> None:
    """Judge every claim on the results in DIR.

    The same results print the same bytes.

    \b
    Examples:
      bocce claims results
      bocce claims results --json > claims.json
    """
    from ..paper import claims as judged
    from ..paper import runner

    with progress("reading the cells") as tell:
        results = runner.load(folder)
        tell("judging the claims")
        verdicts = judged.judge_all(results)
    if json:
        say(judged.as_json(verdicts, runner.noted(folder)["profile"]))
    elif markdown:
        say(judged.as_markdown(verdicts))
    else:
        _show_verdicts(verdicts)
