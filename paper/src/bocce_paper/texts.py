"""The texts of claims, statements and exhibits: claims.toml and statements.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


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
    if isinstance(value, str):
        return " ".join(value.split())
    return value
