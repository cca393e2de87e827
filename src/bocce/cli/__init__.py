"""The command ``bocce``. Heavy imports happen inside the commands, so that help comes at once."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import doctor, explore, methods, plan, solve
from ._terminal import Commands, say
from .commands import add_commands

HELP = """
bocce is stochastic heavy-ball momentum that tunes itself: it computes, exactly and for your data,
which batch, step and momentum to use, when a run diverges, and how far any schedule is from the
best.

\b
Begin with:
  bocce plan FILE          which batch, step and momentum, and why
  bocce explore            a page with sliders: how large must a batch be?
  bocce solve FILE         fit: least squares, or --loss logistic, huber, ...
  bocce reproduce fig3     make a figure of the paper and judge its claims

FILE is a table of numbers (CSV, Parquet, ...; the last column is predicted, or --target; labels
are classes), LIBSVM text or .npz (X, y); or the name of a LIBSVM data set: mushrooms comes with
bocce, others are downloaded (`bocce doctor` lists them).

\b
Examples:
  bocce plan examples/people.csv
  bocce solve mushrooms --l2 0.001 --out fit
  bocce theory -n 10000 --kappa 200 --ratio 30 -b 9000
  bocce COMMAND --help     the options of a command, with examples

Exit codes: 0 success, 1 the run diverged, 2 bad input, 3 the tolerance was not met, 4 a defect of
bocce, 130 interrupted. Error messages go to stderr.
"""

app = typer.Typer(
    cls=Commands,
    name="bocce",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help=HELP,
)


def main() -> None:
    """The entry point of the installed command."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"bocce {__version__}")
        raise typer.Exit


@app.callback()
def common(
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="BOCCE_DEBUG", help="Show tracebacks, with any command."),
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of every command; `Commands` reads ``debug``."""


for command in (
    plan.plan,
    solve.solve,
    explore.explore,
    methods.methods,
    doctor.doctor,
):
    app.command()(command)
add_commands(app)
