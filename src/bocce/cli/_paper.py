"""What the commands about the paper share: the folder argument and the table of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._terminal import say, show_table

if TYPE_CHECKING:
    from ..paper.verdicts import Verdict

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that `bocce reproduce` filled.")
]


def show_verdicts(verdicts: list[Verdict]) -> None:
    """A row a claim, then how many there are of each verdict."""
    from ..paper.judge import summed

    rows = []
    for v in verdicts:
        scores = "; ".join(f"{setting} {score}" for setting, score in v.score.items())
        reading = " (depends on the reading)" * v.depends_on_reading
        rows.append((v.claim.kind, v.claim.id, v.word + reading, scores))
    show_table(("kind", "claim", "verdict", "cases met"), rows)
    say("")
    for line in summed(verdicts):
        say(line)
