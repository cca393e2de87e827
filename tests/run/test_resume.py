"""A run that was cut goes on as if it had not been: Ctrl-C, kill -9, half a file, a wrong file."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import bocce
from bocce.control import Limits, registry
from bocce.run import Request, solve
from helpers import constants, design, problem


@pytest.fixture(scope="module")
def haar():
    X, y, _ = bocce.data.regression(200, 5, 20.0, noise_var=0.01)
    return bocce.LeastSquares(X, y)


def interrupted(monkeypatch, p, path, stops, **settings):
    """The same run, thrown out at each step of ``stops`` and resumed from its file."""
    for stop in stops:

        def leave(progress, stop=stop):
            if progress.k >= stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bocce.minimize(p, checkpoint=path, callback=leave, **settings)
        assert path.exists()
    return bocce.minimize(p, checkpoint=path, **settings)


CASES = [
    ("squared", "dense", 27, "2p-shb", "independent"),
    ("squared", "csr", 1, "multi-shb", "reshuffle"),
    ("logistic", "dense", 25, "nesterov", "independent"),
    ("logistic", "float32", 7, "shb-exp", "reshuffle"),
    ("logistic", "dense", 9, "shb-sls-exp", "independent"),
    ("squared", "dense", 9, "sgd-sls-exp", "reshuffle"),
]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize(("loss", "kind", "b", "name", "mode"), CASES)
def test_ctrl_c_and_resume_bit_for_bit(tmp_path, monkeypatch, loss, kind, b, name, mode, engine):
    p = problem(loss, design(kind), l2=0.1)
    method = registry()[name].build(60, constants(p, b))
    settings = {"method": method, "batch_size": b, "sampling": mode, "engine": engine, "seed": 4}
    whole = bocce.minimize(p, **settings)
    path = tmp_path / "run.npz"
    parts = interrupted(monkeypatch, p, path, (7, 7, 31, 60), **settings)
    assert np.array_equal(whole.w, parts.w)
    for key in whole.history:
        assert np.array_equal(whole.history[key], parts.history[key]), key
    assert bocce.minimize(p, checkpoint=path, **settings).n_iter == 60
    assert [f.name for f in tmp_path.iterdir()] == ["run.npz"]


def classified(loss, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((159, 5)) * 10.0 ** rng.uniform(-1.0, 1.0, 5)
    z = X @ rng.standard_normal(5) / np.abs(X).max() + 0.1 * rng.standard_normal(159)
    y = {"softmax": np.digitize(z, [-0.3, 0.0, 0.3]), "logistic": z > 0.0}.get(loss, z)
    return bocce.Problem(X, y, loss, l2=1e-5, intercept=seed == 1)


def same_run(whole, parts):
    assert np.array_equal(whole.w, parts.w)
    assert (whole.n_iter, whole.status) == (parts.n_iter, parts.status)
    assert whole.message == parts.message
    for key in whole.history:
        assert np.array_equal(whole.history[key], parts.history[key]), key


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("loss", "method"),
    [
        *(("softmax", method) for method in ("plane", "auto")),
        *(("logistic", method) for method in ("plane", "auto", "batches", "sgd")),
        *(("squared", method) for method in ("plane", "auto", "batches", "sgd")),
    ],
)
def test_stopped_at_any_look_and_resumed(tmp_path, loss, method, seed):
    """By a callback that says stop, or by one that raises; at the last look, where the tolerance is
    met, too: the resumed run must not take another step."""
    p = classified(loss, seed)
    settings = {"method": method, "tol": 1e-5}
    if method == "batches":
        settings |= {"method": "auto", "batch_size": 16}
    if method == "sgd":
        settings |= {"T": 12, "batch_size": 159, "tol": 0.5}
    seen = []
    whole = bocce.minimize(p, callback=lambda progress: seen.append(progress.k), **settings)
    for look in sorted({0, 1, len(seen) // 2, len(seen) - 2, len(seen) - 1}):
        for leave in ("stop", "raise"):
            path, calls = tmp_path / f"{look}-{leave}.npz", []

            def callback(progress, look=look, leave=leave, calls=calls):
                calls.append(progress.k)
                if len(calls) > look and leave == "raise":
                    raise KeyboardInterrupt
                return len(calls) > look

            with contextlib.suppress(KeyboardInterrupt):
                bocce.minimize(p, callback=callback, checkpoint=path, **settings)
            same_run(whole, bocce.minimize(p, checkpoint=path, **settings))


def ends():
    """Runs by the verdict that they end with."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 4))
    z = X @ np.ones(4) + rng.standard_normal(150)
    p = bocce.Problem(X, z, "squared", l2=1e-3)
    classes = bocce.Problem(X, np.digitize(z, [-1.0, 1.0]), "softmax", l2=1e-3)
    huge = bocce.Problem(X + 5e8, z, "squared", l2=1e-3, intercept=True)
    apart = bocce.Problem(X, X @ np.ones(4) > 0.0, "logistic")
    wild = bocce.Schedule(3.0 / p.constants().L, 0.0, T=400)
    calm = bocce.Schedule(0.1 / p.constants().L, 0.0, T=100)
    near = {"batch_size": 20, "w0": p.minimiser()}
    return {
        "converged": (p, {"method": "plane", "tol": 1e-6}),
        "converged, classes": (classes, {"tol": 1e-9}),
        "diverged": (p, {"method": wild, "batch_size": 5}),
        "stalled": (huge, {"method": "plane", "tol": 1e-14}),
        "stalled, auto": (huge, {"tol": 1e-14}),
        "stalled, classes": (classes, {"tol": 1e-300}),
        "unbounded": (apart, {"tol": 1e-300}),
        "noisy": (p, {"method": calm, **near}),
        "budget": (p, {"method": "plane", "passes": 3, "memory": 1, "metric": "identity"}),
        "budget, auto": (classes, {"passes": 3, "tol": 1e-12}),
        "all steps": (p, {"method": "shb", "T": 30, "batch_size": 140}),
        "guarded": (p, {"method": "auto", "T": 30, "batch_size": 40}),
        "searched": (p, {"method": "sgd-sls-exp", "T": 30, "batch_size": 40}),
    }


@pytest.mark.filterwarnings("ignore:minimize. the schedule. f is")
@pytest.mark.parametrize("end", ends())
def test_a_run_that_is_over_stays_as_it_is(tmp_path, end):
    """Whatever ended it: a resumed run takes no step and repeats no row of its history."""
    p, settings = ends()[end]
    whole = bocce.minimize(p, **settings)
    for _ in range(3):
        same_run(whole, bocce.minimize(p, checkpoint=tmp_path / "run.npz", **settings))


def test_a_callback_that_stops_where_the_tolerance_is_met_ends_a_converged_run(haar):
    r = bocce.minimize(haar, "plane", tol=1e-3, callback=lambda progress: progress.k > 0)
    assert r.status == "converged"


pytestmark = pytest.mark.filterwarnings("ignore:multistage")


class TestCheckpointRefused:
    @pytest.fixture
    def saved(self, tmp_path, haar):
        path = tmp_path / "run.npz"
        bocce.minimize(haar, "shb", T=20, batch_size=50, checkpoint=path)
        return path

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ({"seed": 1}, r"another seed \(0, not 1\)"),
            ({"batch_size": 51}, r"another batch_size \(50, not 51\)"),
            ({"method": "sgd"}, "another schedule"),
            ({"T": 21}, "another schedule"),
            ({"sampling": "reshuffle"}, "another sampling"),
            ({"tol": 0.1}, "another tol"),
            ({"record_every": 2}, "another record_every"),
            ({"engine": "reference"}, "another engine"),
            ({"w0": np.ones(5)}, "another w0"),
        ],
    )
    def test_of_another_run(self, saved, haar, change, what):
        before = saved.read_bytes()
        settings = {"method": "shb", "T": 20, "batch_size": 50} | change
        with pytest.raises(ValueError, match=f"is of another {what[8:]}.*delete the file"):
            bocce.minimize(haar, checkpoint=saved, **settings)
        assert saved.read_bytes() == before

    @pytest.mark.parametrize("run", [{"method": "sgd", "T": 3}, {"method": "auto", "tol": 0.1}])
    def test_of_another_start_in_a_late_entry(self, tmp_path, run):
        p = bocce.LeastSquares(np.eye(300), np.ones(300))
        w0 = np.zeros(300)
        path = tmp_path / "run.npz"
        bocce.minimize(p, batch_size=300, w0=w0, checkpoint=path, **run)
        w0[299] = 1.0
        with pytest.raises(ValueError, match="another w0"):
            bocce.minimize(p, batch_size=300, w0=w0, checkpoint=path, **run)

    @pytest.mark.parametrize("change", ["l2", "X", "y"])
    def test_of_another_problem(self, saved, haar, change):
        X, y = haar.X.copy(), haar.y.copy()
        if change != "l2":
            {"X": X, "y": y}[change].flat[7] += 1e-9
        other = bocce.LeastSquares(X, y, l2=0.1 if change == "l2" else 0.0)
        table = bocce.minimize(haar, "shb", T=20, batch_size=50).schedule
        with pytest.raises(ValueError, match="is of another problem"):
            bocce.minimize(other, table, batch_size=50, checkpoint=saved)

    @pytest.mark.parametrize("text", [b"", b"not a checkpoint", b"PK\x03\x04 cut short"])
    def test_not_a_checkpoint(self, tmp_path, haar, text):
        path = tmp_path / "run.npz"
        path.write_bytes(text)
        with pytest.raises(ValueError, match="is not a readable checkpoint"):
            bocce.minimize(haar, "shb", T=20, batch_size=50, checkpoint=path)
        assert path.read_bytes() == text

    def test_folder_missing(self, tmp_path, haar):
        with pytest.raises(ValueError, match="must be a file in an existing folder"):
            bocce.minimize(haar, "shb", T=20, batch_size=50, checkpoint=tmp_path / "a" / "b")


RUN = textwrap.dedent(
    """
    import os, signal, sys, numpy as np, bocce
    from bocce.control import Limits
    from bocce.run import Request, checkpoint, solve

    out, path, T, cut, deadly, half = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:7])
    # save after every stretch; 0: of one step each
    limits = Limits(save_seconds=1000.0 if "seldom" in sys.argv else 0.0, cut_seconds=cut)
    write, saves = np.savez, 0

    def savez(file, **arrays):
        global saves
        saves += 1
        if saves == deadly and half:
            file.write(b"the first half of a checkpoint")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        write(file, **arrays)
        if saves == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint.np.savez = savez
    X, y, _ = bocce.data.regression(300, 5, 50.0, noise_var=0.01)
    p = bocce.LeastSquares(X, y)
    settings = dict(T=T, batch_size=200, seed=9, record_every=100, limits=limits)
    if "seldom" in sys.argv:
        settings["callback"] = lambda progress: print("at step", progress.k, flush=True)
    w = solve(p, Request("2p-shb", checkpoint=path, **settings).checked(p)).w
    write(out, w=w)
    """
)


def run_script(tmp_path, name, T, cut, deadly, half, *more):
    script = tmp_path / "run.py"
    script.write_text(RUN)
    files = [str(tmp_path / f"{name}.npz"), str(tmp_path / f"{name}-check.npz")]
    numbers = [str(number) for number in (T, cut, deadly, half)]
    return subprocess.Popen(
        [sys.executable, str(script), *files, *numbers, *more],
        stdout=subprocess.PIPE if more else None,
        stderr=subprocess.PIPE,
    )


def test_kill_9_and_resume_bit_for_bit(tmp_path):
    """SIGKILL at random steps, every other time in the middle of a write."""
    whole = run_script(tmp_path, "whole", 300, 1, 0, 0)
    assert whole.wait() == 0
    rng = np.random.default_rng(0)
    for death in range(4):
        child = run_script(tmp_path, "parts", 300, 0, int(rng.integers(2, 60)), death % 2)
        assert child.wait() == -signal.SIGKILL
        child.stderr.close()
    last = run_script(tmp_path, "parts", 300, 0, 0, 0)
    assert last.wait() == 0
    for child in (whole, last):
        child.stderr.close()
    left = sorted(file.name for file in tmp_path.iterdir() if "check" in file.name)
    assert left == ["parts-check.npz", "whole-check.npz"]  # and no half of one
    with np.load(tmp_path / "whole.npz") as one, np.load(tmp_path / "parts.npz") as other:
        assert np.array_equal(one["w"], other["w"])


def steps_in(path):
    if not path.exists():
        return 0
    with np.load(path, allow_pickle=False) as saved:
        return int(saved["run.k"])


def test_ctrl_c_reaches_a_long_compiled_run(tmp_path):
    """A real SIGINT to a process in the middle of a compiled stretch."""
    child = run_script(tmp_path, "long", 4_000_000, 1, 0, 0)
    path = tmp_path / "long-check.npz"
    deadline = time.monotonic() + 60
    while steps_in(path) == 0 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert b"KeyboardInterrupt" in errors
    assert 0 < steps_in(path) < 4_000_000


def test_sigterm_saves_the_run_first(tmp_path):
    """A run that saves every 10 s has saved nothing yet; then the process ends by the signal."""
    child = run_script(tmp_path, "term", 4_000_000, 1, 0, 0, "seldom")
    path = tmp_path / "term-check.npz"
    assert [child.stdout.readline() for _ in range(2)] == [b"at step 0\n", b"at step 100\n"]
    assert not path.exists()
    child.terminate()
    child.communicate(timeout=30)
    assert child.returncode == -signal.SIGTERM
    assert 0 < steps_in(path) < 4_000_000


def test_sigterm_is_the_callers_again_after_the_run(tmp_path, haar):
    bocce.minimize(haar, "shb", T=5, batch_size=50, checkpoint=tmp_path / "run.npz")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_save_that_fails_does_not_end_the_run(tmp_path, haar, monkeypatch):
    path = tmp_path / "run.npz"
    saves, savez = [], np.savez

    def full_for_a_while(stream, **arrays):
        saves.append(None)
        if 2 <= len(saves) <= 4:
            raise OSError(28, "No space left on device")
        savez(stream, **arrays)

    monkeypatch.setattr(np, "savez", full_for_a_while)
    settings = {"T": 300, "batch_size": 50, "record_every": 10, "callback": lambda progress: False}
    limits = Limits(save_seconds=0.0, cut_seconds=0.0)
    request = Request("shb", checkpoint=path, limits=limits, **settings).checked(haar)
    with pytest.warns(RuntimeWarning, match="No space left.* the run goes on") as told:
        r = solve(haar, request)
    assert (r.n_iter, len(told)) == (300, 1)
    assert len(saves) > 5
    assert solve(haar, request).n_iter == 300


def test_half_written_checkpoint_is_never_taken_for_whole(tmp_path, haar, monkeypatch):
    path = tmp_path / "run.npz"
    bocce.minimize(haar, "shb", T=20, batch_size=50, checkpoint=path)
    before = path.read_bytes()

    def full_disk(*args, **kwargs):
        args[0].write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.warns(RuntimeWarning, match="could not be written .*No space left.* is complete"):
        r = bocce.minimize(haar, "shb", T=20, batch_size=50, checkpoint=path)
    assert r.n_iter == 20
    assert path.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["run.npz"]


def test_a_checkpoint_that_is_a_link_is_replaced_and_its_target_left_alone(tmp_path, haar):
    target, path = tmp_path / "precious", tmp_path / "run.npz"
    target.write_bytes(b"precious")
    path.symlink_to(target)
    with pytest.raises(ValueError, match="is not a readable checkpoint"):
        bocce.minimize(haar, "shb", T=5, batch_size=50, checkpoint=path)
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    bocce.minimize(haar, "shb", T=5, batch_size=50, checkpoint=path)
    assert not path.is_symlink()
    assert not (tmp_path / "nowhere").exists()
    assert target.read_bytes() == b"precious"
