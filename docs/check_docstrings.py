"""Check the docstrings of all public names by numpydoc's own rules: part of ``make lint``.

    python docs/check_docstrings.py

Whether every argument is described is asserted by tests/docs/test_docstrings.py, which also knows
records (``Attributes``) and contracts. Here: does a docstring describe what the signature has, in
the form that IDEs and the API pages read?
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator

import bocce

# Parameters: unknown, without type, wrong type, no capital, no period, wrong colon. Returns: form.
# Summary: missing, without period, several lines. Sections: unknown, in another order.
CHECKS = [
    *("GL06", "GL07", "PR02", "PR04", "PR06", "PR08", "PR09", "PR10"),
    *("RT02", "RT04", "RT05", "SS01", "SS03", "SS06", "YD01"),
]
FUNCTIONS = [*CHECKS, "PR01", "RT01"]  # An argument or a result that is not described.
ALLOWED = {
    ("bocce.Problem", "PR02"): "made by __new__, which chooses the kind of problem",
    ("bocce.problems.Problem", "PR02"): "made by __new__, which chooses the kind of problem",
    ("bocce.policies.Policy", "PR02"): "describes the fields that its subclasses have",
}


def public() -> Iterator[str]:
    """The whole names of public functions, classes and methods."""
    modules = {module.name for module in pkgutil.iter_modules(bocce.__path__, "bocce.")}
    for name in sorted({"bocce"} | modules - {"bocce.cli", "bocce.control"}):
        if name.startswith("bocce._"):
            continue
        try:
            room = importlib.import_module(name)
        except ImportError:  # a framework that is not installed
            continue
        for public in getattr(room, "__all__", ()):
            thing = getattr(room, public)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                yield f"{name}.{public}"
            if inspect.isclass(thing):
                own = (key for key, value in vars(thing).items() if inspect.isfunction(value))
                yield from (f"{name}.{public}.{key}" for key in own if not key.startswith("_"))


def faults(name: str) -> list[str]:
    """What numpydoc finds in one docstring."""
    from numpydoc.validate import validate

    found = validate(name)
    checks = FUNCTIONS if found["type"] == "function" and name.count(".") <= 2 else CHECKS
    return [
        f"{name}: {code} {text}"
        for code, text in found["errors"]
        if code in checks and (name, code) not in ALLOWED
    ]


def main() -> int:
    names = list(public())
    found = [fault for name in names for fault in faults(name)]
    print("\n".join(found) or f"{len(names)} docstrings: numpydoc's checks pass")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
