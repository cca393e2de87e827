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
        rows.append((v.claim.id + " (ours)" * v.claim.ours, v.word, scores))
    show_table(("claim", "verdict", "cases met"), rows)
