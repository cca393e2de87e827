"""For packages that add commands to ``bocce``: what commands read, print and refuse with.

A package names its commands as entry points of the group ``bocce.commands``. An entry point is a
function that Typer reads; its name is that of the command. ``bocce_paper`` is an example.
"""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from .._atomic import atomic_write
from .._checks import choice, integer, real, refused
from ._data import choose_loss, problem_of, read
from ._options import Json, ModelOptions, OptionalFile, Plot, Reading, grouped
from ._options import _methods as complete_method
from ._terminal import (
    ELSEWHERE,
    check_plot,
    complain,
    fill,
    number,
    progress,
    resumable,
    save_figure,
    say,
    show_json,
    show_table,
)

__all__ = [
    "Json",
    "ModelOptions",
    "OptionalFile",
    "Plot",
    "Reading",
    "add_commands",
    "atomic_write",
    "check_plot",
    "choice",
    "choose_loss",
    "complain",
    "complete_method",
    "fill",
    "grouped",
    "integer",
    "number",
    "problem_of",
    "progress",
    "read",
    "real",
    "refused",
    "resumable",
    "save_figure",
    "say",
    "show_json",
    "show_table",
]

GROUP = "bocce.commands"


def add_commands(app: typer.Typer) -> None:
    """Add the commands of installed packages, the known ones in the order of `ELSEWHERE`.

    A package that cannot be imported costs its own commands only: a warning says so.
    """
    found = {point.name: point for point in entry_points(group=GROUP)}
    for name in sorted(found, key=lambda name: (*ELSEWHERE, name).index(name)):
        try:
            command = found[name].load()
        except Exception as error:  # whatever is wrong with a package, the other commands work
            complain("warning", f"the command {name} of {found[name].value} is broken: {error}")
        else:
            app.command(name)(command)
