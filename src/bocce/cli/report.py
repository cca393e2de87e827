"""``bocce report``: the page again, from what is stored."""

from __future__ import annotations

from ._options import Json
from ._paper import Folder
from ._terminal import progress, say, show_json


def report(folder: Folder, json: Json = False) -> None:
    """Write report.html and claims.json again from stored results.

    Uses what DIR holds; nothing is run.

    \b
    Examples:
      bocce report results
    """
    from ..paper import report as reports
    from ..paper import runner

    with progress("reading the cells") as tell:
        results = runner.load(folder)
        tell("judging the claims, writing the report")
        page = reports.Page(folder, results).publish()
    if json:
        show_json({"report": str(page)})
    else:
        say(f"wrote {page}")
