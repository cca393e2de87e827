"""The package rests on what Numba documents: private interfaces change without notice."""

import ast
from pathlib import Path

import numba
import pytest

import bocce

# Chapters of Numba's manual: the reference ("numba"), the high-level extension interface (functions
# written in Python; an intrinsic's body is written in terms of the compiler), and the event
# interface, "for applications to register callbacks". Objects of other modules are not documented.
PUBLIC = {
    "numba": {*numba.__all__, "types"},
    "numba.extending": {"overload", "overload_attribute", "overload_method", "register_jitable"},
    "numba.core": {"event"},
}
SOURCES = sorted(Path(bocce.__file__).parent.rglob("*.py"))


def private_imports(text):
    """What the source imports of Numba and of its compiler that is not public."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [
                alias.name for alias in node.names if _theirs(alias.name) and alias.name != "numba"
            ]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _theirs(node.module or ""):
            names = {alias.name for alias in node.names}
            found += [f"{node.module}.{name}" for name in names - PUBLIC.get(node.module, set())]
    return found


def _theirs(module):
    return module.split(".")[0] in ("numba", "llvmlite")


def test_the_sources_import_public_names_alone():
    found = {path.name: private_imports(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from numba.core import cgutils",
        "from numba.extending import intrinsic",
        "from numba import core",
        "from llvmlite import ir",
        "import numba.core.typing",
    ],
)
def test_a_private_name_is_found(line):
    assert len(private_imports(line)) == 1


def test_public_names_are_let_through():
    lines = "import numba\nfrom numba import njit, types\nfrom numba.extending import overload"
    assert private_imports(lines) == []
