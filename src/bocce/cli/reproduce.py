"""``bocce reproduce``: the paper's figures, made again and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ._options import Json
from ._paper import show_verdicts
from ._terminal import progress, resumable, say, show_json, show_table


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
        Literal["quick", "full"], typer.Option(help="A small experiment, or the paper's sizes.")
    ] = "quick",
    setting: Annotated[
        Literal["paper", "authors", "published", "all"],
        typer.Option(help="The paper's words, the released code, its published panel, or all."),
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
            help="A method of your own beside the paper's: a function of T, L, mu, ... that "
            "returns a Schedule.",
        ),
    ] = None,
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
      bocce reproduce fig3 --method mine:method      yours, from mine.py, beside
    """
    from .._checks import integer
    from ..paper import chosen, own, report, runner, store
    from ..paper.specs import PROFILES, SETTINGS
    from ..paper.stopwatch import Stopwatch

    figures = chosen(names or ["all"])
    workers = runner.default_jobs() if jobs is None else integer("reproduce", "--jobs", jobs)
    settings = SETTINGS if setting == "all" else (setting,)
    watch = Stopwatch(workers)
    store.require_extras()
    planned = runner.planned(figures, settings, PROFILES[profile], only)
    if not planned:
        raise ValueError(
            f"reproduce: no cell of these figures begins with --only {only!r}; the report lists "
            "the paths."
        )
    mine = None if method is None else own.load(method)
    places = [] if mine is None else own.judged(planned)
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
        runner.note_time(out, watch.read())  # for the page; the end is noted below
        verdicts, page = report.publish(out, every)
        took = runner.note_time(out, watch.read())
    ends: list[tuple[str, ...]] = []
    drawn: list[Path] = []
    if mine is not None:
        with progress(f"drawing {mine.name} beside the paper's methods"):
            beside = own.with_method(every, places, mine)
            ends = own.compared(beside, places, mine)
            for figure in figures:
                drawn += own.draw(beside, figure, mine, out / "figures")
    if json:
        summary: dict[str, Any] = {
            "profile": profile,
            "cells": len(results.outcomes),
            "report": str(page),
        }
        summary["last"] = runner.noted(out)["last"]
        if mine is not None:
            summary["method"] = {"name": mine.name, "ends": ends, "wrote": list(map(str, drawn))}
        show_json(summary | {"verdicts": {v.claim.id: v.word for v in verdicts}})
        return
    show_verdicts(verdicts)
    if mine is not None:
        say(f"\n{mine.name} at T, in root mean square of the gradient's norm (exact):")
        show_table(("setting", "panel", mine.name, "best other", "which"), ends, whole=(2, 3))
        say(f"wrote {' and '.join(map(str, drawn))}")
    for label in (figure.label for figure in figures):
        for words in every.stand_ins(label):
            say(f"{label}: {words}")
    say(f"wrote {page}; claims.json and figures/ are beside it")
    say(took)
