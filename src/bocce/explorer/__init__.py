"""The explorer: a page that shows which batch size momentum needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .describe import describe

__all__ = ["describe", "page"]

HERE = Path(__file__).parent
# The functions whose numbers the tests compare with Python's, and the page around them.
CORE = ("theory", "schedules", "auto", "exact")
PAGE = (
    "sample",
    "state",
    "model",
    "words",
    "chart",
    "curves",
    "batches",
    "phases",
    "plane",
    "story",
    "main",
)


def script(names: tuple[str, ...]) -> str:
    """The JavaScript of these modules, one after another."""
    return "\n".join((HERE / f"{name}.js").read_text("utf-8") for name in names)


def page(data: dict[str, Any] | None = None) -> str:
    """The whole page as one HTML text.

    Parameters
    ----------
    data : dict, optional, optional
        The result of ``explorer.describe`` for a data set; the page starts with it.

    Returns
    -------
    str
        A self-contained page: it opens from a file and asks the network for nothing.

    Examples
    --------
    >>> from bocce import explorer
    >>> len(explorer.page().encode()) < 200_000
    True
    """
    found = json.dumps(data).replace("<", "\\u003c")  # a name cannot end the script
    parts = {
        "/*style*/": (HERE / "style.css").read_text("utf-8"),
        "/*data*/": f"const DATA = {found}, GALLERY = {(HERE / 'gallery.json').read_text()};",
        "/*script*/": script(CORE + PAGE),
    }
    text = (HERE / "page.html").read_text("utf-8")
    for place, part in parts.items():
        text = text.replace(place, part)
    return text
