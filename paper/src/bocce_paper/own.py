"""Your own method, or your own rows, in figures of the paper: exact curves beside the paper's."""

from __future__ import annotations

import importlib
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path

from bocce import methods
from bocce.cli.commands import refused
from bocce.schedules import Method, Schedule

from .canvas import Picture, curve_panels
from .compute import compute, expected, known_by, prepared, problem
from .draw import save
from .exhibit import Exhibit
from .exhibits.fig03_quad import METHODS, PAPER_T
from .methods import COSINE as COSINE
from .methods import cosine as cosine
from .results import FigureView, Results
from .specs import EXACT, Cell, Data, Profile, Run
from .styles import NAMED, YOURS

WHERE = "reproduce"
MOST_COLUMNS = 60  # With more columns exact curves take minutes.
ROWS = "own rows"  # The setting of a figure on a file.


def with_besides(mine: Method | None) -> list[Method]:
    """The own method, if any, and what every table of own methods shows: `auto` and a cosine."""
    besides = [methods()["auto"], Method(COSINE, cosine, "momentum 0.9, half a cosine")]
    if mine is None:
        return besides
    return [mine, *(method for method in besides if method.name != mine.name)]


def load(text: str) -> Method:
    """The method that ``module:function`` names; the module may lie in the working folder.

    The function takes T, and by their names those of L, mu, L_max, kappa_tilde, n and b that it
    wants, and returns a Schedule: as the factories of ``bocce.schedules`` do.

    Raises
    ------
    ValueError, TypeError
        There is no such module or function.

    Examples
    --------
    >>> load("bocce.schedules:shb").needs
    ('L', 'mu')
    """
    module, _, name = text.partition(":")
    if not module or not name.isidentifier():
        raise refused(ValueError, WHERE, "method", text, "module:function", "such as mine:method")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        factory = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        rule = "a module that Python finds"
        remedy = f"{error}; give a file of the working folder without .py, or set PYTHONPATH"
        raise refused(ValueError, WHERE, "method", text, rule, remedy) from None
    if not callable(factory):
        raise refused(TypeError, WHERE, "method", text, f"a function of the module {module}")
    return Method(name, factory, f"{text}, your own")


def judged(cells: list[Cell]) -> list[Cell]:
    """One cell a panel that has an exact curve: where a method can be put beside the others."""
    panels = {c.key[:3]: c for c in cells if c.seed == EXACT and isinstance(c.job, Run)}
    if not panels:
        raise ValueError(
            f"{WHERE}: --method needs a figure with exact curves, such as fig3; leave it out, or "
            "name one."
        )
    return list(panels.values())


def named(method: Method, cell: Cell) -> Method:
    """The method by the name of its schedule, where that has one, with a style of its own."""
    name = _built(method, cell)[1].name or method.name
    NAMED.setdefault(name, YOURS)
    return replace(method, name=name)


def _built(method: Method, cell: Cell) -> tuple[Run, Schedule]:
    """The cell's run, and the schedule of the method with all that a method of the cell gets."""
    assert isinstance(cell.job, Run)
    p, other, b, _ = prepared(cell.job)
    given = asdict(known_by(cell.job, p, b, other.T))
    schedule = method.build(given.pop("T"), given)
    if not isinstance(schedule, Schedule):
        raise refused(TypeError, WHERE, "method", method.name, "a function of a Schedule")
    return cell.job, schedule


def with_method(results: Results, cells: list[Cell], method: Method) -> Results:
    """The results, and the exact curve of ``method`` in every panel of ``cells``."""
    outcomes = dict(results.outcomes)
    for cell in cells:
        run, schedule = _built(method, cell)
        p, _, b, w0 = prepared(run)
        outcomes[(*cell.key[:3], method.name, EXACT)] = expected(p, schedule, b, w0)
    return Results(outcomes)


def draw(results: Results, figure: Exhibit, method: Method, folder: Path) -> list[Path]:
    """The figure with one more line in each panel, for each setting that is there."""
    written = []
    for setting in results.settings(figure.label):
        view = FigureView(results, figure.label, setting)
        there = [m for panel in view.panels for m in view.methods(panel)]
        names = (*(m for m in dict.fromkeys(there) if m != method.name), method.name)
        picture = figure.drawn(results, setting)
        more = curve_panels(view, names)
        picture = replace(picture, name=f"{picture.name}-{method.name}", panels=tuple(more))
        written += save(picture, folder)
    return written


def compared(results: Results, cells: list[Cell], own: list[Method]) -> list[tuple[str, ...]]:
    """Setting, panel, where each of ``own`` ends, and where the best of the paper's ends."""
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        label, setting, panel = cell.key[:3]
        curves = FigureView(results, label, setting).curves(panel)
        ends = {name: curve.last for name, curve in curves.items()}
        mine = [f"{ends.pop(method.name):.3g}" for method in own]
        best = min(ends, key=lambda name: ends[name])
        rows.append((setting, panel, *mine, f"{ends[best]:.3g}", best))
    return rows


# ---------------------------------------------------------------- rows of your own


def rows_cells(file: str, profile: Profile) -> list[Cell]:
    """The cells of figure 3 with the rows of a file in the place of the paper's: exact curves.

    The columns of the file are standardised and its target is centred; the batch is 0.9 n, and T
    that of the paper.
    """
    data = Data("file", file)
    d = problem(data).d
    if d > MOST_COLUMNS:
        raise ValueError(
            f"reproduce: --data {file} has {d} columns, must have at most {MOST_COLUMNS}, because "
            "exact curves of more columns take minutes; choose some columns."
        )
    T = profile.steps(PAPER_T)
    runs = {rule: Run(data, rule, "paper", 0.9, T) for rule in METHODS}
    panel = Path(file).stem
    return [Cell("shb_quad", ROWS, panel, rule, EXACT, run) for rule, run in runs.items()]


def on_rows(cells: list[Cell], more: list[Method]) -> Results:
    """What the methods of figure 3, and ``more`` of them, do on own rows; nothing is stored."""
    results = Results({cell.key: compute(cell) for cell in cells})
    for method in more:
        results = with_method(results, cells[:1], method)
    return results


def draw_rows(results: Results, figure: Exhibit, folder: Path) -> list[Path]:
    """Figure 3 with one panel, that of own rows."""
    view = FigureView(results, figure.label, ROWS)
    (panel,) = view.panels
    title = f"{figure.title}: {panel}"
    drawn = Picture(
        f"{figure.label}-{panel}", title, 1, curve_panels(view, tuple(view.methods(panel)))
    )
    return save(drawn, folder)


def ends_on_rows(results: Results) -> list[tuple[str, str, str]]:
    """Each method, where it starts and where it ends, the best first."""
    view = FigureView(results, "shb_quad", ROWS)
    (panel,) = view.panels
    curves = view.curves(panel).items()
    ordered = sorted(curves, key=lambda row: (not math.isfinite(row[1].last), row[1].last))
    return [(name, f"{c.start:.3g}", f"{c.last:.3g}") for name, c in ordered]
