"""The command ``bocce``. Heavy imports happen inside the commands, so that help comes at once."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import claims, doctor, report, reproduce, solve, theory
from ._options import Json
from ._terminal import Commands, say, show_json, show_table

HELP = """
Stochastic heavy-ball momentum that tunes itself, for least squares and logistic regression; the
theory of which batch size it needs; and the paper's experiments, made again.

\b
Begin with:
  bocce plan FILE          which method, batch and step FILE asks for, and why
  bocce solve FILE         minimise: batch, step and momentum are chosen
  bocce reproduce fig3     a figure of the paper, and its claims judged

FILE is LIBSVM text, .csv (target last), .npz (X, y) or a block file; or the name of a LIBSVM data
set, which is fetched when it is not here (`bocce doctor` lists them).

\b
Examples:
  bocce plan mushrooms --l2 0.01
  bocce solve train.csv --loss logistic --l2 0.001 --out fit
  bocce theory -n 10000 --kappa 200 -b 9000
  bocce COMMAND --help     the options of a command, with examples

Exit codes: 0 success, 1 the run diverged, 2 bad input, 3 a defect of bocce, 130 interrupted; what
is wrong is said on stderr.
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


def methods(json: Json = False) -> None:
    """List the methods, and the constants they need.

    \b
    Examples:
      bocce methods
      bocce methods --json
    """
    from ..solve import registry

    known = registry()
    if json:
        show_json(
            [{"name": m.name, "summary": m.summary, "needs": m.needs} for m in known.values()]
        )
        return
    rows = [(m.name, m.summary, ", ".join(m.needs)) for m in known.values()]
    show_table(("method", "what it is", "needs"), rows)


for command in (
    solve.plan,
    solve.solve,
    theory.theory,
    methods,
    reproduce.reproduce,
    report.report,
    claims.claims,
    doctor.doctor,
):
    app.command()(command)
