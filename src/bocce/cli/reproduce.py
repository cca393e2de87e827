"""``bocce reproduce``: the paper's figures, reproduced and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ._options import Json
from ._terminal import fill, progress, resumable, say, show_json, show_table
from .claims import show_verdicts


def _figures(incomplete: str) -> list[tuple[str, str]]:
    from ..paper import EXHIBITS

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
      bocce reproduce fig3 --method mine:method  adds your method (mine.py)
    """
    from .._checks import integer
    from ..paper import chosen, own, report, runner, store
    from ..paper.specs import PROFILES, SETTINGS
    from ..paper.stopwatch import Stopwatch

    figures = chosen(names or ["all"])
    workers = runner.default_jobs() if jobs is None else integer("reproduce", "--jobs", jobs)
    settings = SETTINGS if setting == "all" else (setting,)
    size = PROFILES[profile]
    watch = Stopwatch(workers)
    store.require_extras()
    plan = runner.plan(out, figures, size, settings, only)
    if not plan.cells:
        raise ValueError(
            f"reproduce: no cell of these figures begins with --only {only!r}; the report lists "
            "the paths."
        )
    mine = None if method is None else own.load(method)
    places = [] if mine is None else own.judged(plan.cells)
    if not json:
        say(fill(report.sizes(size, len(plan.cells), workers)) + "\n")
    with resumable(out), progress("starting", 100, left=True) as tell:
        results = runner.reproduce(plan, workers, fresh, tell, backend)
    if only:
        say(
            f"computed {len(plan.cells)} cells below {out / 'cells'}; bocce report {out} shows them"
        )
        return
    with resumable(out), progress("judging the claims") as tell:
        page = report.Page(out, results)
        tell("drawing the figures")
        page.draw(figures, workers)
        tell("writing the report")
        runner.note_time(out, watch.read())  # for the page; the end is noted below
        path = page.publish()
        took = runner.note_time(out, watch.read())
    ends: list[tuple[str, ...]] = []
    drawn: list[Path] = []
    if mine is not None:
        with progress(f"drawing {mine.name} beside the paper's methods"):
            beside = own.with_method(results, places, mine)
            ends = own.compared(beside, places, mine)
            for figure in figures:
                drawn += own.draw(beside, figure, mine, out / "figures")
    if json:
        summary: dict[str, Any] = {
            "profile": profile,
            "cells": len(plan.cells),
            "report": str(path),
        }
        summary["last"] = runner.noted(out)["last"]
        if mine is not None:
            summary["method"] = {"name": mine.name, "ends": ends, "wrote": list(map(str, drawn))}
        show_json(summary | {"verdicts": {v.claim.id: v.word for v in page.verdicts}})
        return
    if size.judges:
        show_verdicts(page.verdicts)
    if mine is not None:
        say(f"\n{mine.name} at T, in root mean square of the gradient's norm (exact):")
        show_table(("setting", "panel", mine.name, "best other", "which"), ends, whole=(2, 3))
        say(f"wrote {' and '.join(map(str, drawn))}")
    for label in (figure.label for figure in figures):
        for words in results.stand_ins(label):
            say(f"{label}: {words}")
    say(f"wrote {path}; {'claims.json and ' * size.judges}figures/ are beside it")
    say(took)
