"""What all pictures share. Matplotlib is an extra: it is imported when a picture is drawn."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from .._extras import install


def require_matplotlib() -> None:
    """Raise, before any work, if pictures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise ImportError(f"pictures need matplotlib; run {install('plots')}.")


def blank(title: str, xlabel: str, ylabel: str) -> tuple[Any, Any]:
    """A figure with one pair of axes, labelled. No global state: pyplot is not used."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.grid(alpha=0.3)
    return figure, axes
