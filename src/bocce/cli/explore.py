"""``bocce explore``: the page that answers how large a batch must be."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from ._data import choose_loss, columns_of, model_of, read
from ._options import (
    FILES,
    Json,
    ModelOptions,
    Reading,
    _data_sets,
    check_loss,
    grouped,
    not_default,
)
from ._terminal import check_apart, check_file, progress, say, show_json


@grouped
def explore(
    reading: Reading,
    model: ModelOptions,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help=f"Start from your own data. {FILES}", autocompletion=_data_sets
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path("explorer.html"),
    open_it: Annotated[
        bool, typer.Option("--open/--no-open", help="Show the page in the browser.")
    ] = True,
    json: Json = False,
) -> None:
    """Write the explorer: a page that shows how large a batch must be.

    The page shows, exactly, what momentum does at every batch size. It is one file that needs no
    network and no Python. With --data it starts from the spectrum, the constants and the noise of
    that data set, which is read as `bocce solve` reads it.

    \b
    Examples:
      bocce explore
      bocce explore --out page.html --no-open
      bocce explore --data mushrooms --loss logistic --l2 0.01
    """
    from .. import explorer
    from .._atomic import atomic_write

    check_file("--out", out)
    check_apart("--out", out, data)
    check_loss("explore", model)
    options = [*not_default(reading), *not_default(model)]
    if data is None and options:
        raise ValueError(
            f"{' and '.join(options)} must be left out without --data; give a FILE there."
        )
    found = None if data is None else _described(data, reading, model)
    with atomic_write(out) as stream:
        stream.write(explorer.page(found).encode())
    shown = open_it and webbrowser.open(out.resolve().as_uri())
    if json:
        show_json({"page": str(out), "opened": bool(shown)})
    else:
        say(f"wrote {out}" + ("" if shown or not open_it else "; open it in a browser"))


def _described(file: str, reading: Reading, model: ModelOptions) -> dict[str, Any]:
    """What the page receives about the data."""
    from .. import explorer

    with progress(f"reading {file}") as show_progress:
        rows = read(file, reading)
        model = model._replace(loss=choose_loss(rows, model.loss).name)
        problem = model_of(rows, model).run
        show_progress("spectrum and constants")
        return explorer.describe(problem, Path(file).name, _source(file, reading, model))


def _source(file: str, reading: Reading, model: ModelOptions) -> str:
    """The Python expression that gives the problem."""
    if reading.weights or reading.offset:
        return "problem"  # made of arrays that have no expression of their own
    how = {name: value for name, value in columns_of(reading).items() if value is not None}
    reader = "open" if Path(file).exists() else "load"
    words = "".join(f", {name}={value!r}" for name, value in how.items())
    end = ", intercept=True" * model.intercept
    problem = (
        f"bocce.Problem(*bocce.data.{reader}({file!r}{words}), {model.loss!r}, {model.l2!r}{end})"
    )
    if model.standardize:
        return f"bocce.problems.standardized({problem}).problem"
    return problem
