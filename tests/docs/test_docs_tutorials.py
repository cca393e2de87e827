"""The code of the tutorials and of the questions runs as printed, and its checks hold."""

import doctest
import inspect
import re
import tempfile
from pathlib import Path

import pytest

from bocce.schedules import REGISTRY

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted((DOCS / "extend").glob("*.md"))
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def questions():
    """The answers that have code; those with torch are run where torch is."""
    for section in (DOCS / "faq.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        title, code = section.split("\n", 1)[0], "\n".join(FENCE.findall(section))
        if code and "import torch" not in code and ", torch" not in code:
            yield pytest.param(code, id=title)


@pytest.fixture
def own_registry():
    """A tutorial may register a method; the next test does not see it."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def test_there_is_a_tutorial_for_each_part():
    assert [page.stem for page in TUTORIALS] == ["engine", "problem", "schedule"]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_tutorial_runs_and_its_checks_hold(page, own_registry, capsys):
    text = page.read_text(encoding="utf-8")
    check = text.split("\n## The check\n")[1]
    assert sum("assert" in block for block in FENCE.findall(check)) >= 3
    names = {"__name__": page.stem}
    exec(compile("\n".join(FENCE.findall(text)), str(page), "exec"), names)
    for thing in filter(inspect.isfunction, list(names.values())):
        if thing.__module__ == page.stem:
            for example in doctest.DocTestFinder().find(thing, globs=names):
                passed(example)


@pytest.mark.parametrize("code", list(questions()))
def test_the_answer_prints_what_it_says(code, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    passed(doctest.DocTestParser().get_doctest(code, {}, "faq", "docs/faq.md", 0))


def passed(example):
    report = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=report.append)
    assert result.failed == 0, "".join(report)
