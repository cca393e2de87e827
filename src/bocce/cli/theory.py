"""``bocce theory``: every threshold and bound at one setting."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._data import choose_loss, problem_of, read
from ._options import Json, ModelOptions, OptionalFile, Plot, Reading, _methods, grouped
from ._terminal import check_plot, fill, number, progress, save_figure, say, show_json, show_table

if TYPE_CHECKING:
    from ..run.thresholds import Row, Setting

OTHER_LOSS = (
    "Theorem 1 covers this loss. The other results are for least squares with the same curvature."
)
EXTREMES = (
    "The thresholds depend on L_max/L, the steepest row over the mean. Two extremes are shown: "
    "equal rows (alike, L_max/L = 1) and one row with all curvature (L_max/L = n). Give --ratio or "
    "a FILE for one column, and for bounds and rates."
)
ENDS = ("alike", "one row")
HOLDS = {True: "yes", False: "no", None: ""}


@grouped
def theory(
    file: OptionalFile = None,
    n: Annotated[int | None, typer.Option("-n", help="Rows, without FILE (10000).")] = None,
    kappa: Annotated[
        float | None, typer.Option(help="Condition number L/mu, without FILE (1000).")
    ] = None,
    ratio: Annotated[
        float | None,
        typer.Option(help="L_max/L, the steepest row over the mean, 1 to n; without FILE."),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", "-T", help="Number of steps.")] = 7000,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", "-b", help="Rows in a batch; all if not given.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Certify the error of this method too.", autocompletion=_methods),
    ] = None,
    l2: Annotated[float | None, typer.Option(help="Penalty l2/2 ||w||^2, with FILE (0).")] = None,
    *,
    reading: Reading,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Print every batch-size threshold and error bound for one setting.

    Give the setting by numbers, or by the data of FILE. Without --ratio or FILE the thresholds are
    printed for two extremes, equal rows and one row that carries all curvature, and no bounds.
    --plot draws the batch size that is needed: by the paper, certified, and exact.

    \b
    Examples:
      bocce theory -n 10000 --kappa 200
      bocce theory -n 10000 --kappa 200 --ratio 30 -b 9000
      bocce theory mushrooms --l2 0.01 -b 4000
      bocce theory -n 2000 --plot batch.png
    """
    from .. import _pictures
    from .._checks import choice
    from ..run import thresholds
    from ..schedules import REGISTRY

    check_plot(plot)
    numbers = {"n": n, "kappa": kappa, "ratio": ratio}
    given: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    _check_use(file, given, [*reading.given(), *["--l2"] * (l2 is not None)])
    if method is not None:
        choice("theory", "method", method, REGISTRY)
    with progress("reading" if file is None else f"reading {file}") as tell:
        if file is None:
            settings = thresholds.from_numbers(T=steps, b=batch_size, **given)
        else:
            data = read(file, reading)
            chosen = choose_loss(data, None)
            if chosen.name == "softmax":
                raise ValueError(
                    f"{chosen.why}, must have two: the theorems are about one score a row; use "
                    f"`bocce plan {file} --target {data.target}`, which takes any number of labels."
                )
            problem = problem_of(data, ModelOptions(chosen.name, l2 or 0.0, intercept=False))
            tell("constants")
            settings = [thresholds.from_problem(problem, T=steps, b=batch_size)]
        tell("thresholds and bounds")
        tables = [thresholds.table(setting, method) for setting in settings]
        if plot is not None:
            tell("thresholds of other condition numbers, for the picture")
            first = settings[0]
            save_figure(_pictures.thresholds(thresholds.sweep(first), first.n), plot)
    if json:
        found = [
            {"setting": _plain(setting), "rows": [asdict(row) for row in rows]}
            for setting, rows in zip(settings, tables)
        ]
        show_json(found[0] if len(found) == 1 else {"ends": found})
        return
    if file is not None and chosen.why:
        say(fill(f"loss: {chosen.name} ({chosen.why}). {OTHER_LOSS}"))
    _show(settings, tables)
    if plot is not None:
        say(f"\nwrote {plot}")


def _check_use(file: str | None, given: dict[str, float], about_file: list[str]) -> None:
    """Numbers or a FILE, not both."""
    if file is None and about_file:
        options = " and ".join(about_file)
        raise ValueError(f"{options} is about the data of a FILE; give one, or leave it out.")
    if file is not None and given:
        options = " and ".join("-n" if name == "n" else f"--{name}" for name in given)
        raise ValueError(f"FILE decides what {options} would; give it or them, not both.")


def _plain(setting: Setting) -> dict[str, Any]:
    """The numbers of a setting, for programs."""
    return {f.name: getattr(setting, f.name) for f in fields(setting) if f.name != "problem"}


def _show(settings: list[Setting], tables: list[list[Row]]) -> None:
    """The thresholds in one column, with bounds and rates; or in two, for both extremes."""
    first, one = settings[0], len(settings) == 1
    letters = ("L", "mu", "L_max", "D", "chi2", "sigma2") if one else ("L", "mu")
    say(f"n={first.n} b={first.b} T={first.T}")
    say(fill(" ".join(f"{letter}={number(getattr(first, letter))}" for letter in letters)))
    if not one:
        say("\n" + fill(EXTREMES))
    for group in dict.fromkeys(row.group for row in tables[0]):
        members = [rows for rows in zip(*tables) if rows[0].group == group]
        bounds = any(rows[0].quantity for rows in members)
        if one:
            say("")
            (_show_bounds if bounds else _show_values)(group, [rows[0] for rows in members])
            continue
        if bounds:  # of both extremes only what is certified of a method
            group = f"E||w_T - w*||^2, T={first.T}"
            members = [rows for rows in members if rows[0].name.startswith("certified, ")]
        if members and not group.startswith("rate"):
            say("")
            cells = [(r[0].name, *(number(row.value) for row in r), _note(r)) for r in members]
            show_table((group, *ENDS, ""), cells, whole=(1, 2))


def _show_values(group: str, rows: list[Row]) -> None:
    holds = "holds" if any(row.valid is not None for row in rows) else ""
    cells = [(row.name, number(row.value), HOLDS[row.valid], row.note) for row in rows]
    show_table((group, "", holds, ""), cells, whole=(1, 2))


def _show_bounds(group: str, rows: list[Row]) -> None:
    """Bounds and their reasons, which are long and repeat: each is printed once, below."""
    reasons = list(dict.fromkeys(row.note for row in rows))
    cells = [
        (r.name, r.quantity, number(r.value), HOLDS[r.valid], f"({reasons.index(r.note) + 1})")
        for r in rows
    ]
    show_table((group, "of", "", "holds", "why"), cells, whole=(2, 3, 4))
    show_table(("", ""), [(f"({i})", reason) for i, reason in enumerate(reasons, 1)])


def _note(rows: tuple[Row, ...]) -> str:
    """The note, where it is about all settings."""
    return rows[0].note if len({row.note for row in rows}) == 1 else ""
