"""``bocce reproduce``: the paper's figures, reproduced and judged."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bocce.cli.commands import (
    Json,
    fill,
    integer,
    progress,
    resumable,
    say,
    show_json,
    show_table,
)

from .claims import show_verdicts

if TYPE_CHECKING:
    from bocce.schedules import Method

    from ..results import Results
    from ..specs import Profile


def _figures(incomplete: str) -> list[tuple[str, str]]:
    from ..exhibits import EXHIBITS

    titles = {"all": "every figure"}
    for exhibit in EXHIBITS.values():
        titles |= {exhibit.label: exhibit.title, exhibit.alias: exhibit.title}
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
        Literal["paper", "smoke"],
        typer.Option(help="The paper's own sizes; or a smoke test that judges nothing."),
    ] = "paper",
    setting: Annotated[
        Literal["paper", "released-rows", "authors", "published", "all"],
        typer.Option(
            metavar="NAME",
            help="paper (its words), released-rows (its methods on the rows of the released code), "
            "authors (the released code), published (the panel in its notebook), or all.",
        ),
    ] = "all",
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results"),
    jobs: Annotated[
        int | None, typer.Option(help="Processes; all processors if not given.")
    ] = None,
    backend: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Processes here, or a Ray cluster that shares the folder."),
    ] = "local",
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what is stored.")] = False,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Add your own method: a function of T, L, mu, ... that returns a Schedule.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Show the methods of fig3 on your own rows instead: a table of numbers.",
        ),
    ] = None,
    only: Annotated[
        str, typer.Option(help="Compute only cells whose path begins with this text; then stop.")
    ] = "",
    json: Json = False,
) -> None:
    """Reproduce figures of the paper, and judge its claims.

    Runs what is not stored yet, at the paper's own sizes, then writes claims, figures and a
    report. A stopped run resumes where it was; the numbers do not depend on --jobs.

    \b
    Examples:
      bocce reproduce                         every figure and table
      bocce reproduce fig3                    one figure
      bocce reproduce fig4 --setting paper --out elsewhere
      bocce reproduce fig3 --method bocce_paper.own:cosine
                                              adds a method: of your own, too
      bocce reproduce fig3 --data examples/people.csv
                                              the same methods on your rows
    """
    from .. import own, report, runner
    from ..exhibits import EXHIBITS, chosen
    from ..specs import PROFILES, SETTINGS
    from ..stopwatch import Stopwatch

    _check_out(out)
    figures = chosen(names or ["all"])
    if jobs is None:
        workers = runner.default_jobs()
    else:
        workers = integer("reproduce", "--jobs", jobs)
    settings = SETTINGS if setting == "all" else (setting,)
    size = PROFILES[profile]
    mine = None if method is None else own.load(method)
    if data is not None:
        _on_own_rows(data, [figure.label for figure in figures], mine, size, out, json)
        return
    watch = Stopwatch(workers)
    plan = runner.plan(out, figures, size, settings, only)
    if not plan.cells:
        raise ValueError(
            f"reproduce: no cell of these figures begins with --only {only!r}; the report lists "
            "the paths."
        )
    places = []
    if mine is not None:
        places = own.judged(plan.cells)
        mine = own.named(mine, places[0])
    if not json:
        say(fill(report.sizes(size, len(plan.cells), workers)) + "\n")
    with resumable(out), progress("starting", 100, left=True) as show_progress:
        results = runner.reproduce(plan, workers, fresh, show_progress, backend)
    if only:
        say(
            f"computed {len(plan.cells)} cells below {out / 'cells'}; bocce report {out} shows them"
        )
        return
    with resumable(out), progress("judging the claims") as show_progress:
        page = report.Page(out, results)
        show_progress("drawing the figures")
        page.draw(figures, workers)
        show_progress("writing the report")
        runner.note_time(out, watch.read())  # for the page; the end is written below
        path = page.publish()
        took = runner.note_time(out, watch.read())
    ends: list[tuple[str, ...]] = []
    shown: list[Method] = []
    drawn: list[Path] = []
    if mine is not None:
        with progress(f"drawing {mine.name} beside the paper's methods"):
            shown = own.with_besides(mine)
            beside = results
            for each in shown:
                beside = own.with_method(beside, places, each)
            ends = own.compared(beside, places, shown)
            for figure in figures:
                drawn += own.draw(beside, figure, mine, out / "figures")
    if json:
        summary: dict[str, Any] = {
            "profile": profile,
            "cells": len(plan.cells),
            "report": str(path),
        }
        summary["last"] = runner.notes_of(out)["last"]
        if mine is not None:
            summary["method"] = {"name": mine.name, "ends": ends, "wrote": list(map(str, drawn))}
        show_json(summary | {"verdicts": {v.claim.id: v.word for v in page.verdicts}})
        return
    if size.judges:
        show_verdicts(page.verdicts)
        if len(page.pictures) < len(EXHIBITS) or setting != "all":
            say(fill(_judged_on(page.pictures, results, size)))
    if mine is not None:
        say(f"\n{mine.name} at T, in root mean square of the gradient's norm (exact):")
        columns = ("setting", "panel", *(each.name for each in shown), "best other", "which")
        show_table(columns, ends, unbroken=tuple(range(2, 2 + len(shown) + 1)))
        say(f"wrote {' and '.join(map(str, drawn))}")
    for label in (figure.label for figure in figures):
        for words in results.stand_ins(label):
            say(f"{label}: {words}")
    say(f"wrote {path}; {'claims.json and ' * size.judges}figures/ are beside it")
    say(took)


def _check_out(out: Path) -> None:
    """Raise, before any work, if the results cannot be written into ``out``."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"reproduce: --out {str(out)!r} is a file, must be a folder.")
    there = next((folder for folder in (out, *out.absolute().parents) if folder.is_dir()), out)
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(
            f"reproduce: --out {str(out)!r} must be a folder that you may write to; choose another."
        )


def _judged_on(labels: Iterable[str], results: Results, size: Profile) -> str:
    """Which figures, settings and sizes the verdicts of a partial run are of."""
    held = {label: results.settings(label) for label in labels}
    figures = "; ".join(f"{label} ({', '.join(settings)})" for label, settings in held.items())
    return (
        f"These verdicts are of a part of the paper, in the settings named: {figures}; "
        f"n = {size.rows:,}, d = {size.columns}, and the paper's T."
    )


def _on_own_rows(
    file: str, labels: list[str], mine: Method | None, size: Profile, out: Path, json: bool
) -> None:
    """Figure 3 on the rows of a file: a picture, and where each method ends. Nothing is judged."""
    from .. import own
    from ..exhibits import EXHIBITS

    if labels != ["shb_quad"]:
        raise ValueError("reproduce: --data is for fig3; run bocce reproduce fig3 --data FILE.")
    with progress(f"the methods of figure 3 on {file}"):
        cells = own.rows_cells(file, size)
        if mine is not None:
            mine = own.named(mine, cells[0])
        results = own.on_rows(cells, own.with_besides(mine))
        drawn = own.draw_rows(results, EXHIBITS["shb_quad"], out / "figures")
    ends = own.ends_on_rows(results)
    if json:
        show_json({"ends": ends, "wrote": list(map(str, drawn))})
        return
    say(f"Gradient norm on {file}, at the start and after T steps with b = 0.9 n, best first:")
    show_table(("method", "start", "at T"), ends, unbroken=(0, 1, 2), right=(1, 2))
    say(f"wrote {' and '.join(map(str, drawn))}; own rows judge nothing about the paper")
