"""``bocce claims`` and ``bocce report``: verdicts on what the paper says, from stored results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bocce.cli.commands import Json, progress, say, show_json, show_table

if TYPE_CHECKING:
    from ..verdicts import Verdict

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that `bocce reproduce` filled.")
]


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
    from .. import erratum as change
    from .. import judge, runner
    from .. import report as reports

    with progress("reading the cells") as show_progress:
        results = runner.load(folder)
        show_progress("judging the claims")
        found, text = reports.judged(folder, results)
    if erratum:
        say(change.erratum(found))
    elif json:
        say(text)
    elif markdown:
        say(judge.as_markdown(found))
    else:
        show_verdicts(found)


def report(folder: Folder, json: Json = False) -> None:
    """Write report.html and claims.json again from stored results.

    Uses what DIR holds; nothing is run.

    \b
    Examples:
      bocce report results
    """
    from .. import report as reports
    from .. import runner

    with progress("reading the cells") as show_progress:
        results = runner.load(folder)
        show_progress("judging the claims, writing the report")
        page = reports.Page(folder, results).publish()
    if json:
        show_json({"report": str(page)})
    else:
        say(f"wrote {page}")


def show_verdicts(verdicts: list[Verdict]) -> None:
    """A row a claim, then how many there are of each verdict."""
    from ..judge import summed

    rows = []
    for v in verdicts:
        scores = "; ".join(f"{setting} {score}" for setting, score in v.score.items())
        reading = " (depends on the reading)" * v.depends_on_reading
        rows.append((v.claim.kind, v.claim.id, v.word + reading, scores))
    show_table(("kind", "claim", "verdict", "cases met"), rows)
    say("")
    for line in summed(verdicts):
        say(line)
