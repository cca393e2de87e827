"""``bocce plan``: what ``bocce solve`` with the same arguments will do, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from ._options import (
    L2,
    BatchSize,
    Columns,
    File,
    Intercept,
    Json,
    Loss,
    MethodName,
    Missing,
    Passes,
    Plot,
    Steps,
    Target,
    Tol,
    check_loss,
    check_plot,
    choose_loss,
    problem_of,
    read,
    save_figure,
)
from ._terminal import progress, say, show_json


def plan(
    file: File,
    target: Target = None,
    columns: Columns = None,
    missing: Missing = "refuse",
    loss: Loss = None,
    l2: L2 = 0.0,
    intercept: Intercept = True,
    method: MethodName = "auto",
    steps: Steps = None,
    batch_size: BatchSize = None,
    tol: Tol = None,
    passes: Passes = None,
    accuracy: Annotated[
        float, typer.Option(help="Target for (f - f*)/(f(0) - f*), for what batch sizes cost.")
    ] = 1e-6,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """What solve with the same arguments will do, and why.

    It says which batches solve takes and how many passes over the data it makes, what each batch
    size would cost if you gave one, and what is odd about the data. The picture shows the costs.

    \b
    Examples:
      bocce plan mushrooms --l2 0.01
      bocce plan train.csv --loss logistic --l2 0.001 -T 5000
      bocce plan train.csv --plot steps.png
    """
    from .. import plan as make_plan

    check_loss("plan", loss, method, l2)
    check_plot(plot)
    with progress(f"reading {file}") as tell:
        data = read(file, target, columns, missing)
        chosen = choose_loss(data, loss)
        problem = problem_of(data, chosen.name, l2, intercept)
        tell("a trial, constants, and what batch sizes cost")
        found = make_plan(
            problem, batch_size, steps, accuracy, method=method, tol=tol, passes=passes
        )
        if plot is not None:
            save_figure(found.plot()[0].figure, plot)
    if json:
        show_json({"file": file, "loss": chosen.name, **found.to_dict()})
        return
    say(f"{file}\n{f'loss: {chosen}' + chr(10) if chosen.why else ''}{found}")
    if plot is not None:
        say(f"\nwrote {plot}")
