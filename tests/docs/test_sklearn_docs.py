"""The examples run, with ijcnn1 and without, and the page runs as printed."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sklearn.md"


@pytest.fixture(autouse=True)
def _quiet_figures(monkeypatch):
    import matplotlib.pyplot as plt

    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(ROOT / "examples")
    yield
    plt.close("all")


def run(name, capsys, *arguments):
    """What an example prints."""
    example = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    example["main"](*([list(arguments)] if arguments else []))
    return capsys.readouterr().out


def test_the_page_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert "Least squares: 5000 rows" in capsys.readouterr().out


def test_the_page_names_every_example():
    listed = set(re.findall(r"examples/(sklearn_\w+)\.py", PAGE.read_text(encoding="utf-8")))
    assert listed == {path.stem for path in (ROOT / "examples").glob("sklearn_*.py")}


def test_ijcnn1(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("BOCCE_DATA", raising=False)
    out = run("sklearn_ijcnn1", capsys, "--rows", "4000", "--out", str(tmp_path / "a.png"))
    assert "data: synthetic" in out
    assert float(re.search(r"exact minimiser's: (\S+)", out)[1]) < 1e-3
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_batch_size(capsys):
    out = run("sklearn_batch_size", capsys, "--rows", "3000")
    gaps = [float(text) for text in re.findall(r"^ +\d+ +\d+ +(\S+e\S+)", out, re.MULTILINE)]
    assert len(gaps) >= 4
    assert "<- recommended" in out
    assert 0 <= min(gaps) < 0.1


def test_pipelines(capsys):
    lines = run("sklearn_pipelines", capsys).splitlines()[1:]
    scores = {line[:36].strip(): line[37:] for line in lines}
    exact = float(scores["Ridge (cholesky)"])
    assert float(scores["HeavyBallRegressor"]) == pytest.approx(exact, abs=1e-5)
    assert "failed" in scores["SGDRegressor"] or float(scores["SGDRegressor"]) < 0


def test_grid_search(capsys):
    out = run("sklearn_grid_search", capsys, "--rows", "1500", "--jobs", "2")
    assert float(re.search(r"best: l2 = (\S+);", out)[1]) < 1.0
