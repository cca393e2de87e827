"""Compilation is told once, through logging, where somebody looks at stderr."""

import os
import subprocess
import sys

import pytest

RUN = """
import logging, sys
{before}
import numpy as np, bocce
from bocce.engines.numba.sums import RowSums  # two kernels: they are compiled soonest
RowSums(bocce.LeastSquares(np.eye(4), np.ones(4))).everything(np.zeros(4))
"""
WORDS = "compiling once for this kind of data"


def told(tmp_path, before=""):
    found = subprocess.run(
        [sys.executable, "-c", RUN.format(before=before)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")},
    )
    return found.stderr


TERMINAL = "sys.stderr.isatty = lambda: True"
NOTEBOOK = "import types; sys.modules['ipykernel'] = types.ModuleType('ipykernel')"


@pytest.mark.parametrize("before", [TERMINAL, NOTEBOOK])
def test_one_line_where_somebody_looks_and_none_the_second_time(tmp_path, before):
    first = told(tmp_path, before)
    assert first.count(WORDS) == 1
    assert first.startswith("bocce: ")
    assert first.count("\n") == 1
    assert told(tmp_path, before) == ""


def test_silence_in_a_pipe_unless_the_log_is_asked_for(tmp_path):
    assert told(tmp_path / "a") == ""
    asked = told(tmp_path / "b", "logging.basicConfig(level=logging.INFO)")
    assert asked.count(WORDS) == 1


def test_a_level_silences_it(tmp_path):
    quiet = TERMINAL + "; logging.getLogger('bocce').setLevel(logging.ERROR)"
    assert told(tmp_path, quiet) == ""
