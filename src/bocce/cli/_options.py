"""The options of the commands; several commands share a group."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import typer

FILES = (
    "A table of numbers, whose target may hold labels: Parquet, Arrow, CSV, LIBSVM text, NPZ "
    "(X, y) or NPY; or the name of a LIBSVM data set, such as mushrooms."
)
WORKERS = 2  # Ray workers where their number is not given


def _data_sets(incomplete: str) -> list[str]:
    """Names that the word may become; of an empty one the shell lists files."""
    return [name for name in known_sets() if incomplete and name.startswith(incomplete)]


def known_sets() -> tuple[str, ...]:
    from ..data import libsvm

    return *libsvm.KNOWN, *libsvm.ALIASES


def _losses(incomplete: str) -> list[str]:
    from ..losses import REGISTRY

    return [name for name in REGISTRY if name.startswith(incomplete)]


def _methods(incomplete: str) -> list[tuple[str, str]]:
    from ..control import registry

    known = registry().values()
    return [(m.name, m.summary) for m in known if m.name.startswith(incomplete)]


def _batch_size(text: str) -> int | float:
    """Rows if it is a whole number, otherwise a share of n."""
    try:
        return int(text) if text.strip("+-").isdigit() else float(text)
    except ValueError:
        raise ValueError(f"{text!r} must be rows, such as 100, or a share, such as 0.9") from None


def _tolerance(tol: str) -> float | str:
    if tol == "auto":
        return tol
    try:
        return float(tol)
    except ValueError:
        raise ValueError(f"{tol!r} must be a number, such as 1e-6, or auto") from None


File = Annotated[
    str, typer.Argument(metavar="FILE", help=FILES, autocompletion=_data_sets, show_default=False)
]
OptionalFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]",
        help="Data that give n and the constants, in any format of solve.",
        autocompletion=_data_sets,
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The loss function: squared, logistic, huber, ... Default: squared for numbers, "
        "logistic for two labels, softmax for more labels.",
        autocompletion=_losses,
        show_default=False,
    ),
]
Plot = Annotated[
    Path | None, typer.Option(help="Write a picture to this file: .png, .svg or .pdf.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def not_default(options: Any) -> list[str]:
    """The options of a group that have another value than their default."""
    usual = options._field_defaults
    changed = [(name, value) for name, value in options._asdict().items() if value != usual[name]]
    return [f"--no-{name}" if value is False else f"--{name}" for name, value in changed]


class Reading(NamedTuple):
    """Options of every command that reads a table."""

    target: Annotated[
        str | None,
        typer.Option(help="The column to predict, by name or number; the last if not given."),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="The columns to predict from, by name or number; all others if not given.",
        ),
    ] = None
    exclude: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Columns to leave out, by name or number."),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="A column of weights: a row of weight k counts as k rows."
        ),
    ] = None
    offset: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="A column that is added to the scores, such as the log of the exposure of counts.",
        ),
    ] = None

    def given(self) -> list[str]:
        return not_default(self)


class ModelOptions(NamedTuple):
    """Options of the objective."""

    loss: Loss = None
    l2: Annotated[
        float,
        typer.Option(
            help="Penalty: l2/2 ||w||^2 is added to the loss, w for the standardised columns."
        ),
    ] = 0.0
    intercept: Annotated[
        bool,
        typer.Option("--intercept/--no-intercept", help="Fit an intercept, without penalty."),
    ] = True
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize/--no-standardize",
            help="Divide columns by their standard deviation, and centre them where there is an "
            "intercept. Coefficients are printed in the units of FILE.",
        ),
    ] = True


class Steps(NamedTuple):
    """Options of a run, of `bocce plan` and `bocce solve`."""

    method: Annotated[
        str,
        typer.Option(help="The method, by a name of `bocce methods`.", autocompletion=_methods),
    ] = "auto"
    steps: Annotated[
        int | None, typer.Option("--steps", "-T", help="Number of steps; chosen if not given.")
    ] = None
    batch_size: Annotated[
        Any,
        typer.Option(
            parser=_batch_size,
            metavar="ROWS|SHARE",
            help="Rows in a batch (100) or a share of all rows (0.9); chosen if not given.",
        ),
    ] = None
    tol: Annotated[
        Any,
        typer.Option(
            parser=_tolerance,
            metavar="TOL|auto",
            help="Stop when the gradient norm is tol times the first one; 0 never stops; auto: "
            "when coefficients are certain. Default 1e-6, or 0 with --steps.",
            show_default=False,
        ),
    ] = None
    passes: Annotated[
        float | None,
        typer.Option(help="The largest number of passes over the data; only without --steps."),
    ] = None


class Printing(NamedTuple):
    """Options of what is printed of a result."""

    errors: Annotated[
        Literal["model", "sandwich"] | None,
        typer.Option(
            help="Print standard errors of all coefficients, from the loss's probability model or "
            "robust against a wrong model (sandwich). Default: model, up to 40 coefficients."
        ),
    ] = None


class Drawing(NamedTuple):
    """Options of the batches of a run."""

    seed: Annotated[int, typer.Option(help="Seed of the batches.")] = 0
    sampling: Annotated[
        Literal["independent", "reshuffle"], typer.Option(help="How batches are drawn.")
    ] = "independent"


class Saving(NamedTuple):
    """Options of what a run leaves behind."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the run here, and resume from this file if it exists."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(help="Write OUT.npz (weights and history) and OUT.json (the summary)."),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False


class Cluster(NamedTuple):
    """Options of a run on several machines."""

    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Ray cluster: its address, auto, or local to start one.",
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option(help=f"Number of workers of --ray; {WORKERS} if not given.")
    ] = None


GROUPS = (Reading, ModelOptions, Steps, Printing, Drawing, Saving, Cluster)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes the options of `GROUPS` one by one, where ``command`` takes groups.

    Typer reads the options of a command from its signature, so commands that share twenty options
    would repeat twenty parameters.
    """
    own = inspect.signature(command, eval_str=True).parameters
    groups = {name: p.annotation for name, p in own.items() if p.annotation in GROUPS}
    options: list[inspect.Parameter] = []
    for name, parameter in own.items():
        if name in groups:
            hints = get_type_hints(groups[name], include_extras=True)
        else:
            hints = {}
        options += [
            parameter.replace(
                name=field, annotation=hint, default=groups[name]._field_defaults[field]
            )
            for field, hint in hints.items()
        ] or [parameter]

    @functools.wraps(command)
    def taking_options(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(*(given.pop(field) for field in group._fields))
        command(**given)

    keywords = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    vars(taking_options)["__signature__"] = inspect.Signature(keywords)
    return taking_options


def check_loss(command: str, model: ModelOptions, method: str = "auto") -> None:
    """Raise, before any work, if there is no such loss, or the method cannot run on it."""
    from .._checks import choice
    from ..control import registry
    from ..losses import loss_of
    from ..run.controllers import check_strong_convexity

    choice(command, "method", method, registry())
    if model.loss is not None:
        loss = loss_of(command, model.loss)
        check_strong_convexity(command, registry()[method], loss, model.l2)
