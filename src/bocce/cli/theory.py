"""``bocce theory``: every threshold and bound at one setting."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ._options import Json, OptionalFile, Plot, check_plot, problem_of, rows_of, save_figure
from ._terminal import number, progress, say, show_json, show_table


def theory(
    file: OptionalFile = None,
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
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Every threshold and bound at one setting.

    The setting is given by numbers, or by the data of FILE. The picture shows which batch size is
    needed, by the paper, by the certificate and in truth.

    \b
    Examples:
      bocce theory -n 10000 --kappa 200 -b 9000
      bocce theory mushrooms --l2 0.01 -b 4000
      bocce theory -n 2000 --plot batch.png
    """
    from ..paper import thresholds

    check_plot(plot)
    numbers = {"n": n, "kappa": kappa, "ratio": ratio}
    given = {name: value for name, value in numbers.items() if value is not None}
    if file is None and l2 is not None:
        raise ValueError("theory: --l2 is about the data of a FILE; give one, or leave it out.")
    if file is not None and given:
        raise ValueError(f"theory: FILE decides {', '.join(given)}; give it or them, not both.")
    with progress("reading" if file is None else f"reading {file}") as tell:
        if file is None:
            setting = thresholds.from_numbers(T=steps, b=batch_size, **given)
        else:
            problem = problem_of(rows_of(file), "squared", l2 or 0.0)
            tell("constants")
            setting = thresholds.from_problem(problem, T=steps, b=batch_size)
        tell("thresholds and bounds")
        rows = thresholds.table(setting)
        if plot is not None:
            tell("thresholds of other condition numbers, for the picture")
            save_figure(thresholds.picture(thresholds.sweep(setting), setting.n), plot)
    if json:
        known = {name: value for name, value in vars(setting).items() if name != "problem"}
        show_json({"setting": known, "rows": [asdict(row) for row in rows]})
    else:
        _show(setting, rows)


def _show(setting: Any, rows: list[Any]) -> None:
    say(f"n={setting.n} b={setting.b} T={setting.T}")
    letters = ("L", "mu", "L_max", "D", "chi2", "sigma2")
    constants = " ".join(f"{letter}={number(getattr(setting, letter))}" for letter in letters)
    say(textwrap.fill(constants, 80))
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
