"""``bocce methods``: what ``--method`` may be."""

from __future__ import annotations

from ._options import Json
from ._terminal import show_json, show_table


def methods(json: Json = False) -> None:
    """List the methods, and the constants they need.

    \b
    Examples:
      bocce methods
      bocce methods --json
    """
    from ..control import registry

    known = registry().values()
    if json:
        show_json([{"name": m.name, "summary": m.summary, "needs": m.needs} for m in known])
        return
    rows = [(m.name, m.summary, ", ".join(m.needs)) for m in known]
    show_table(("method", "what it is", "needs"), rows)
