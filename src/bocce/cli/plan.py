"""``bocce plan``: what ``bocce solve`` with the same arguments will do, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from ._data import choose_loss, model_of, read
from ._options import File, Json, ModelOptions, Plot, Reading, Steps, check_loss, grouped
from ._terminal import check_apart, check_plot, progress, save_figure, say, show_json


@grouped
def plan(
    file: File,
    reading: Reading,
    model: ModelOptions,
    run: Steps,
    accuracy: Annotated[
        float, typer.Option(help="Accuracy for the cost of batch sizes: (f - f*)/(f(0) - f*).")
    ] = 1e-6,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Say what solve will do with the same arguments, and why.

    Prints the batches and passes over the data that solve will take, the cost of each fixed batch
    size, and what to watch out for in the data. All of it is for standardised columns, as in solve,
    unless --no-standardize is given. --plot draws the costs.

    \b
    Examples:
      bocce plan mushrooms --l2 0.01
      bocce plan examples/people.csv --target member --loss logistic -T 5000
      bocce plan examples/people.csv --plot steps.png
    """
    from .. import plan as make_plan

    check_loss("plan", model, run.method)
    check_apart("--plot", plot, file)
    check_plot(plot)
    with progress(f"reading {file}") as show_progress:
        data = read(file, reading)
        chosen = choose_loss(data, model.loss)
        problem = model_of(data, model._replace(loss=chosen.name)).run
        show_progress("a trial, constants, and what batch sizes cost")
        tol = None if run.tol == "auto" else run.tol
        found = make_plan(
            problem, run.batch_size, run.steps, accuracy, method=run.method, tol=tol,
            passes=run.passes,
        )  # fmt: skip
        if plot is not None:
            save_figure(found.plot()[0].figure, plot)
    if json:
        facts = {"file": file, "loss": chosen.name, "standardize": model.standardize}
        show_json({**facts, **found.to_dict()})
        return
    say(file)
    if chosen.why:
        say(f"loss: {chosen}")
    if model.standardize:
        say("columns: standardised; --no-standardize takes them as they are")
    say(str(found))
    if plot is not None:
        say(f"\nwrote {plot}")
