"""``bocce claims``: a verdict on everything that the paper says."""

from __future__ import annotations

from typing import Annotated

import typer

from ._options import Json
from ._paper import Folder, show_verdicts
from ._terminal import progress, say


def claims(
    folder: Folder,
    json: Json = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print all verdicts as tables in Markdown.")
    ] = False,
    erratum: Annotated[
        bool, typer.Option("--erratum", help="Print what to change in the paper, as Markdown.")
    ] = False,
) -> None:
    """Judge every claim on the results in DIR.

    The same results print the same bytes.

    \b
    Examples:
      bocce claims results
      bocce claims results --json > claims.json
      bocce claims results --erratum > erratum.md
    """
    from ..paper import erratum as change
    from ..paper import judge, report, runner

    with progress("reading the cells") as tell:
        results = runner.load(folder)
        tell("judging the claims")
        found, text = report.judged(folder, results)
    if erratum:
        say(change.erratum(found))
    elif json:
        say(text)
    elif markdown:
        say(judge.as_markdown(found))
    else:
        show_verdicts(found)
