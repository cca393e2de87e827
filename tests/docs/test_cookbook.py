"""The pages of the cookbook run as printed: Python blocks as doctests, shell blocks as commands."""

import doctest
import re
import shlex
import tempfile
from pathlib import Path

import pytest

from cli_helpers import run

COOKBOOK = Path(__file__).parents[2] / "docs" / "cookbook"
PAGES = sorted(page for page in COOKBOOK.glob("*.md") if page.stem != "index")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
TITLES = {
    "LogisticRegression failed to converge",
    "A linear probe on embeddings",
    "Data that do not fit into memory",
    "A table from raw columns to predictions",
    "Poisson rates with exposure",
    "Standard errors for a penalised model",
    "Imbalanced classes",
    "Text with 20 classes",
    "Which batch size?",
}


def test_there_is_a_page_for_each_problem_and_the_index_names_it():
    index = (COOKBOOK / "index.md").read_text(encoding="utf-8")
    titles = set()
    for page in PAGES:
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        assert f"- [{title}]({page.name})" in index
        assert f"\n{page.stem}\n" in index
        titles.add(title)
    assert titles == TITLES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_shows_the_pain_before_the_remedy(page):
    before, heading, _ = page.read_text(encoding="utf-8").partition("\n## What to do\n")
    assert heading
    assert ">>> " in before
    words = BLOCK.sub("", page.read_text(encoding="utf-8")).split()
    assert 140 <= len(words) <= 300


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = {}
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "console":
            check_command(text)
            continue
        report = []
        example = doctest.DocTestParser().get_doctest(text, names, page.stem, str(page), 0)
        found = doctest.DocTestRunner(optionflags=FLAGS).run(
            example, out=report.append, clear_globs=False
        )
        names = example.globs
        assert found.failed == 0, "".join(report)


def check_command(text):
    """One command, and what it prints."""
    command, _, printed = text.partition("\n")
    program, *words = shlex.split(command.removeprefix("$ "))
    assert program == "bocce"
    result = run(*words, env={"COLUMNS": None})
    assert result.exit_code == 0, result.stderr
    assert doctest.OutputChecker().check_output(printed, result.stdout, FLAGS), result.stdout
