"""The README's examples run, its numbers are those of its examples, and its files exist."""

import re
import tomllib
from pathlib import Path

import pytest

import bocce
from bocce.cli import HELP
from bocce.control import registry

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def example(word):
    """The one Python block that has this word."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (code,) = [block for block in blocks if word in block]
    return code


def test_one_run_agrees_with_the_expectation(capsys):
    exec(example("bocce.exact"), {})
    run, average = (float(word) for word in capsys.readouterr().out.split()[-4::3])
    assert run == pytest.approx(average, rel=1.0)


def test_the_summary_is_of_one_model_and_names_the_columns(capsys):
    names = {}
    exec(example("HeavyBallRegressor("), names)
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[:4] == ["coef", "std_error", "lower", "upper"]
    assert [row.split()[0] for row in rows] == [*names["X"].columns, "intercept"]
    for row in rows:
        coefficient, _, lower, upper, *_ = map(float, row.split()[1:])
        assert lower < coefficient < upper


def test_the_page_is_short():
    assert len(README.read_text().split()) <= 700


def test_one_sentence_says_what_bocce_is_everywhere():
    sentence = re.search(r"\*\*(bocce is .*?\.)\*\*", README.read_text(), re.DOTALL)[1].split()
    said = {
        "pyproject": tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["description"],
        "CITATION": (ROOT / "CITATION.cff").read_text(),
        "docs": (ROOT / "docs" / "index.md").read_text(),
        "help": HELP,
    }
    missing = [
        place for place, text in said.items() if " ".join(sentence) not in " ".join(text.split())
    ]
    assert missing == []


def test_the_table_of_methods_is_the_registry():
    table = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", table, re.MULTILINE)
    assert sorted(rows) == sorted((m.name, m.summary) for m in registry().values())


def test_the_methods_it_recommends_exist():
    table = README.read_text().split("| method | use it when |")[1].split("\n\n")[0]
    named = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(named) == 4
    assert set(named) <= set(registry())


def test_the_critical_batch_sizes_it_names_are_those_of_its_example():
    X, y, _ = bocce.data.regression(n=10_000, d=20, kappa=200, noise_var=0.01)
    plan = bocce.plan(bocce.LeastSquares(X, y))
    text = " ".join(README.read_text().split())
    exact, certified = round(plan.exact_batch), round(plan.certified_batch)
    assert f"diverges below {exact} rows of 10,000, is certified from {certified} rows" in text


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README.read_text()))
def test_the_files_it_links_to_exist(link):
    assert (ROOT / link).exists()
