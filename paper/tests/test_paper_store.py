"""Killed, damaged, resumed, parallel: the numbers stay the same."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bocce_paper import runner, store
from bocce_paper.exhibits import EXHIBITS, chosen
from bocce_paper.specs import SETTINGS, Outcome, Profile

TINY = Profile("tiny", rows=60, columns=20, share=0.004, seeds=1, passes=1.0)
NAMES = ["lower_bound_2", "misestimation", "der_beta"]


def plan(folder, names=NAMES, settings=SETTINGS, profile=TINY):
    return runner.plan(folder, chosen(names), profile, settings)


def digests(folder):
    found = {}
    for cell in [c for f in chosen(NAMES) for s in f.settings for c in f.cells(s, TINY)]:
        outcome = store.read(folder, cell)
        found[cell.path] = store.digest(cell.identity(), outcome)
    return found


def run(folder, jobs=1, **options):
    return runner.reproduce(plan(folder), jobs, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    run(folder)
    return folder


def test_a_cell_comes_back_to_the_last_bit(tmp_path):
    cell = EXHIBITS["der_beta"].cells("paper", TINY)[0]
    numbers = {
        "k": np.arange(3),
        "grad_norm": np.array([1.0, np.inf, 5e-324]),
        "table": np.array([[0.1, 0.2], [0.3, 1 / 3]]),
        "one": np.array([np.pi]),
    }
    notes = {"status": "finished", "text": 'κ < 3 & "quoted"'}
    store.write(tmp_path, cell, Outcome(numbers, notes), 1.5)
    stored = store.read(tmp_path, cell)
    assert stored.notes == notes
    assert set(stored.numbers) == set(numbers)
    for name, values in numbers.items():
        assert stored.numbers[name].tobytes() == values.tobytes()
    assert stored.made["seconds"] == "1.5000"
    assert stored.made["bocce"]
    with np.load(store.cell_file(tmp_path, cell), allow_pickle=False) as opened:
        assert "der_beta" in json.loads(str(opened["header"]))["specification"]


def test_damage_in_any_byte_is_found_or_harmless(tmp_path):
    cell = EXHIBITS["der_beta"].cells("paper", TINY)[0]
    runner.run_cells(tmp_path, [cell])
    path = store.cell_file(tmp_path, cell)
    sound = path.read_bytes()
    stored = store.read(tmp_path, cell)
    wanted = store.digest(cell.identity(), stored)
    found = 0
    draw = random.Random(0)
    table = sound.index(stored.numbers["derivative"].tobytes())
    places = [draw.randrange(len(sound)) for _ in range(60)] + [table, table + 100, table + 879]
    for place in places:
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 16]) + sound[place + 1 :])
        again = store.read(tmp_path, cell)
        found += again is None
        assert again is None or store.digest(cell.identity(), again) == wanted
    assert found >= 3  # those in the numbers, at least
    for cut in (0, 10, len(sound) // 2, len(sound) - 1):
        path.write_bytes(sound[:cut])
        assert store.read(tmp_path, cell) is None or cut == len(sound) - 1


def test_a_damaged_cell_is_computed_again(whole, tmp_path, monkeypatch):
    monkeypatch.setitem(runner.PROFILES, "tiny", TINY)
    run(tmp_path)
    before = digests(tmp_path)
    assert before == digests(whole)
    damaged = plan(tmp_path).cells[3]
    path = store.cell_file(tmp_path, damaged)
    sound = path.read_bytes()
    path.write_bytes(sound[: len(sound) // 2])
    computed = []

    def show(what, share, left):
        computed.extend([what] * (what != "starting"))

    run(tmp_path, show_progress=show)
    assert len(computed) == 1
    assert digests(tmp_path) == before
    run(tmp_path, show_progress=show)
    assert len(computed) == 1, "what is stored is not computed again"
    run(tmp_path, fresh=True, show_progress=show)
    assert len(computed) > 1


def test_another_specification_is_not_taken_for_this_one(tmp_path):
    cell = EXHIBITS["misestimation"].cells("paper", TINY)[0]
    other = EXHIBITS["misestimation"].cells("paper", Profile("other", 60, 20, 0.005, 1, 1.0))[0]
    assert cell.path == other.path
    runner.run_cells(tmp_path, [cell])
    assert store.read(tmp_path, cell) is not None
    assert store.read(tmp_path, other) is None


CHILD = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
sys.path.insert(0, {tests!r})
from bocce_paper import store
import test_paper_store as here

writes, plain = [], store.atomic_write

@contextmanager
def deadly(path):
    with plain(path) as stream:
        writes.append(path)
        if len(writes) == {at}:
            stream.write(b"half a cell")
            stream.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        yield stream

store.atomic_write = deadly
here.run(Path({folder!r}))
"""


def test_killed_at_any_write_it_goes_on_to_the_same_numbers(whole, tmp_path):
    draw = random.Random(1)
    for _ in range(2):
        code = CHILD.format(
            tests=str(Path(__file__).parent), at=draw.randrange(1, 12), folder=str(tmp_path)
        )
        dead = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert dead.returncode == -signal.SIGKILL, dead.stderr
    stored = [path for path in tmp_path.rglob("*.npz") if path.is_file()]
    assert 0 < len(stored) < len(digests(whole))
    run(tmp_path)
    assert digests(tmp_path) == digests(whole)


def test_two_processes_give_what_one_gives(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    run(tmp_path, jobs=2)
    assert digests(tmp_path) == digests(whole)
    assert os.cpu_count()


def test_an_unfinished_folder_says_what_is_missing(whole, tmp_path, monkeypatch):
    monkeypatch.setitem(runner.PROFILES, "tiny", TINY)
    with pytest.raises(ValueError, match=r"holds no results .*bocce reproduce all --out"):
        runner.load(tmp_path)
    run(tmp_path)
    assert len(runner.load(tmp_path).outcomes) == len(digests(whole))
    next(iter(tmp_path.rglob("*.npz"))).unlink()
    with pytest.raises(ValueError, match=r"lacks 1 of \d+ cells"):
        runner.load(tmp_path)


def test_figures_and_settings_add_up_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(runner.PROFILES, "tiny", TINY)
    runner.reproduce(plan(tmp_path, ["fig1"], ("authors",), TINY))
    runner.reproduce(plan(tmp_path, ["table1"], SETTINGS, TINY))
    held = runner.load(tmp_path)
    assert {key[:2] for key in held.outcomes} == {
        ("non_acc_alpha_beta", "authors"),
        ("der_beta", "paper"),
    }
    runner.reproduce(plan(tmp_path, ["fig1"], ("paper",), TINY))
    assert held.settings("non_acc_alpha_beta") == ["authors"]
    assert runner.load(tmp_path).settings("non_acc_alpha_beta") == ["paper", "authors"]
    other = Profile("other", 60, 20, 0.004, 1, 1.0)
    monkeypatch.setitem(runner.PROFILES, "other", other)
    runner.reproduce(plan(tmp_path, ["table1"], SETTINGS, other))
    assert {key[0] for key in runner.load(tmp_path).outcomes} == {"der_beta"}
