"""``bocce theory``: every threshold and bound at one setting."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bocce.cli.commands import (
    Json,
    ModelOptions,
    OptionalFile,
    Plot,
    Reading,
    check_plot,
    choice,
    choose_loss,
    complete_method,
    fill,
    grouped,
    number,
    problem_of,
    progress,
    read,
    save_figure,
    say,
    show_json,
    show_table,
)

if TYPE_CHECKING:
    from ..constants import Constant
    from ..thresholds import Row, Setting

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
        typer.Option(help="Certify the error of this method too.", autocompletion=complete_method),
    ] = None,
    l2: Annotated[float | None, typer.Option(help="Penalty l2/2 ||w||^2, with FILE (0).")] = None,
    *,
    reading: Reading,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Print every batch-size threshold and error bound for one setting.

    The first sentence says which batch is enough, for which of the theorems. Give the setting by
    numbers, or by the data of FILE. Without --ratio or FILE the thresholds are
    printed for two extremes, equal rows and one row that carries all curvature, and no bounds.
    --plot draws the batch size that is needed: by the paper, certified, and exact.

    \b
    Examples:
      bocce theory -n 10000 --kappa 200
      bocce theory -n 10000 --kappa 200 --ratio 30 -b 9000
      bocce theory mushrooms --l2 0.01 -b 4000
      bocce theory -n 2000 --plot batch.png
    """
    from bocce.schedules import REGISTRY

    from .. import thresholds

    check_plot(plot)
    numbers = {"n": n, "kappa": kappa, "ratio": ratio}
    given: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    _check_use(file, given, [*reading.given(), *["--l2"] * (l2 is not None)])
    if method is not None:
        choice("theory", "method", method, REGISTRY)
    loss = ""
    with progress("reading" if file is None else f"reading {file}") as show_progress:
        if file is None:
            settings = thresholds.from_numbers(T=steps, b=batch_size, **given)
        else:
            problem, loss = _read_problem(file, reading, l2 or 0.0)
            show_progress("constants")
            settings = [thresholds.from_problem(problem, T=steps, b=batch_size)]
        show_progress("thresholds and bounds")
        tables = [thresholds.table(setting, method) for setting in settings]
        if plot is not None:
            show_progress("thresholds of other condition numbers, for the picture")
            first = settings[0]
            save_figure(thresholds.picture(thresholds.sweep(first), first.n), plot)
    if json:
        _show_json(settings, tables)
        return
    if loss:
        say(fill(loss))
    _show(settings, tables)
    if plot is not None:
        say(f"\nwrote {plot}")


def _read_problem(file: str, reading: Reading, l2: float) -> tuple[Any, str]:
    """The problem of a file, and a sentence about its loss where labels decided it."""
    data = read(file, reading)
    chosen = choose_loss(data, None)
    if chosen.name == "softmax":
        raise ValueError(
            f"{chosen.why}, must have two: the theorems are about one score a row; use "
            f"`bocce plan {file} --target {data.target}`, which takes any number of labels."
        )
    sentence = f"loss: {chosen.name} ({chosen.why}). {OTHER_LOSS}" if chosen.why else ""
    return problem_of(data, ModelOptions(chosen.name, l2, False, False)), sentence


def _show_json(settings: list[Setting], tables: list[list[Row]]) -> None:
    from ..constants import constants

    found = [
        {
            "setting": _plain(setting),
            "rows": [asdict(row) for row in rows],
            "constants": [asdict(constant) for constant in constants(setting)],
        }
        for setting, rows in zip(settings, tables)
    ]
    show_json(found[0] if len(found) == 1 else {"ends": found})


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
    from ..constants import constants

    first = settings[0]
    one = len(settings) == 1
    letters = ("L", "mu", "L_max", "D", "chi2", "sigma2") if one else ("L", "mu")
    say(fill(_opening(settings)) + "\n")
    say(f"n={first.n} b={first.b} T={first.T}")
    say(fill(" ".join(f"{letter}={number(getattr(first, letter))}" for letter in letters)))
    if not one:
        say("\n" + fill(EXTREMES))
    for group in dict.fromkeys(row.group for row in tables[0]):
        members = [rows for rows in zip(*tables) if rows[0].group == group]
        bounds = any(rows[0].quantity for rows in members)
        if one:
            say("")
            if bounds:
                _show_bounds(group, [rows[0] for rows in members], first.D)
            else:
                _show_values(group, [rows[0] for rows in members])
            continue
        if bounds:  # of both extremes only what is certified of a method
            group = f"E||w_T - w*||^2, T={first.T}"
            members = [rows for rows in members if rows[0].name.startswith("certified, ")]
        if members and not group.startswith("rate"):
            say("")
            cells = [(r[0].name, *(number(row.value) for row in r), _note(r)) for r in members]
            show_table((group, *ENDS, ""), cells, unbroken=(1, 2))
    if one:
        say("")
        _show_constants(constants(first))


def _show_values(group: str, rows: list[Row]) -> None:
    if any(row.valid is not None for row in rows):
        holds = "holds"
    else:
        holds = ""
    cells = [(row.name, number(row.value), HOLDS[row.valid], row.note) for row in rows]
    show_table((group, "", holds, ""), cells, unbroken=(1, 2))


def _show_bounds(group: str, rows: list[Row], start: float) -> None:
    """Bounds and their reasons, which are long and repeat: each is printed once, below."""
    reasons = list(dict.fromkeys(row.note for row in rows))
    cells = [
        (r.name, r.quantity, _level(r, start), HOLDS[r.valid], f"({reasons.index(r.note) + 1})")
        for r in rows
    ]
    show_table((group, "of", "", "holds", "why"), cells, unbroken=(3, 4))
    show_table(("", ""), [(f"({i})", reason) for i, reason in enumerate(reasons, 1)])


def _level(row: Row, start: float) -> str:
    """The bound in three digits; a bound above the start, however large, says nothing."""
    assert row.value is not None
    if row.value <= (start**2 if "^2" in row.quantity else start):
        return f"{row.value:.3g}"
    return "above the start" if row.quantity else "none"


def _show_constants(found: list[Constant]) -> None:
    cells = [
        (c.theorem, c.name, c.formula, f"{c.line}", _short(c.printed), _short(c.corrected))
        for c in found
    ]
    head = ("constants of", "", "formula", "line", "printed", "corrected")
    show_table(head, cells, unbroken=(3, 4, 5), right=(3, 4, 5))


def _short(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}"


def _opening(settings: list[Setting]) -> str:
    """Which batch is enough, for which of the theorems, in a sentence."""

    def rows(values: list[float]) -> str:
        return " or ".join(dict.fromkeys(f"{math.ceil(value):,}" for value in values))

    paper = rows([s.paper_batch for s in settings])
    certified = rows([s.certified_batch for s in settings])
    ends = f" ({' or '.join(ENDS)})" * (len(settings) > 1)
    return (
        f"Theorem 1 holds for every batch; Theorem 2, Theorem 4 and the two-phase theorem need "
        f"{paper} of {settings[0].n:,} rows{ends}; by Theorem S {certified} are enough for "
        "accelerated heavy ball to be stable."
    )


def _note(rows: tuple[Row, ...]) -> str:
    """The note, where it is about all settings."""
    if len({row.note for row in rows}) == 1:
        return rows[0].note
    return ""
