"""The command ``bocce``. Heavy imports happen inside the commands, so that help comes at once."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from . import __version__, cli_doctor, cli_reproduce
from ._terminal import (
    Commands,
    as_json,
    bar,
    complain,
    number,
    say,
    show_json,
    show_table,
)

app = typer.Typer(
    cls=Commands,
    name="bocce",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help=(
        "Stochastic heavy-ball momentum that tunes itself: solve least squares and logistic "
        "regression, ask the theory which batch size is needed, reproduce the paper.\n\n"
        "Exit codes: 0 success, 1 the run diverged, 2 bad input (said on stderr)."
    ),
)

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="LIBSVM text (also .bz2, .gz, .xz), .csv (target last) or .npz (X, y); "
        "or the name of a LIBSVM data set, such as mushrooms.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def main() -> None:
    """The entry point of the installed command."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"bocce {__version__}")
        raise typer.Exit


@app.callback()
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of every command."""


@app.command()
def methods(json: Json = False) -> None:
    """List the methods: name, what it is, and the constants it needs."""
    from .solve import registry

    known = registry()
    if json:
        show_json(
            [{"name": m.name, "summary": m.summary, "needs": m.needs} for m in known.values()]
        )
        return
    rows = [(m.name, m.summary, ", ".join(m.needs)) for m in known.values()]
    show_table(("method", "what it is", "needs"), rows)


# ---------------------------------------------------------------- solve


def _batch_size(text: str) -> int | float:
    """Rows if it is a whole number, otherwise a share of n."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _table(file: str) -> Any:
    """X and y of a file (of a block file, itself alone), or of a known LIBSVM data set."""
    from .blockfile import BlockFile, is_block_file
    from .data import libsvm, load, read_table

    if not Path(file).exists() and file in (*libsvm.KNOWN, *libsvm.ALIASES):
        return load(file)
    return (BlockFile(file),) if is_block_file(file) else read_table(file)


def _check_folder(option: str, path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"{option}: there is no folder {str(path.parent)!r}; make it first.")


@app.command()
def solve(
    file: File,
    loss: Annotated[Literal["squared", "logistic"], typer.Option(help="What is minimised.")] = (
        "squared"
    ),
    l2: Annotated[float, typer.Option(help="Regularisation: l2/2 ||w||^2 is added.")] = 0.0,
    method: Annotated[str, typer.Option(help="A name that `bocce methods` lists.")] = "auto",
    steps: Annotated[
        int | None, typer.Option("--steps", "-T", help="Number of steps; chosen if not given.")
    ] = None,
    batch_size: Annotated[
        Any,
        typer.Option(
            parser=_batch_size, metavar="ROWS|SHARE", help="100 is rows, 0.9 a share of n."
        ),
    ] = None,
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
    """Minimise a loss on the data of FILE."""
    from . import LeastSquares, Logistic, minimize

    if out is not None:
        _check_folder("--out", out)
    data = _table(file)
    problem = (LeastSquares if loss == "squared" else Logistic)(*data, l2=l2)
    with bar("solving", steps) as progress:
        options = {
            "T": steps,
            "batch_size": batch_size,
            "seed": seed,
            "tol": tol,
            "record_every": "auto",
            "callback": None if progress is None else _shown_on(progress),
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
        complain(result.message)
        raise typer.Exit(1)


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
    from . import ray as on_ray

    if sampling != "independent":
        raise ValueError(
            f"solve: --sampling {sampling} must be independent with --ray; leave one of them out."
        )
    parts = [file] if len(data) == 1 else on_ray.split(*data, workers)
    where = None if address == "local" else address
    return on_ray.minimize(parts, method, loss=loss, l2=l2, address=where, **options)


def _shown_on(progress: Any) -> Any:
    def show(now: Any) -> None:
        label = f"gradient norm {now.grad_norm:.3e}"
        progress.update(progress.task_ids[0], completed=now.k, description=label)

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

    from ._atomic import atomic_write

    with atomic_write(out.with_name(out.name + ".npz")) as stream:
        np.savez(stream, w=result.w, **result.history)
    with atomic_write(out.with_name(out.name + ".json")) as stream:
        stream.write(as_json(summary).encode() + b"\n")


# ---------------------------------------------------------------- theory


@app.command()
def theory(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Data to take n and the constants from.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", help="Rows, without FILE (10000).")] = None,
    kappa: Annotated[
        float | None, typer.Option(help="Condition number L/mu, without FILE (1000).")
    ] = None,
    ratio: Annotated[float | None, typer.Option(help="L_max/L, without FILE (1).")] = None,
    steps: Annotated[int, typer.Option("--steps", "-T", help="Number of steps.")] = 7000,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", "-b", help="Rows in a batch; all if not given.")
    ] = None,
    l2: Annotated[float | None, typer.Option(help="Regularisation, with FILE (0).")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture: which batch size do I need.")
    ] = None,
    json: Json = False,
) -> None:
    """Every threshold and bound at one setting: given by numbers, or by the data of FILE."""
    from . import LeastSquares
    from .experiments import figures, thresholds

    if plot is not None:
        _check_folder("--plot", plot)
        figures.require_matplotlib()
    numbers = {"n": n, "kappa": kappa, "ratio": ratio}
    given = {name: value for name, value in numbers.items() if value is not None}
    if file is None and l2 is not None:
        raise ValueError("theory: --l2 is about the data of a FILE; give one, or leave it out.")
    if file is not None and given:
        raise ValueError(f"theory: FILE decides {', '.join(given)}; give it or them, not both.")
    if file is None:
        setting = thresholds.from_numbers(T=steps, b=batch_size, **given)
    else:
        setting = thresholds.from_problem(
            LeastSquares(*_table(file), l2=l2 or 0.0), T=steps, b=batch_size
        )
    rows = thresholds.table(setting)
    if plot is not None:
        _save_figure(thresholds.picture(thresholds.sweep(setting), setting.n), plot)
    if json:
        known = {name: value for name, value in vars(setting).items() if name != "problem"}
        show_json({"setting": known, "rows": [asdict(row) for row in rows]})
    else:
        _show_thresholds(setting, rows)


def _show_thresholds(setting: Any, rows: list[Any]) -> None:
    say(f"n={setting.n} b={setting.b} T={setting.T}")
    letters = ("L", "mu", "L_max", "D", "chi2", "sigma2")
    say(" ".join(f"{letter}={number(getattr(setting, letter))}" for letter in letters))
    holds = {True: "yes", False: "no", None: ""}
    for group in dict.fromkeys(row.group for row in rows):
        members = [row for row in rows if row.group == group]
        say("")
        if not any(row.quantity for row in members):
            cells = [(r.name, number(r.value), holds[r.valid], r.note) for r in members]
            show_table((group, "", "holds" if any(c[2] for c in cells) else "", ""), cells)
            continue
        # reasons are long and repeat: each is printed once, below
        reasons = list(dict.fromkeys(row.note for row in members))
        cells = [
            (r.name, r.quantity, number(r.value), holds[r.valid], f"({reasons.index(r.note) + 1})")
            for r in members
        ]
        show_table((group, "of", "", "holds", "why"), cells)
        show_table(("", ""), [(f"({i})", reason) for i, reason in enumerate(reasons, 1)])


def _save_figure(figure: Any, path: Path) -> None:
    from ._atomic import atomic_write

    with atomic_write(path) as stream:
        figure.savefig(stream, format=path.suffix[1:] or "png", dpi=150)


# ---------------------------------------------------------------- reproduce

for command in (
    *(cli_reproduce.reproduce, cli_reproduce.report, cli_reproduce.claims),
    cli_doctor.doctor,
):
    app.command()(command)


# ---------------------------------------------------------------- plan


@app.command()
def plan(
    file: File,
    loss: Annotated[Literal["squared", "logistic"], typer.Option(help="What is minimised.")] = (
        "squared"
    ),
    l2: Annotated[float, typer.Option(help="Regularisation: l2/2 ||w||^2 is added.")] = 0.0,
    batch_size: Annotated[
        Any,
        typer.Option(
            parser=_batch_size,
            metavar="ROWS|SHARE",
            help="Plan for this batch; else one is chosen.",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", "-T", help="The steps you can afford.")
    ] = None,
    accuracy: Annotated[float, typer.Option(help="Target for (f - f*)/(f(0) - f*).")] = 1e-6,
    plot: Annotated[
        Path | None, typer.Option(help="Write a picture: steps and evaluations by batch size.")
    ] = None,
    json: Json = False,
) -> None:
    """Which batch, step, momentum and number of steps the data of FILE ask for, and why."""
    from . import LeastSquares, Logistic
    from . import plan as make_plan
    from .experiments import figures, plans

    if plot is not None:
        _check_folder("--plot", plot)
        figures.require_matplotlib()
    problem = (LeastSquares if loss == "squared" else Logistic)(*_table(file), l2=l2)
    found = make_plan(problem, batch_size, steps, accuracy)
    if plot is not None:
        _save_figure(plans.picture(found), plot)
    if json:
        show_json(found.to_dict())
    else:
        say(str(found))
