"""Small tables for notebooks: a title, a few numbers, and a line drawn in the text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ._types import Vector

HTML_WIDTH = 160
HEIGHT = 28
POINTS = 120
CELL = "text-align:left;padding:1px 12px 1px 0;background:none"


class Svg(str):
    """A drawing made here of numbers; everything else is escaped."""


def table(title: str, rows: Sequence[tuple[str, object]]) -> str:
    """A table of names and values; values that are None are left out.

    >>> table("a < b", [("x", 1.23456), ("none", None)]).count("<tr")
    1
    >>> "a &lt; b" in table("a < b", [])
    True
    """
    cells = "".join(
        f'<tr><td style="{CELL};opacity:.7">{escape(name)}</td>'
        f'<td style="{CELL}">{_text(value)}</td></tr>'
        for name, value in rows
        if value is not None
    )
    return f"<div><strong>{escape(title)}</strong><table>{cells}</table></div>"


def _text(value: object) -> str:
    if isinstance(value, Svg):
        return value
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return escape(f"{value:.4g}" if isinstance(value, float | np.floating) else str(value))


def sparkline(values: Vector, name: str, log: bool = False) -> Svg | None:
    """The values as a small line; on a logarithmic scale if ``log``. None for fewer than two.

    >>> sparkline([1.0], "steps") is None
    True
    >>> 'aria-label="a &lt; b: 1 to 0.01"' in sparkline([1.0, 0.1, 0.01], "a < b", log=True)
    True
    """
    line = np.asarray(values, dtype=np.float64)
    line = line[np.linspace(0, line.size - 1, min(line.size, POINTS)).astype(int)]
    line = line[np.isfinite(line) & ((line > 0.0) | (not log))]
    if line.size < 2:
        return None
    words = escape(f"{name}: {line[0]:.3g} to {line[-1]:.3g}")
    y = np.log(line) if log else line
    spread = float(y.max() - y.min()) or 1.0
    y = HEIGHT - 2 - (HEIGHT - 4) * (y - y.min()) / spread
    x = np.linspace(1, HTML_WIDTH - 1, y.size)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    return Svg(
        f'<svg width="{HTML_WIDTH}" height="{HEIGHT}" role="img" aria-label="{words}">'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )


def schedule(s: Any) -> str:
    """A Schedule."""
    if s.beta.any():
        restarts = int(np.count_nonzero(s.beta[1:] == 0.0))
    else:
        restarts = 0
    rows: list[tuple[str, object]] = [("steps T", s.T)]
    for letter, log in (("alpha", True), ("beta", False), ("theta", False)):
        column = getattr(s, letter)
        if letter != "alpha" and not column.any():
            continue
        ends = f"{column.min():.4g} to {column.max():.4g}"
        rows.append((letter, f"{column[0]:.4g}" if np.ptp(column) == 0.0 else ends))
        rows.append(("", sparkline(column, letter, log) if np.ptp(column) > 0.0 else None))
    return table(f"Schedule {s.name or 'unnamed'}", [*rows, ("restarts", restarts or None)])


def result(r: Any) -> str:
    """A Result."""
    norms = r.history["grad_norm"]
    if norms.size:
        fall = f"{norms[0]:.3g} to {norms[-1]:.3g}"
    else:
        fall = None
    stages = ", ".join(f"{s.method}: {s.steps:,} steps of {s.batch:,} rows" for s in r.stages)
    rows = [
        ("steps", r.n_iter),
        ("gradient norm", fall),
        ("", sparkline(norms, "gradient norm", log=True)),
        ("stages", stages or None),
        ("message", r.message),
    ]
    return table(f"Result: {r.status}", rows)


def plan(p: Any) -> str:
    """A Plan."""
    stages = ", then ".join(f"{s.method} with batches of {s.batch:,}" for s in p.stages)
    steps = [point.steps for point in p.sweep]
    rows = [
        ("problem", p.problem),
        ("run", stages),
        ("passes expected", p.passes),
        ("recommended batch", p.recommended),
        ("accelerates from", p.accelerating),
        ("heavy ball is stable from", p.exact_batch),
        ("certified from", p.certified_batch),
        ("paper's b*", p.paper_batch),
        ("steps by batch size", sparkline(steps, "steps by batch size", log=True)),
        ("why", p.words),
    ]
    return table("Plan", rows)
