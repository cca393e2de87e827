"""The page on linear probes runs as printed, and so does its example."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_runs(capsys):
    page = ROOT / "docs" / "probes.md"
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(page), "exec"), names)
    assert "(32, 6) (6,)" in capsys.readouterr().out


def test_the_example_finds_a_penalty(capsys):
    example = runpy.run_path(str(ROOT / "examples" / "probe.py"))
    example["main"](["--rows", "400", "--columns", "16", "--classes", "4", "--penalties", "3"])
    told = capsys.readouterr().out
    assert "300 x 16, 4 classes" in told
    assert re.search(r"best: l2 = \S+, accuracy 0\.\d+", told)
