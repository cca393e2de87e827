"""One page says how to install, it is true today, and everything else refers to it."""

import re
import tomllib
from pathlib import Path

from bocce._extras import install

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "install.md"


def test_the_page_lists_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = set(re.findall(r"`(\w+)`", PAGE.read_text()))
    assert set(extras) <= named


def test_nobody_else_says_how_to_install_from_a_release():
    """Without a release, pip finds no package of the name bocce."""
    texts = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), *ROOT.glob("examples/**/*.py")]
    said = [path for path in texts if re.search(r"pip install ['\"]?bocce", path.read_text())]
    assert said == []


def test_errors_say_what_the_page_says():
    assert install("sklearn").split(" in a clone")[0] in PAGE.read_text()
