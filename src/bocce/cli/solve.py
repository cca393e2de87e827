"""``bocce solve``: minimise a loss on a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from . import _result
from ._data import choose_loss, impute, problem_of, read, split
from ._messages import in_options
from ._options import File, Json, ModelOptions, Reading, Steps, check_loss, grouped
from ._terminal import (
    BAD_INPUT,
    DIVERGED,
    TOLERANCE,
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
    test: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Hold out this share of the rows (of each class), drawn by --seed, and score the "
            "fit on them.",
        ),
    ] = None,
    imputation: Annotated[
        Literal["mean", "median"] | None,
        typer.Option(
            "--impute",
            help="Fill in missing values by the mean or median of their column in the fitted rows; "
            "`bocce predict` does the same.",
        ),
    ] = None,
    errors: Annotated[
        Literal["model", "sandwich"] | None,
        typer.Option(
            help="Print standard errors of all coefficients, from the loss's probability model or "
            "robust against a wrong model (sandwich). Default: model, up to 40 coefficients."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the batches and of --test.")] = 0,
    sampling: Annotated[
        Literal["independent", "reshuffle"], typer.Option(help="How batches are drawn.")
    ] = "independent",
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the run here, and resume from this file if it exists."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write OUT.npz (weights and history) and OUT.json (the summary)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Ray cluster: its address, auto, or local to start one.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Number of workers of --ray.")] = 2,
    json: Json = False,
) -> None:
    """Minimise a loss on the data of FILE.

    Batch, step and momentum are chosen (`bocce plan` says how), an intercept is fitted, and the run
    stops at --tol. The command prints accuracy or R^2 on the fitted rows, and with --test on
    held-out rows. Exit code 1: the run diverged; 3: the tolerance was not met.

    \b
    Examples:
      bocce solve mushrooms --l2 0.01
      bocce solve train.csv --loss logistic --l2 0.001 --out fit
      bocce solve train.csv --target sport --weights count --test 0.2
      bocce solve train.csv --method 2p-shb -T 5000 --batch-size 0.9
      bocce solve train.csv --checkpoint run     repeat the command to resume
    """
    from .. import minimize
    from .._checks import real
    from ..run.plan import usual_tol

    check_loss("solve", model, run.method)
    files = _result.out_files(out, force)
    if ray is not None:
        _check_ray(sampling, reading, model.standardize)
    if test is not None:
        test = real("solve", "test", test, above=0.0, below=1.0, remedy="0.2 is usual")
    with progress(f"reading {file}"):
        data, held = read(file, reading, keep_missing=imputation is not None), None
        chosen = choose_loss(data, model.loss)
        model = model._replace(loss=chosen.name)
        if test is not None:
            data, held = split(data, chosen.name, test, seed)
        if imputation is not None:
            data = impute(data, imputation)
            held = held and held.filled(data.imputed or [])
        problem = problem_of(data, model)
    goal = usual_tol(run.steps) if run.tol is None else run.tol
    asked = watched()  # before the bar, which may take stderr's place
    with resumable(checkpoint), progress("starting", run.steps) as tell:
        options: dict[str, Any] = {
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
            from .. import ray as on_ray

            parts = [file] if data.in_parts else on_ray.split(data.X, data.y, workers)
            options |= {"loss": model.loss, "l2": model.l2, "intercept": model.intercept}
            options["address"] = None if ray == "local" else ray
            result = on_ray.minimize(parts, run.method, **options)
    kept = (data, held, errors, model.standardize)
    fit = _result.Fit(file, run.method, goal, problem, result, *kept)
    scores, table, advice = fit.scores(), fit.coefficients(), fit.advice()
    figures = _result.summary(fit, scores, table)
    figures |= {"advice": advice} if advice else {}
    trouble = ""
    try:
        _result.write(files, fit, figures)
    except OSError as error:  # the result is still printed
        trouble = f"--out: {files[0]} and {files[1].name} could not be written: {error.strerror}."
        files = []
    code = TOLERANCE if goal else 0
    if result.status in ("converged", "diverged"):
        code = DIVERGED if result.status == "diverged" else 0
    if json:
        show_json({**figures, "wrote": list(map(str, files))})
    else:
        _result.show(fit, str(chosen), scores, table, said=code != 0)
        _result.show_where(fit, table, advice, files)
    if code:
        complain("diverged" if code == DIVERGED else "not converged", in_options(result.message))
    if trouble:
        complain("error", trouble)
    if code or trouble:
        raise typer.Exit(code or BAD_INPUT)


def _check_ray(sampling: str, reading: Reading, standardize: bool) -> None:
    if standardize:
        raise ValueError("--standardize must be left out with --ray; scale the columns before.")
    if sampling != "independent":
        raise ValueError(
            f"--sampling {sampling} must be independent with --ray; leave one of them out."
        )
    for option, column in (("weights", reading.weights), ("offset", reading.offset)):
        if column:
            raise ValueError(
                f"--{option} {column} must be left out with --ray, whose parts are X and y alone; "
                "leave one of them out."
            )


def _shown_by(tell: Any, steps: int | None) -> Any:
    def show(now: Any) -> None:
        step = f"step {now.k}, " if steps is None else ""
        tell(f"{step}gradient norm {now.grad_norm:.3e}", now.k)

    return show
