"""The code of the tutorials and of the questions runs as printed, and its checks hold."""

import doctest
import inspect
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bocce import engines, losses, schedules
from bocce.plane import METRICS

REGISTRIES = (engines.REGISTRY, losses.REGISTRY, schedules.REGISTRY, METRICS)
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
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
def own_registries():
    """A tutorial may register what it adds; the next test does not see it."""
    before = [(registry, dict(registry)) for registry in REGISTRIES]
    yield
    for registry, entries in before:
        registry.clear()
        registry.update(entries)


def test_there_is_a_tutorial_for_each_part():
    parts = ["engine", "loss", "metric", "penalty", "policy", "schedule"]
    assert [page.stem for page in TUTORIALS] == parts


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_tutorial_runs_and_its_checks_hold(page, own_registries, capsys):
    text = page.read_text(encoding="utf-8")
    check = text.split("\n## The check\n")[1]
    assert "\n".join(FENCE.findall(check)).count("assert ") >= 3
    names = {"__name__": page.stem}
    exec(compile("\n".join(FENCE.findall(text)), str(page), "exec"), names)
    for thing in list(names.values()):
        if getattr(thing, "__module__", "") == page.stem and inspect.getdoc(thing):
            for example in doctest.DocTestFinder().find(thing, globs=names):
                passed(example)


def test_a_penalty_takes_a_page_of_forty_lines():
    assert len((DOCS / "extend" / "penalty.md").read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("page", ["loss", "engine", "metric"])
def test_what_the_page_adds_is_one_file_that_inherits_its_tests(page, tmp_path):
    """The page's first block of code, saved as a module, and the command that the page prints."""
    text = (DOCS / "extend" / f"{page}.md").read_text(encoding="utf-8")
    file = FENCE.findall(text)[0]
    command = re.findall(r"^    python (-m pytest .*)$", text, re.MULTILINE)[0].split()
    module = command[command.index("-p") + 1]
    assert file.startswith(f'"""{module}.py: ')
    assert len(file.splitlines()) <= {"loss": 40, "engine": 60, "metric": 60}[page]
    (tmp_path / f"{module}.py").write_text(file, encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, *command, "-q", "-x", "-p", "no:cacheprovider", "--timeout=0"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    passed_here = re.search(r"^(\d+) passed", run.stdout.splitlines()[-1])
    assert passed_here is not None
    assert int(passed_here[1]) >= {"loss": 100, "engine": 100, "metric": 30}[page]


@pytest.mark.parametrize("code", list(questions()))
def test_the_answer_prints_what_it_says(code, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    passed(doctest.DocTestParser().get_doctest(code, {}, "faq", "docs/faq.md", 0))


def test_the_estimators_agree_as_the_page_for_newcomers_says():
    """The one block of coming-from.md; its assertion compares the coefficients."""
    (code,) = FENCE.findall((DOCS / "coming-from.md").read_text(encoding="utf-8"))
    assert "assert np.allclose(ours.coef_, theirs.coef_" in code
    exec(compile(code, "coming-from.md", "exec"), {})


def passed(example):
    report = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=report.append)
    assert result.failed == 0, "".join(report)
