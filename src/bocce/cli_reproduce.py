"""``bocce reproduce``, ``report`` and ``claims``: the paper's figures and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ._terminal import bar, say, show_json, show_table

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that `bocce reproduce` filled.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMES]",
            help="Figures by the paper's label or number (shb_quad, fig3, table1, auto), or all.",
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
    """Reproduce the paper: run what is not stored yet, then write claims, figures and a report.

    A run that was stopped goes on where it was; the numbers do not depend on --jobs.
    """
    from ._checks import integer
    from .experiments import chosen, report, runner, store
    from .experiments.specs import PROFILES, SETTINGS

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
    with bar("starting", 100) as progress:
        results = runner.reproduce(
            out,
            figures,
            PROFILES[profile],
            settings,
            workers,
            fresh,
            only,
            _shown_on(progress),
            backend,
        )
    if only:
        say(f"computed {len(planned)} cells below {out / 'cells'}; bocce report {out} shows them")
        return
    every = runner.load(out)
    report.draw(out, every, figures, workers)
    verdicts, page = report.publish(out, every)
    if json:
        summary = {"profile": profile, "cells": len(results.outcomes), "report": str(page)}
        show_json(summary | {"verdicts": {v.claim.name: v.word for v in verdicts}})
        return
    _show_verdicts(verdicts)
    say(f"wrote {page}, {out / 'claims.json'} and {out / 'figures'}")


def _shown_on(progress: Any) -> Any:
    def show(what: str, share: float) -> None:
        if progress is not None:
            progress.update(progress.task_ids[0], completed=share, description=what)

    return show


def _show_verdicts(verdicts: list[Any]) -> None:
    show_table(
        ("claim", "verdict"),
        [(v.claim.name + " (ours)" * v.claim.ours, v.word) for v in verdicts],
    )


def report(folder: Folder, json: Json = False) -> None:
    """Write report.html and claims.json of DIR again, from what is stored there."""
    from .experiments import report as reports
    from .experiments import runner

    _, page = reports.publish(folder, runner.load(folder))
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
    """Judge every claim on the results in DIR. The same results print the same bytes."""
    from .experiments import claims as judged
    from .experiments import runner

    verdicts = judged.judge_all(runner.load(folder))
    if json:
        say(judged.as_json(verdicts, runner.noted(folder)["profile"]))
    elif markdown:
        say(judged.as_markdown(verdicts))
    else:
        _show_verdicts(verdicts)
