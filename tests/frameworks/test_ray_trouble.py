"""Rows in Ray actors: whoever is killed, the iterates are the same and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bocce
import bocce.ray
import bocce.ray.sources
import bocce.ray.workers
from ray_rows import T, alone, data, parts_of, schedule

pytestmark = pytest.mark.frameworks


@pytest.mark.parametrize("method", ["problem", "plane"])
def test_a_worker_without_memory_for_its_part_is_said(local_ray, monkeypatch, tmp_path, method):
    """Where rows are loaded, and where scores are made: an array that no machine can hold."""

    class Large(bocce.ray.workers.Worker):
        pass

    def greedy(self, *args):
        np.empty(1 << 58)

    setattr(Large, method, greedy)
    monkeypatch.setattr(bocce.ray.workers, "Worker", Large)
    parts = parts_of(*data("squared"), [40, 50])
    with pytest.raises(MemoryError, match=r"not enough memory for its part .* give smaller parts"):
        bocce.ray.minimize(parts, l2=0.01)


def test_a_worker_that_never_stays_is_given_up(local_ray, monkeypatch):
    """As one that the system ends for its memory, each time it is started again."""

    class Short(bocce.ray.workers.Worker):
        def plane(self, made, key, todo):
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(bocce.ray.workers, "Worker", Short)
    monkeypatch.setattr(bocce.ray.problem, "RESTARTS", 2)
    with pytest.raises(RuntimeError, match=r"ended .* times, .* give smaller parts"):
        bocce.ray.minimize(parts_of(*data("squared"), [90]), l2=0.01)


def watched(monkeypatch, folder: Path, before):
    """Workers that write down their process, and do ``before(k)`` before their k-th sum."""

    class Watched(bocce.ray.workers.Worker):
        def __init__(self, *args):
            (folder / f"{os.getpid()}.pid").touch()
            self.sums = 0
            super().__init__(*args)

        def ask(self, home, ask, *args):
            if ask.__name__ == "look":
                before(self.sums)
                self.sums += 1
            return super().ask(home, ask, *args)

    monkeypatch.setattr(bocce.ray.workers, "Worker", Watched)


def gone(folder: Path, least: int) -> bool:
    """Have all processes written down ended, or do they soon?"""
    pids = [int(file.stem) for file in folder.glob("*.pid")]
    assert len(pids) >= least
    for _ in range(100):
        pids = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if not pids:
            return True
        time.sleep(0.1)
    return False


def suicidal(folder: Path, steps: set[int]):
    def before(k):
        if k in steps:
            try:
                (folder / f"{k}.shot").touch(exist_ok=False)
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)

    return before


def killed_run(monkeypatch, folder, steps):
    watched(monkeypatch, folder, suicidal(folder, steps))
    parts = parts_of(*data("logistic"), [40, 50])
    r = bocce.ray.minimize(parts, schedule(), loss="logistic", l2=0.01)
    assert {int(file.stem) for file in folder.glob("*.shot")} == steps
    np.testing.assert_allclose(r.w, alone("logistic").w, rtol=1e-10)
    assert gone(folder, 2 + len(steps))
    return r.w


def test_a_killed_worker_reloads_and_nothing_is_left_running(local_ray, monkeypatch, tmp_path):
    killed_run(monkeypatch, tmp_path, {3, 17})


@pytest.mark.slow
def test_ten_runs_with_workers_killed_at_random_steps(local_ray, monkeypatch, tmp_path):
    rng, found = np.random.default_rng(0), []
    for run in range(10):
        folder = tmp_path / str(run)
        folder.mkdir()
        found.append(killed_run(monkeypatch, folder, {int(rng.integers(T))}))
    assert all(np.array_equal(w, found[0]) for w in found)  # bit for bit


def test_a_straggler_delays_and_changes_nothing(local_ray, monkeypatch, tmp_path):
    def before(k):
        chosen = tmp_path / "slow"
        if not chosen.exists():
            chosen.write_text(str(os.getpid()))
        if k % 10 == 0 and chosen.read_text() == str(os.getpid()):
            time.sleep(0.3)

    watched(monkeypatch, tmp_path, before)
    parts = parts_of(*data("logistic"), [40, 50])
    r = bocce.ray.minimize(parts, schedule(), loss="logistic", l2=0.01)
    np.testing.assert_allclose(r.w, alone("logistic").w, rtol=1e-10)


def test_an_error_in_the_driver_leaves_nothing_running(local_ray, monkeypatch, tmp_path):
    watched(monkeypatch, tmp_path, lambda k: None)
    parts = parts_of(*data("squared"), [40, 50])

    def stop(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        bocce.ray.minimize(parts, schedule(), callback=stop)
    assert gone(tmp_path, 2)


DRIVER = """
import sys, time, numpy as np, bocce, bocce.control, bocce.ray
from bocce.run import Request
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
plan = bocce.schedules.nesterov(T=400, L=8.0, mu=0.1)
slow = lambda progress: time.sleep(0.02)
request = Request(plan, checkpoint=sys.argv[3],
                  callback=slow if len(sys.argv) > 4 else None,
                  limits=bocce.control.Limits(save_seconds=0.1))
r = bocce.ray.solve([(X[:40], y[:40]), (X[40:], y[40:])], request, "squared", l2=0.01)
print(r.w.tobytes().hex())
"""


def test_a_killed_driver_goes_on_from_its_checkpoint(tmp_path):
    X, y = data("squared")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    saved = tmp_path / "run.npz"
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "X.npy"), str(tmp_path / "y.npy")]
    with subprocess.Popen([*command, str(saved), "slow"], stdout=subprocess.DEVNULL) as driver:
        for _ in range(600):
            if saved.exists() and np.load(saved)["run.k"] > 20:
                break
            time.sleep(0.1)
        driver.kill()
    with np.load(saved) as state:
        assert 20 < state["run.k"] < 400
    again = subprocess.run([*command, str(saved)], capture_output=True, text=True, check=True)
    w = np.frombuffer(bytes.fromhex(again.stdout.split()[-1]))
    plan = bocce.schedules.nesterov(T=400, L=8.0, mu=0.1)
    np.testing.assert_allclose(w, alone("squared", plan).w, rtol=1e-9)
