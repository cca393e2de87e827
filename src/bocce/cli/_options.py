"""What several commands ask for, in the same words, and how a FILE becomes a problem."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import typer

FILES = (
    "Parquet, Arrow, CSV or TSV (comma, semicolon or tab; with or without a header), LIBSVM text, "
    "NPZ (X, y) or a block file; or the name of a LIBSVM data set, such as mushrooms."
)


def _data_sets(incomplete: str) -> list[str]:
    """Names that the word may become; of an empty one the shell lists files."""
    return [name for name in _known_sets() if incomplete and name.startswith(incomplete)]


def _known_sets() -> tuple[str, ...]:
    from ..data import libsvm

    return (*libsvm.KNOWN, *libsvm.ALIASES)


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
        return int(text)
    except ValueError:
        return float(text)


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
Missing = Annotated[
    Literal["refuse", "drop"], typer.Option(help="What to do with rows that lack a value.")
]
Unknown = Annotated[
    Literal["refuse", "ignore"] | None,
    typer.Option(
        help="Whether `bocce predict` refuses categories that the fit has not seen, or takes 0 for "
        "all of theirs; refuse unless the fit says otherwise.",
        show_default=False,
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
    missing: Missing = "refuse"
    encode: Annotated[
        Literal["onehot"] | None,
        typer.Option(
            help="Columns of text become a column of 0 and 1 for each category, dates become days; "
            "refused if not given."
        ),
    ] = None
    unknown: Unknown = None
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
        """The options that say something else than their defaults."""
        usual = self._field_defaults
        return [f"--{name}" for name, value in self._asdict().items() if value != usual[name]]


class ModelOptions(NamedTuple):
    """Options of the objective."""

    loss: Loss = None
    l2: Annotated[float, typer.Option(help="Penalty: l2/2 ||w||^2 is added to the loss.")] = 0.0
    intercept: Annotated[
        bool,
        typer.Option("--intercept/--no-intercept", help="Fit an intercept, without penalty."),
    ] = True


class Steps(NamedTuple):
    """Options of a run: what `bocce plan` and `bocce solve` both ask for."""

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
        float | None,
        typer.Option(
            help="Stop when the gradient norm is tol times the first one; 0 never stops. Default "
            "1e-6, or 0 with --steps.",
            show_default=False,
        ),
    ] = None
    passes: Annotated[
        float | None,
        typer.Option(help="The largest number of passes over the data; only without --steps."),
    ] = None


GROUPS = (Reading, ModelOptions, Steps)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes the options of `GROUPS` one by one, where ``command`` takes groups.

    Typer reads the options of a command from its signature, so commands that share twenty options
    would repeat twenty parameters.
    """
    own = inspect.signature(command, eval_str=True).parameters
    groups = {name: p.annotation for name, p in own.items() if p.annotation in GROUPS}
    options: list[inspect.Parameter] = []
    for name, parameter in own.items():
        hints = get_type_hints(groups[name], include_extras=True) if name in groups else {}
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


class Column(NamedTuple):
    """A column that is no feature."""

    name: str
    values: Any


class FileData(NamedTuple):
    """What a FILE holds. ``y`` is None where X is a block file, which holds it as well."""

    X: Any
    y: Any
    columns: list[str] | None = None
    target: str | None = None
    weights: Column | None = None
    offset: Column | None = None
    encoding: Any = None  # how text and dates became numbers

    def on(self, rows: Any) -> FileData:
        """Some of the rows, in memory."""
        weights, offset = (
            c and c._replace(values=c.values[rows]) for c in (self.weights, self.offset)
        )
        return self._replace(X=self.X[rows], y=self.y[rows], weights=weights, offset=offset)

    def rows(self) -> tuple[Any, ...]:
        """X, y, the weights and the offset, None where there are none."""
        return self.X, self.y, *(c and c.values for c in (self.weights, self.offset))

    @property
    def in_parts(self) -> bool:
        return self.y is None

    @property
    def labels(self) -> list[Any] | None:
        """The labels of a target that holds text or truth values; None if it holds numbers."""
        if self.in_parts:
            named: list[str] | None = self.X.classes
            return named
        return None if self.y.dtype.kind in "fiu" else sorted(set(self.y.tolist()))


def read(file: str, reading: Reading) -> FileData:
    """The data of a file, or of a known LIBSVM data set."""
    from .. import data

    columns = reading.columns
    chosen = [_name_or_number(word) for word in columns.split(",")] if columns else None
    if chosen:
        chosen += [_name_or_number(name) for name in (reading.weights, reading.offset) if name]
    if not Path(file).exists() and file in _known_sets():
        if given := reading.given():
            raise ValueError(
                f"{' and '.join(given)} must be left out for the data set {file}, whose columns "
                "have no names."
            )
        return FileData(*data.load(file))
    if not Path(file).exists() and (near := difflib.get_close_matches(file, _known_sets(), n=1)):
        raise FileNotFoundError(f"there is no file {file!r}; did you mean the data set {near[0]}?")
    found = data.open(
        file,
        _name_or_number(reading.target),
        chosen,
        missing=reading.missing,
        encode=reading.encode,
        unknown=reading.unknown,
    )
    X, y = found
    rows = FileData(X, y, found.columns, found.target, encoding=found.encoding)
    if reading.weights:
        rows, weights = _taken(rows, "--weights", reading.weights, file)
        if not (weights.values > 0.0).all():
            raise ValueError(
                f"--weights: the column {weights.name!r} has the value "
                f"{weights.values.min():g}, must be > 0 in every row; leave such rows out."
            )
        rows = rows._replace(weights=weights)
    if reading.offset:
        rows, offset = _taken(rows, "--offset", reading.offset, file)
        rows = rows._replace(offset=offset)
    return rows


def _taken(data: FileData, option: str, name: str, file: str) -> tuple[FileData, Column]:
    """The data without one of its columns, and that column."""
    import numpy as np

    names = data.columns or []
    if data.in_parts or len(names) != data.X.shape[1]:
        why = "is read in parts" if data.in_parts else "has columns without names"
        raise ValueError(
            f"{option} needs a table in memory with a name for each column, and {file} {why}; "
            f"leave {option} out, or use Python: bocce.Problem(X, y, ...)."
        )
    found = next((here for here in (name, f"x{name}") if here in names), None)
    if found is None or len(names) == 1:
        shown = ", ".join(map(repr, names[:12])) + ", ..." * (len(names) > 12)
        raise ValueError(
            f"{option} {name!r} must be a column of {file} other than the target "
            f"{data.target!r} and the only feature: {shown}."
        )
    place = names.index(found)
    others = [*names[:place], *names[place + 1 :]]
    values = np.asarray(data.X[:, place], dtype=np.float64)
    encoding = data.encoding and data.encoding.without(found)
    rest = data._replace(X=np.delete(data.X, place, axis=1), columns=others, encoding=encoding)
    return rest, Column(found, values)


def _name_or_number(text: str | None) -> str | int | None:
    if text is None:
        return None
    return int(text) if text.strip().lstrip("-").isdigit() else text.strip()


class Chosen(NamedTuple):
    """A loss, and why it was chosen if nobody named one."""

    name: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.why}; --loss chooses another)" if self.why else self.name


def choose_loss(data: FileData, loss: str | None) -> Chosen:
    """The loss that was named, or the one for numbers, for two labels, or for more."""
    from ..losses import REGISTRY

    labels, target = data.labels, data.target or "the target"
    if labels is None:
        return Chosen(loss or "squared")
    if len(labels) < 2:
        raise ValueError(
            f"{target} has one label only ({labels[0]!r}), must have two or more; check the rows, "
            "or name another column with --target."
        )
    fitting = "logistic" if len(labels) == 2 else "softmax"
    if loss is None:
        return Chosen(fitting, f"{target} has {len(labels)} labels")
    if not (REGISTRY[loss].margin or REGISTRY[loss].multi_output):
        raise ValueError(
            f"--loss {loss} is for numbers, and {target} holds labels ({labels[0]!r}, "
            f"{labels[1]!r}{', ...' * (len(labels) > 2)}); leave --loss out, or give --loss "
            f"{fitting}."
        )
    return Chosen(loss)


def split(data: FileData, loss: str, share: float, seed: int) -> tuple[FileData, FileData]:
    """The rows to fit, and those to hold out: a share of all, or of each class."""
    import numpy as np

    from ..losses import REGISTRY
    from ..sampling import check_seed, held_out

    if data.in_parts:
        raise ValueError(
            "--test needs data in memory, and FILE is read in parts; write the rows to hold out "
            "into a file of their own, and give that to `bocce predict`."
        )
    classes = REGISTRY[loss].margin or REGISTRY[loss].multi_output
    groups = data.y if classes else np.zeros(len(data.y))
    chosen = held_out(check_seed("solve", seed), share, groups)
    if not chosen.any():
        raise ValueError(
            f"--test {share:g} of {len(chosen)} rows is less than one row; raise it, or leave "
            "--test out."
        )
    return data.on(~chosen), data.on(chosen)


def problem_of(data: FileData, model: ModelOptions) -> Any:
    """What is minimised."""
    from .. import Problem

    X, y, weights, offset = data.rows()
    return Problem(
        X, y, model.loss, model.l2, sample_weight=weights, offset=offset, intercept=model.intercept
    )


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
