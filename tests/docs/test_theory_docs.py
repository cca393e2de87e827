"""Every number on these pages is what the command above it prints."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
OTHERS = ("deviations", "getting-started", "choosing", "plane")
PAGES = [*sorted((DOCS / "theory").glob("*.md")), *(DOCS / f"{name}.md" for name in OTHERS)]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_there_is_a_page_for_every_result():
    names = {page.stem for page in PAGES}
    assert names >= {"exponential", "misestimation", "accelerated", "bounded-noise", "lower-bound"}
    assert names >= {"multistage", "two-phase", "certificate", "lookahead", "index", "deviations"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_prints_what_it_says(page):
    blocks = FENCE.findall(page.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(
        "\n".join(block.rstrip() + "\n" for block in blocks), {}, page.stem, str(page), 0
    )
    report: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_functions_and_pages_it_names_exist(page):
    from bocce import theory

    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"theory\.([a-z_A-Z0-9]+)", text):
        assert hasattr(theory, name), name
    for link in re.findall(r"\]\(([^)#]+\.md)\)", text):
        assert (page.parent / link).exists(), link
