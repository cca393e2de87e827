"""What the commands about the paper share: the folder argument and the table of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._terminal import show_table

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that `bocce reproduce` filled.")
]


def show_verdicts(verdicts: list[Any]) -> None:
    rows = []
    for v in verdicts:
        scores = "; ".join(f"{setting} {score}" for setting, score in v.score.items())
        reading = " (depends on the reading)" * v.depends_on_reading
        rows.append((v.claim.kind, v.claim.id, v.word + reading, scores))
    show_table(("kind", "claim", "verdict", "cases met"), rows)
