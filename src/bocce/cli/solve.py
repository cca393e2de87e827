"""``bocce solve``: minimise a loss on a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from . import _result
from ._messages import in_options
from ._options import (
    Data,
    File,
    Json,
    Model,
    Reading,
    Steps,
    check_loss,
    choose_loss,
    grouped,
    problem_of,
    read,
)
from ._terminal import (
    BAD_INPUT,
    DIVERGED,
    TOLERANCE,
    complain,
    progress,
    resumable,
    say,
    show_json,
    watched,
)


@grouped
def solve(
    file: File,
    reading: Reading,
    model: Model,
    run: Steps,
    seed: Annotated[int, typer.Option(help="Decides every batch.")] = 0,
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
    force: Annotated[bool, typer.Option("--force", help="Overwrite what --out names.")] = False,
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

    Nothing has to be tuned: batch, step and momentum are chosen (`bocce plan` says how), an
    intercept is fitted, and the run ends at --tol. Exit code 1: it diverged; 3: it ended before
    the tolerance was met.

    \b
    Examples:
      bocce solve mushrooms --l2 0.01
      bocce solve train.csv --loss logistic --l2 0.001 --out fit
      bocce solve train.csv --method 2p-shb -T 5000 --batch-size 0.9
      bocce solve train.csv --checkpoint run     stop it, repeat it: it goes on
    """
    from .. import minimize
    from ..run.plan import usual_tol

    check_loss("solve", model, run.method)
    files = _result.out_files(out, force)
    if ray is not None and sampling != "independent":
        raise ValueError(
            f"--sampling {sampling} must be independent with --ray; leave one of them out."
        )
    with progress(f"reading {file}"):
        data = read(file, reading)
        chosen = choose_loss(data, model.loss)
        model = model._replace(loss=chosen.name)
        problem = problem_of(data, model)
    goal = usual_tol(run.steps) if run.tol is None else run.tol
    asked = watched()  # before the bar, which may take stderr's place
    with resumable(checkpoint), progress("starting", run.steps) as tell:
        options = {
            "T": run.steps,
            "batch_size": run.batch_size,
            "seed": seed,
            "tol": goal,
            "passes": run.passes,
            "record_every": "auto",
            "callback": _shown_by(tell, run.steps) if asked else None,
            "checkpoint": checkpoint,
        }
        if ray is None:
            result = minimize(problem, run.method, sampling=sampling, **options)
        else:
            result = _on_ray(ray, workers, file, data, run.method, options | model._asdict())
    figures = _result.summary(file, run.method, problem, result, goal)
    trouble = _written(files, result, figures, data)
    code = _code(result, goal)
    if json:
        show_json({**figures, "wrote": [] if trouble else list(map(str, files))})
    else:
        shown = {**figures, "loss": str(chosen)}
        _result.show(shown, problem, result, data, said=code != 0)
        if files and not trouble:
            say(f"\nwrote {' and '.join(map(str, files))}")
    _exit(result, code, trouble)


def _on_ray(
    address: str,
    workers: int,
    file: str,
    data: Data,
    method: str,
    options: dict[str, Any],
) -> Any:
    from .. import ray as on_ray

    parts = [file] if data.in_parts else on_ray.split(data.X, data.y, workers)
    where = None if address == "local" else address
    return on_ray.minimize(parts, method, address=where, **options)


def _shown_by(tell: Any, steps: int | None) -> Any:
    def show(now: Any) -> None:
        step = f"step {now.k}, " if steps is None else ""
        tell(f"{step}gradient norm {now.grad_norm:.3e}", now.k)

    return show


def _written(files: list[Path], result: Any, figures: dict[str, Any], data: Data) -> str:
    """Write what --out asks for; returns what went wrong, so that the result is still printed."""
    if not files:
        return ""
    try:
        _result.write(files, result, figures, data)
    except OSError as error:
        return f"--out: {files[0]} and {files[1].name} could not be written: {error.strerror}."
    return ""


def _code(result: Any, tol: float) -> int:
    if result.status == "diverged":
        return DIVERGED
    return TOLERANCE if tol > 0 and result.status != "converged" else 0


def _exit(result: Any, code: int, trouble: str) -> None:
    """End with the exit code, and say why on stderr."""
    if code:
        kind = "diverged" if code == DIVERGED else "not converged"
        complain(kind, in_options(result.message))
    if trouble:
        complain("error", trouble)
    if code or trouble:
        raise typer.Exit(code or BAD_INPUT)
