"""Print each lower bound of both pyproject.toml as an exact pin, for ``make test-oldest``.

>>> pin("rich>=13"), pin("ray[data]>=2.30")
('rich==13', 'ray[data]==2.30')
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pin(requirement: str) -> str:
    """``name>=version`` as ``name==version``; anything else has no one oldest version."""
    found = re.fullmatch(r"([A-Za-z0-9_.-]+(?:\[[a-z,]+\])?)>=([0-9.]+)", requirement)
    if found is None:
        raise ValueError(f"pin: requirement={requirement!r} must be name>=version.")
    return "{}=={}".format(*found.groups())


def pins(extras: list[str]) -> list[str]:
    """Of what bocce always needs, then of each extra, then of what the paper's package needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    paper = tomllib.loads((ROOT / "paper" / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][name] for name in extras)]
    lists += [[name for name in paper["dependencies"] if not name.startswith("bocce[")]]
    return [pin(requirement) for requirements in lists for requirement in requirements]


if __name__ == "__main__":
    print(*pins(sys.argv[1:]), sep="\n")
