"""``bocce explore``: the page that answers how large a batch must be."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from ._data import choose_loss, problem_of, read
from ._options import FILES, Json, Loss, ModelOptions, Reading, _data_sets, check_loss
from ._terminal import check_folder, progress, say, show_json


def explore(
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path("explorer.html"),
    open_it: Annotated[
        bool, typer.Option("--open/--no-open", help="Show the page in the browser.")
    ] = True,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help=f"Start from your own data. {FILES}", autocompletion=_data_sets
        ),
    ] = None,
    loss: Loss = None,
    l2: Annotated[float, typer.Option(help="Penalty l2/2 ||w||^2, with --data.")] = 0.0,
    json: Json = False,
) -> None:
    """Write the explorer: a page that shows how large a batch must be.

    The page shows, exactly, what momentum does at every batch size. It is one file that needs no
    network and no Python. With --data it starts from the spectrum, the constants and the noise of
    that data set.

    \b
    Examples:
      bocce explore
      bocce explore --out page.html --no-open
      bocce explore --data mushrooms --loss logistic --l2 0.01
    """
    from .. import explorer
    from .._atomic import atomic_write

    check_folder("--out", out)
    check_loss("explore", ModelOptions(loss))
    if data is None and (loss is not None or l2 != 0.0):
        raise ValueError("--loss and --l2 are about --data; give a FILE there, or leave them out.")
    found: dict[str, Any] | None = None
    if data is not None:
        with progress(f"reading {data}") as tell:
            rows = read(data, Reading())
            chosen = choose_loss(rows, loss).name
            problem = problem_of(rows, ModelOptions(chosen, l2, intercept=False))
            tell("spectrum and constants")
            reader = "open" if Path(data).exists() else "load"
            source = f"bocce.Problem(*bocce.data.{reader}({data!r}), {chosen!r}, {l2!r})"
            found = explorer.describe(problem, Path(data).name, source)
    with atomic_write(out) as stream:
        stream.write(explorer.page(found).encode())
    shown = open_it and webbrowser.open(out.resolve().as_uri())
    if json:
        show_json({"page": str(out), "opened": bool(shown)})
    else:
        say(f"wrote {out}" + ("" if shown or not open_it else "; open it in a browser"))
