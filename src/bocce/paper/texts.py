"""Claims and statements as text: claims.toml and statements.toml, beside this file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .verdicts import OBSERVATION, Change, Claim, Finding, Judge

PAGE = "docs/theory/{}.md"


@dataclass(frozen=True)
class Statement:
    """A theorem, corollary or lemma: where it stands, what it says, and what to change in it.

    ``root`` is the label of the statement whose slip this one inherits; ``proof`` the page that
    proves the corrected form.
    """

    id: str
    label: str
    name: str
    line: int
    says: str
    verdict: str
    because: str
    proof: str
    quote: str = ""
    changes: tuple[Change, ...] = ()
    root: str = ""


@cache
def read(name: str) -> dict[str, Any]:
    """A file of text, with white space as one space."""
    content: dict[str, Any] = _one_space(tomllib.loads((files(__package__) / name).read_text()))
    return content


def _one_space(value: Any) -> Any:
    """Lists as tuples, and white space as one space: lines are wrapped for the reader alone."""
    if isinstance(value, dict):
        return {key: _one_space(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(map(_one_space, value))
    return " ".join(value.split()) if isinstance(value, str) else value


def claims(figure: str, /, *judges: Callable[..., Finding], **others: Judge) -> tuple[Claim, ...]:
    """The claims of an exhibit, in the order of claims.toml. A judge is a function whose name is
    the claim's id; others are given by keyword."""
    content = read("claims.toml")[figure]
    texts = {id: row for id, row in content.items() if isinstance(row, dict)}
    named: dict[str, Judge] = {judge.__name__: judge for judge in judges} | others
    assert set(texts) == set(named), figure
    shared = {"kind": OBSERVATION} | {key: content[key] for key in content if key not in texts}
    return tuple(Claim(id, judge=named[id], **shared | row) for id, row in texts.items())


def _change(row: dict[str, Any]) -> Change:
    proof = row.get("proof", "")
    return Change(**row | {"proof": PAGE.format(proof) if proof else ""})


def _statement(id: str, row: dict[str, Any]) -> Statement:
    changes = tuple(map(_change, row.get("changes", ())))
    return Statement(id, **row | {"proof": PAGE.format(row["proof"]), "changes": changes})


def _statements() -> tuple[Statement, ...]:
    rows = read("statements.toml").items()
    return tuple(_statement(id, row) for id, row in rows if isinstance(row, dict))


STATEMENTS = _statements()
# Slips outside the statements; with T = psi n (line 372) one of them is a remark that is judged.
OTHER = tuple(map(_change, read("statements.toml")["other"]))
HORIZON = next(change for change in OTHER if change.line == 372)
