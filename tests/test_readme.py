"""The README's example runs, and its table has every method."""

import re
from pathlib import Path

import pytest

from bocce.solve import registry

README = Path(__file__).parent.parent / "README.md"


def examples():
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_example_runs(capsys):
    exec(examples()[0], {})
    run, average = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert run == pytest.approx(average, rel=1.0)


def test_the_table_has_every_method():
    table = README.read_text().split("## Methods")[1].split("##")[0]
    assert set(re.findall(r"`([^`]+)`", table)) == set(registry())
