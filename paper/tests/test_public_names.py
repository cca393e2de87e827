"""The paper's package is the first judge of bocce's public names: it uses no others."""

import ast
import importlib
from pathlib import Path

import bocce_paper

FILES = sorted(Path(bocce_paper.__file__).parent.rglob("*.py"))


def modules(tree):
    """The modules of bocce that a file imports, by the name that they have in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.asname or a.name, a.name) for a in node.names if a.name[:5] == "bocce")
        elif isinstance(node, ast.ImportFrom) and node.module == "bocce":
            yield from ((a.asname or a.name, f"bocce.{a.name}") for a in node.names)


def used(source):
    """(module of bocce, name) wherever a file imports a name, or asks a module for it."""
    tree = ast.parse(source)
    known = dict(modules(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            if (node.module or "").split(".")[0] == "bocce":
                yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in known:
            yield known[ast.unparse(node.value)], node.attr


def private(module, name):
    """Is the name, or a part of the module's, private, or left out of ``__all__``?"""
    parts = (
        [*module.split("."), name.strip("_")] if name[:2] == "__" else [*module.split("."), name]
    )
    if any(part.startswith("_") for part in parts):
        return True
    try:
        room = importlib.import_module(module)
    except ModuleNotFoundError:  # a class or function of bocce, whose attributes are public
        return False
    return name not in room.__all__


def test_only_public_names_of_bocce_are_used():
    found = {(file.name, *place) for file in FILES for place in used(file.read_text())}
    assert ("compute.py", "bocce.exact", "expected") in found
    assert ("authors.py", "bocce.schedules", "momentum") in found
    assert {place for place in found if private(*place[1:])} == set()


def test_the_check_sees_what_is_private():
    source = """
from bocce import schedules, _checks
from bocce.cli._terminal import say
import bocce.theory
schedules._rules, bocce.theory.edge
"""
    assert {place for place in used(source) if private(*place)} == {
        ("bocce", "_checks"),
        ("bocce.cli._terminal", "say"),
        ("bocce.schedules", "_rules"),
    }
