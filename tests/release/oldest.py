"""Print each lower bound of pyproject.toml as an exact pin, for ``make test-oldest``.

>>> pin("rich>=13"), pin("ray[data]>=2.30")
('rich==13', 'ray[data]==2.30')
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def pin(requirement: str) -> str:
    """``name>=version`` as ``name==version``; anything else has no one oldest version."""
    found = re.fullmatch(r"([A-Za-z0-9_.-]+(?:\[[a-z,]+\])?)>=([0-9.]+)", requirement)
    if found is None:
        raise ValueError(f"pin: requirement={requirement!r} must be name>=version.")
    return "{}=={}".format(*found.groups())


def pins(extras: list[str]) -> list[str]:
    """Of what bocce always needs, then of each extra."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][name] for name in extras)]
    return [pin(requirement) for requirements in lists for requirement in requirements]


if __name__ == "__main__":
    print(*pins(sys.argv[1:]), sep="\n")
