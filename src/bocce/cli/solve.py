"""``bocce solve`` and ``bocce plan``: minimise a loss on a file, or say how it would be done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ._options import (
    L2,
    BatchSize,
    File,
    Json,
    Loss,
    Plot,
    check_folder,
    check_plot,
    problem_of,
    rows_of,
    save_figure,
)
from ._terminal import (
    DIVERGED,
    as_json,
    complain,
    number,
    progress,
    resumable,
    say,
    show_json,
    show_table,
    watched,
)


def _methods(incomplete: str) -> list[tuple[str, str]]:
    from ..control import registry

    known = registry().values()
    return [(m.name, m.summary) for m in known if m.name.startswith(incomplete)]


def solve(
    file: File,
    loss: Loss = "squared",
    l2: L2 = 0.0,
    method: Annotated[
        str,
        typer.Option(help="A name that `bocce methods` lists.", autocompletion=_methods),
    ] = "auto",
    steps: Annotated[
        int | None, typer.Option("--steps", "-T", help="Number of steps; chosen if not given.")
    ] = None,
    batch_size: BatchSize = None,
    seed: Annotated[int, typer.Option(help="Decides every batch.")] = 0,
    tol: Annotated[
        float, typer.Option(help="Stop when the gradient norm is tol times the first; 0 never.")
    ] = 1e-6,
    sampling: Annotated[
        Literal["independent", "reshuffle"], typer.Option(help="How batches are drawn.")
    ] = "independent",
    checkpoint: Annotated[
        Path | None, typer.Option(help="Save here; a run found here goes on from it.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write OUT.npz (weights and history) and OUT.json (the summary)."),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Ray cluster: its address, auto, or local for one started here.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Parts that --ray spreads the rows over.")] = 2,
    json: Json = False,
) -> None:
    """Minimise a loss on the data of FILE.

    Nothing has to be tuned: batch, step and momentum are chosen, and the run ends at --tol. A run
    that diverges is said to, and exits with 1.

    \b
    Examples:
      bocce solve mushrooms --l2 0.01
      bocce solve train.csv --loss logistic --l2 0.001 --out fit
      bocce solve train.csv --method 2p-shb -T 5000 --batch-size 0.9
      bocce solve train.csv --checkpoint run     stop it, repeat it: it goes on
    """
    from .. import minimize

    check_folder("--out", out)
    with progress(f"reading {file}"):
        data = rows_of(file)
        problem = problem_of(data, loss, l2)
    asked = watched()  # before the bar, which may take stderr's place
    with resumable(checkpoint), progress("starting", steps) as tell:
        options = {
            "T": steps,
            "batch_size": batch_size,
            "seed": seed,
            "tol": tol,
            "record_every": "auto",
            "callback": _shown_by(tell, steps) if asked else None,
            "checkpoint": checkpoint,
        }
        if ray is None:
            result = minimize(problem, method, sampling=sampling, **options)
        else:
            result = _on_ray(ray, workers, sampling, file, data, method, loss, l2, options)
    summary = _summary(file, loss, method, problem, result)
    if out is not None:
        _write_result(out, result, summary)
    if json:
        show_json(summary)
    else:
        show_table(("", ""), [(name, _cell(value)) for name, value in summary.items()])
    if result.status == "diverged":
        complain("diverged", result.message)
        raise typer.Exit(DIVERGED)


def _on_ray(
    address: str,
    workers: int,
    sampling: str,
    file: str,
    data: Any,
    method: str,
    loss: str,
    l2: float,
    options: dict[str, Any],
) -> Any:
    from .. import ray as on_ray

    if sampling != "independent":
        raise ValueError(
            f"solve: --sampling {sampling} must be independent with --ray; leave one of them out."
        )
    parts = [file] if len(data) == 1 else on_ray.split(*data, workers)
    where = None if address == "local" else address
    return on_ray.minimize(parts, method, loss=loss, l2=l2, address=where, **options)


def _shown_by(tell: Any, steps: int | None) -> Any:
    def show(now: Any) -> None:
        step = f"step {now.k}, " if steps is None else ""
        tell(f"{step}gradient norm {now.grad_norm:.3e}", now.k)

    return show


def _summary(file: str, loss: str, method: str, problem: Any, result: Any) -> dict[str, Any]:
    return {
        "file": file,
        "loss": loss,
        "l2": problem.l2,
        "n": problem.n,
        "d": problem.d,
        "method": method,
        "batch_size": result.batch_size,
        "seed": result.seed,
        "status": result.status,
        "iterations": result.n_iter,
        "value": float(result.history["value"][-1]),
        "grad_norm": float(result.history["grad_norm"][-1]),
        "message": result.message,
    }


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else number(value)


def _write_result(out: Path, result: Any, summary: dict[str, Any]) -> None:
    import numpy as np

    from .._atomic import atomic_write

    with atomic_write(out.with_name(out.name + ".npz")) as stream:
        np.savez(stream, w=result.w, **result.history)
    with atomic_write(out.with_name(out.name + ".json")) as stream:
        stream.write(as_json(summary).encode() + b"\n")


def plan(
    file: File,
    loss: Loss = "squared",
    l2: L2 = 0.0,
    batch_size: BatchSize = None,
    steps: Annotated[
        int | None, typer.Option("--steps", "-T", help="The steps you can afford.")
    ] = None,
    accuracy: Annotated[float, typer.Option(help="Target for (f - f*)/(f(0) - f*).")] = 1e-6,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Which batch, step and momentum FILE asks for, and why.

    Nothing is run: from the constants of the data it says how many steps are needed, from which
    batch size on momentum accelerates, and whether the paper's method would diverge.

    \b
    Examples:
      bocce plan mushrooms --l2 0.01
      bocce plan train.csv --loss logistic --l2 0.001 -T 5000
      bocce plan train.csv --plot steps.png
    """
    from .. import plan as make_plan
    from ..paper import plans

    check_plot(plot)
    with progress(f"reading {file}") as tell:
        problem = problem_of(rows_of(file), loss, l2)
        tell("constants, thresholds and steps of every batch size")
        found = make_plan(problem, batch_size, steps, accuracy)
        if plot is not None:
            save_figure(plans.picture(found), plot)
    if json:
        show_json(found.to_dict())
    else:
        say(str(found))
