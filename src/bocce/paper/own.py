"""A method of your own in a figure of the paper: the same data, batch and steps, exact curves."""

from __future__ import annotations

import importlib
import sys
from dataclasses import asdict, replace
from pathlib import Path

from .._checks import refused
from ..schedules import Method, Schedule
from .canvas import curve_panels
from .compute import expected, prepared, told
from .draw import save
from .exhibit import Exhibit
from .results import FigureView, Results
from .specs import EXACT, Cell, Run

WHERE = "reproduce"


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


def with_method(results: Results, cells: list[Cell], method: Method) -> Results:
    """The results, and the exact curve of ``method`` in every panel of ``cells``."""
    outcomes = dict(results.outcomes)
    for cell in cells:
        assert isinstance(cell.job, Run)
        p, other, b, w0 = prepared(cell.job)
        given = asdict(told(cell.job, p, b, other.T))
        schedule = method.build(given.pop("T"), given)
        if not isinstance(schedule, Schedule):
            raise refused(TypeError, WHERE, "method", method.name, "a function of a Schedule")
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


def compared(results: Results, cells: list[Cell], method: Method) -> list[tuple[str, ...]]:
    """Setting, panel, where the method ends, and where the best of the others ends."""
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        label, setting, panel = cell.key[:3]
        curves = FigureView(results, label, setting).curves(panel)
        ends = {name: curve.last for name, curve in curves.items()}
        mine = ends.pop(method.name)
        best = min(ends, key=lambda name: ends[name])
        rows.append((setting, panel, f"{mine:.3g}", f"{ends[best]:.3g}", best))
    return rows
