"""The texts of claims, statements and exhibits: claims.toml and statements.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from .verdicts import OBSERVATION, Change, Claim, Judge


@cache
def read(name: str) -> dict[str, Any]:
    """The content of a TOML file. Lists are tuples; white space counts as one space."""
    content: dict[str, Any] = _one_space(tomllib.loads((files(__package__) / name).read_text()))
    return content


def _one_space(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _one_space(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(map(_one_space, value))
    return " ".join(value.split()) if isinstance(value, str) else value


def claims(content: dict[str, Any], judges: dict[str, Judge]) -> tuple[Claim, ...]:
    """The claims of a table of TOML, in its order. Keys that are no claim hold for all claims."""
    texts = {id: row for id, row in content.items() if isinstance(row, dict)}
    assert set(texts) == set(judges), set(texts) ^ set(judges)
    shared = {"kind": OBSERVATION} | {key: content[key] for key in content if key not in texts}
    made = []
    for id, row in texts.items():
        changes = tuple(Change(**change) for change in row.get("changes", ()))
        made.append(Claim(id, judge=judges[id], **shared | row | {"changes": changes}))
    return tuple(made)
