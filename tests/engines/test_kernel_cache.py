"""Kernels kept on disk follow the sources that they were compiled from."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bocce

SCRIPT = """
import json, sys
import numpy as np
from bocce import Problem
from bocce.engines.numba.sums import RowSums

X = np.array([[1.0, 2.0], [-1.0, 0.5], [2.0, 0.0]])
w, y = np.array([3.0, -1.0]), np.array([0.0, 1.0, -2.0])
p = Problem(X, y, sys.argv[1])
loss, slope = RowSums(p).everything(w)
readable = p.gradient(w)
print(json.dumps({"compiled": (slope / 3).tolist(), "readable": readable.tolist()}))
"""

OTHER = """
from typing import NamedTuple
from .loss import loss

@loss("passing")
class Passing(NamedTuple):
    curvature = 1.0
    def value(loss, z, y):
        return 0.5 * (z - y) * (z - y)
    def slope(loss, z, y):
        return z - y
    def bend(loss, z, y):
        return 1.0 + 0.0 * z
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package that a test may edit, with a cache of its own."""
    source = Path(bocce.__file__).parent
    shutil.copytree(
        source, tmp_path / "bocce", ignore=shutil.ignore_patterns("__pycache__", "exhibits")
    )
    return tmp_path / "bocce"


def gradients(package, loss):
    """The compiled and the readable gradient in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    words = [sys.executable, "-c", SCRIPT, loss]
    answer = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    return found["compiled"], found["readable"]


def test_a_compiled_run_follows_an_edited_loss_and_survives_a_removed_one(package):
    before, readable = gradients(package, "huber")
    np.testing.assert_allclose(before, readable, rtol=1e-12)

    huber = package / "losses" / "huber.py"
    slope = "return np.minimum(np.maximum(z - y, -loss.delta), loss.delta)"
    assert slope in huber.read_text()
    huber.write_text(huber.read_text().replace(slope, slope.replace("return", "return 0.5 *")))
    after, readable = gradients(package, "huber")
    np.testing.assert_allclose(after, readable, rtol=1e-12)
    np.testing.assert_allclose(after, 0.5 * np.array(before), rtol=1e-12)

    passing, rooms = package / "losses" / "passing.py", package / "losses" / "__init__.py"
    passing.write_text(OTHER)
    without = rooms.read_text()
    rooms.write_text(without + "\nfrom . import passing\n")
    np.testing.assert_allclose(*gradients(package, "passing"), rtol=1e-12)

    passing.unlink()
    rooms.write_text(without)
    kernels = sorted(package.rglob("*.nbc"))
    assert gradients(package, "huber") == (after, readable)
    assert sorted(package.rglob("*.nbc")) == kernels  # found on disk, not compiled again


KINDS = """
import sys
import numpy as np, scipy.sparse as sp
from bocce import Problem
from bocce.engines.numba.sums import RowSums

X, w, y = np.array([[1.0, 2.0], [-1.0, 0.5], [2.0, 0.0]]), np.array([3.0, -1.0]), np.ones(3)
for kind in sys.argv[1:]:
    p = Problem(X if kind == "dense" else sp.csr_array(X), y, "huber")
    np.testing.assert_allclose(RowSums(p).everything(w)[1] / 3, p.gradient(w), rtol=1e-12)
"""


def test_functions_that_two_processes_compiled_are_not_confused_in_a_third(tmp_path):
    """Both were the first of their process, and have the same signature."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for kinds in (["dense"], ["csr"], ["dense", "csr"]):
        subprocess.run([sys.executable, "-c", KINDS, *kinds], env=environment, check=True)
