"""``bocce solve``: minimise a loss on a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from . import _result
from ._data import FileModel, choose_loss, model_of, read
from ._messages import in_options
from ._options import (
    WORKERS,
    Cluster,
    Drawing,
    File,
    Json,
    ModelOptions,
    Printing,
    Reading,
    Saving,
    Steps,
    check_loss,
    grouped,
)
from ._terminal import (
    BAD_INPUT,
    DIVERGED,
    TOLERANCE,
    check_apart,
    check_file,
    complain,
    progress,
    resumable,
    show_json,
    watched,
)


@grouped
def solve(
    file: File,
    reading: Reading,
    model: ModelOptions,
    run: Steps,
    printing: Printing,
    drawing: Drawing,
    saving: Saving,
    cluster: Cluster,
    json: Json = False,
) -> None:
    """Minimise a loss on the data of FILE.

    Batch, step and momentum are chosen (`bocce plan` says how), an intercept is fitted, and the run
    stops at --tol. Columns are standardised, and coefficients are printed in the units of FILE.
    Accuracy or R^2 are of the fitted rows. Exit code 1: the run diverged; 3: the tolerance was not
    met.

    \b
    Examples:
      bocce solve mushrooms --l2 0.01
      bocce solve examples/people.csv --target member --loss logistic --out fit
      bocce solve examples/people.csv --exclude member --weights count
      bocce solve examples/people.csv --method 2p-shb -T 5000 --batch-size 0.9
      bocce solve mushrooms --checkpoint run     repeat the command to resume
    """
    from ..planning import usual_tol

    check_loss("solve", model, run.method)
    files = _checked_files(file, saving)
    _check_cluster(cluster, drawing, reading)
    with progress(f"reading {file}"):
        data = read(file, reading)
        chosen = choose_loss(data, model.loss)
        model = model._replace(loss=chosen.name)
        minimised = model_of(data, model)
    goal = usual_tol(run.steps) if run.tol is None else run.tol
    run = run._replace(tol=goal)
    result = minimised.out(_minimised(minimised, run, drawing, saving.checkpoint, cluster))
    fit = _result.Fit(
        file=file,
        loss=str(chosen),
        method=run.method,
        tol=goal,
        problem=minimised.fitted(result),
        result=result,
        data=data,
        errors=printing.errors,
        standardize=model.standardize,
    )
    _report(fit, files, json)


def _checked_files(file: str, saving: Saving) -> list[Path]:
    """The files to write, which must not be one another, the data or the checkpoint."""
    files = _result.out_files(saving.out, saving.force)
    check_apart("--checkpoint", saving.checkpoint, file)
    check_file("--checkpoint", saving.checkpoint)
    for path in files:
        check_apart("--out", path, file)
        check_apart("--out", path, saving.checkpoint, "the checkpoint")
    return files


def _minimised(
    minimised: FileModel, run: Steps, drawing: Drawing, checkpoint: Path | None, cluster: Cluster
) -> Any:
    """The result of the run, here or on a cluster."""
    is_watched = watched()  # before the bar, which may take stderr's place
    with resumable(checkpoint), progress("starting", run.steps) as show_progress:
        options: dict[str, Any] = {
            "T": run.steps,
            "batch_size": run.batch_size,
            "seed": drawing.seed,
            "tol": run.tol,
            "passes": run.passes,
            "record_every": "auto",
            "callback": _shown_by(show_progress, run.steps) if is_watched else None,
            "checkpoint": checkpoint,
        }
        if cluster.ray is None:
            return _here(minimised, run.method, drawing.sampling, options)
        workers = WORKERS if cluster.workers is None else cluster.workers
        return _on_ray(minimised, run.method, cluster.ray, workers, options)


def _here(minimised: FileModel, method: str, sampling: str, options: dict[str, Any]) -> Any:
    from .. import minimize

    return minimize(minimised.run, method, sampling=sampling, **options)


def _on_ray(
    minimised: FileModel, method: str, address: str, workers: int, options: dict[str, Any]
) -> Any:
    from .. import ray

    p = minimised.run
    if p.in_parts and minimised.scaled is not None:
        raise ValueError(
            "--ray reads a file in parts as it is, and cannot standardise its columns; add "
            "--no-standardize, or write a file of standardised columns first."
        )
    parts: Any
    if p.in_parts:
        parts = [str(p.X.path)]
    else:
        parts = ray.split(p.X, minimised.targets, workers)
    options |= {"loss": p.loss.name, "l2": p.l2, "intercept": p.intercept}
    options["address"] = None if address == "local" else address
    return ray.minimize(parts, method, **options)


def _report(fit: _result.Fit, files: list[Path], json: bool) -> None:
    """Write, print, and end with the exit code of the run's status."""
    score = fit.score()
    table = fit.coefficients()
    advice = fit.advice()
    figures = _result.summary(fit, score, table)
    if advice:
        figures["advice"] = advice
    trouble = ""
    try:
        _result.write(files, fit, figures)
    except OSError as error:  # the result is still printed
        trouble = f"--out: {files[0]} and {files[1].name} could not be written: {error.strerror}."
        files = []
    code = _exit_code(fit)
    if json:
        show_json({**figures, "wrote": list(map(str, files))})
    else:
        _result.show(fit, score, table, said=code != 0)
        _result.show_where(fit, table, advice, files)
    if code:
        kind = "diverged" if code == DIVERGED else "not converged"
        complain(kind, in_options(fit.result.message))
    if trouble:
        complain("error", trouble)
    if code or trouble:
        raise typer.Exit(code or BAD_INPUT)


def _exit_code(fit: _result.Fit) -> int:
    if fit.result.status == "diverged":
        return DIVERGED
    if fit.tol and fit.result.status != "converged":
        return TOLERANCE
    return 0


def _check_cluster(cluster: Cluster, drawing: Drawing, reading: Reading) -> None:
    if cluster.ray is None:
        if cluster.workers is not None:
            raise ValueError(
                f"--workers {cluster.workers} must be left out without --ray; add --ray local."
            )
        return
    if drawing.sampling != "independent":
        raise ValueError(
            f"--sampling {drawing.sampling} must be independent with --ray; leave one of them out."
        )
    for option, column in (("weights", reading.weights), ("offset", reading.offset)):
        if column:
            raise ValueError(
                f"--{option} {column} must be left out with --ray, whose parts are X and y alone; "
                "leave one of them out."
            )


def _shown_by(show_progress: Any, steps: int | None) -> Any:
    def callback(now: Any) -> None:
        step = f"step {now.k}, " if steps is None else ""
        show_progress(f"{step}gradient norm {now.grad_norm:.3e}", now.k)

    return callback
