"""Files that commands write: never over the data, all of them or none."""

import errno
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

import bocce
from cli_helpers import assert_refused, run, write_table


@pytest.fixture
def data(tmp_path):
    X, y, _ = bocce.data.regression(60, 2, 5.0)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    return tmp_path / "d.npz"


@pytest.mark.parametrize("out", ["d", "d.npz", "link", "../{}/d"])
def test_the_data_are_never_overwritten(data, tmp_path, out):
    os.symlink(data, tmp_path / "link.npz")
    before, kept = sorted(tmp_path.rglob("*")), data.read_bytes()
    out = tmp_path / out.format(tmp_path.name)
    result = run("solve", data, "--out", out, "--force")
    assert_refused(result, before, tmp_path, "--out:", "is the data; choose another name.")
    assert data.read_bytes() == kept


@pytest.mark.parametrize(
    "words", [("plan", "DATA", "--plot", "DATA"), ("explore", "--data", "DATA", "--out", "DATA")]
)
def test_nor_by_pictures_and_pages(data, tmp_path, words):
    before, kept = sorted(tmp_path.rglob("*")), data.read_bytes()
    result = run(*(data if word == "DATA" else word for word in words))
    assert_refused(result, before, tmp_path, "is the data; choose another name.")
    assert data.read_bytes() == kept


def test_a_file_of_a_folder_of_data_is_data(data, tmp_path):
    before, kept = sorted(tmp_path.rglob("*")), data.read_bytes()
    result = run("solve", tmp_path, "--out", tmp_path / "d", "--force")
    assert_refused(result, before, tmp_path, "is the data; choose another name.")
    assert data.read_bytes() == kept


@pytest.mark.parametrize("there", [False, True])
def test_the_checkpoint_is_not_overwritten_by_the_output(data, tmp_path, there):
    same = tmp_path / "same.npz"
    words = ("solve", data, "-T", 50, "--batch-size", 20, "--checkpoint", same)
    if there:
        assert run(*words).exit_code == 0
    before = sorted(tmp_path.rglob("*"))
    result = run(*words, "--out", tmp_path / "same", "--force")
    assert_refused(result, before, tmp_path, "is the checkpoint; choose another name.")
    over_data = run("solve", data, "-T", 50, "--checkpoint", data)
    assert_refused(over_data, before, tmp_path, "--checkpoint:", "is the data")


@pytest.mark.parametrize("old", [False, True])
def test_a_full_disk_leaves_no_half_of_the_output(data, tmp_path, monkeypatch, old):
    """The last of the files does not fit: none is written, and what was there stays."""
    words = ("solve", data, "--out", tmp_path / "o")
    if old:
        assert run(*words).exit_code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*")}
    counted = []
    synchronise = os.fsync

    def full(handle):
        counted.append(handle)
        if len(counted) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        synchronise(handle)

    monkeypatch.setattr(os, "fsync", full)
    result = run(*words, "--force", "--l2", 1)
    assert result.exit_code == 2
    assert "could not be written: No space left on device" in result.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*")} == before


def test_the_default_target_cannot_be_excluded(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,3\n2,1,5\n4,4,1\n")
    before = sorted(tmp_path.rglob("*"))
    result = run("solve", tmp_path / "t.csv", "--exclude", "y")
    assert_refused(result, before, tmp_path, "must not name the target 'y'")


@pytest.mark.parametrize("row", [0, 1, 299])
def test_a_bad_cell_of_the_target_is_refused_in_every_row(tmp_path, row):
    rng = np.random.default_rng(0)
    cells = [f"{y:.4f}" for y in rng.standard_normal(300)]
    cells[row] = "n/a"
    rows = [f"{x:.4f},{y}" for x, y in zip(rng.standard_normal(300), cells)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    before = sorted(tmp_path.rglob("*"))
    place = (f"t.csv, line {row + 2}", "column 'y'")
    assert_refused(run("solve", tmp_path / "t.csv"), before, tmp_path, *place)


def test_head_is_silent_whatever_the_command_prints(tmp_path):
    table = write_table(tmp_path / "t.csv", noise_var=0.1)
    for words in (
        ("solve", table),
        ("solve", table, "--json"),
        ("solve", table, "--help"),
        ("plan", table),
        ("--help",),
    ):
        line = shlex.join([sys.executable, "-m", "bocce", *map(str, words)])
        found = subprocess.run(
            ["bash", "-c", f"{line} | true; exit ${{PIPESTATUS[0]}}"],
            capture_output=True,
            check=False,
        )
        assert (found.returncode, found.stderr) == (0, b""), words
