"""The benchmarks that others start: the scripts are there, and so is what is switched off."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SWITCHED = "import ablate\nfor case in ablate.CASES:\n    with ablate.without(case): pass"


def runner():
    spec = importlib.util.spec_from_file_location("run_benchmarks", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_runner_names_scripts_that_are_there():
    assert [run.script for run in runner().RUNS if not (FOLDER / f"{run.script}.py").exists()] == []


def test_a_ratio_is_named_by_its_line_and_heading():
    lines = ["iris, 150 x 4", "    HeavyBallClassifier      3.01 ms   1.10", "| haar 100, 8 | 1 |"]
    small = next(run for run in runner().RUNS if run.script == "small")
    assert runner().ratios_of(small, lines) == {"iris, 150 x 4: HeavyBallClassifier": 1.1}
    auto = next(run for run in runner().RUNS if run.script == "auto_runs")
    row = "| haar 100, 8 | 0.12 | 0.15 | 1.25 |"
    assert runner().ratios_of(auto, [row]) == {"haar 100, 8": 1.25}
    regret = next(run for run in runner().RUNS if run.script == "regret")
    row = "| auto | 1.03 | 1.15 | 1.15 | 100 % of 4 |"
    assert runner().ratios_of(regret, [row]) == {"auto": 1.03}


def test_every_special_case_can_be_switched_off():
    """Names in the package that a case replaces are there; a renamed one would switch nothing."""
    pytest.importorskip("sklearn")
    pytest.importorskip("pyarrow")
    path = os.pathsep.join([str(FOLDER), *sys.path])
    found = subprocess.run(
        [sys.executable, "-c", SWITCHED],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
