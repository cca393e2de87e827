"""The README's examples run, its table is the registry's, and its files exist."""

import re
from pathlib import Path

import pytest

import bocce
from bocce.control import registry

README = Path(__file__).parents[2] / "README.md"


def example(word):
    """The one Python block that has this word (PyTorch's is run with the frameworks)."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (code,) = [block for block in blocks if word in block]
    return code


def test_the_researchers_run_agrees_with_the_expectation(capsys):
    exec(example("bocce.exact"), {})
    run, average = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert run == pytest.approx(average, rel=1.0)


def test_the_practitioners_model_is_accurate(capsys):
    exec(example("HeavyBallClassifier("), {})
    assert float(capsys.readouterr().out.split()[-1]) > 0.95


def test_the_probe_finds_a_penalty_within_its_grid(capsys):
    exec(example("HeavyBallClassifierCV"), {})
    assert 1e-5 < float(capsys.readouterr().out.split()[-1]) < 1.0


def test_the_table_is_the_registry():
    table = README.read_text().split("## Methods")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", table, re.MULTILINE)
    assert sorted(rows) == sorted((m.name, m.summary) for m in registry().values())


def test_the_critical_batch_sizes_it_names_are_those_of_its_example():
    X, y, _ = bocce.data.regression(n=10_000, d=20, kappa=200, noise_var=0.01)
    plan = bocce.plan(bocce.LeastSquares(X, y))
    text = " ".join(README.read_text().split())
    exact, certified = round(plan.exact_batch), round(plan.certified_batch)
    assert f"it is {exact} rows of 10,000, certified from {certified}" in text


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README.read_text()))
def test_the_files_it_links_to_exist(link):
    assert (README.parent / link).exists()
