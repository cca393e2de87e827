"""minimize: statuses, records, callbacks, checkpoints that survive kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.control import registry
from bocce.engines import record_steps
from bocce.run import Progress
from helpers import constants, design, problem, schedule


@pytest.fixture(scope="module")
def haar():
    X, y, _ = bocce.data.regression(200, 5, 20.0, noise_var=0.01)
    return bocce.LeastSquares(X, y)


@pytest.fixture(scope="module")
def exact_fit():
    X, y, _ = bocce.data.regression(200, 5, 20.0)
    return bocce.LeastSquares(X, y)


@pytest.mark.filterwarnings("ignore:multistage")
@pytest.mark.parametrize("name", sorted(registry().keys() - {"plane"}))
def test_every_method_by_name(haar, name):
    r = bocce.minimize(haar, name, T=200, batch_size=0.9)
    assert r.status == "finished"
    assert r.n_iter == 200
    assert r.schedule.name == name
    assert r.history["grad_norm"][-1] < r.history["grad_norm"][0]
    assert r.history["k"].tolist() == list(range(201))
    assert r.history["gradient_evaluations"][-1] == 200 * 180
    np.testing.assert_allclose(
        r.history["grad_norm"][-1], np.linalg.norm(haar.gradient(r.w)), rtol=1e-6
    )
    np.testing.assert_allclose(r.history["value"][-1], haar.value(r.w), rtol=1e-10)


def test_auto_is_the_default_and_needs_nothing(haar):
    r = bocce.minimize(haar)
    assert r.message.startswith("auto")
    assert r.schedule is None
    assert [tuple(stage) for stage in r.stages] == [("plane", r.n_iter, haar.n)]
    np.testing.assert_allclose(r.w, haar.minimiser(), rtol=1e-9)


def test_a_named_method_takes_the_smallest_batch_that_accelerates_fully(haar):
    r = bocce.minimize(haar, "shb", T=400)
    c = haar.constants()
    zeta2 = (haar.n - r.batch_size) / ((haar.n - 1) * r.batch_size)
    assert zeta2 * c.L_max <= np.sqrt(c.mu * c.L)  # full acceleration
    smaller = r.batch_size - 1
    assert (haar.n - smaller) / ((haar.n - 1) * smaller) * c.L_max > np.sqrt(c.mu * c.L)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_converged_at_the_first_step_that_meets_tol(exact_fit, engine):
    r = bocce.minimize(exact_fit, "shb", T=500, batch_size=0.9, tol=1e-6, engine=engine)
    norms = r.history["grad_norm"]
    assert r.status == "converged"
    assert norms[-1] <= 1e-6 * norms[0] < norms[-2]
    assert r.n_iter == r.history["k"][-1] < 500
    np.testing.assert_allclose(np.linalg.norm(exact_fit.gradient(r.w)), norms[-1], rtol=1e-5)


def test_a_converged_run_stays_converged(exact_fit, tmp_path):
    settings = {"method": "shb", "T": 500, "batch_size": 0.9, "tol": 1e-6}
    path = tmp_path / "run.npz"
    first = bocce.minimize(exact_fit, checkpoint=path, **settings)
    again = bocce.minimize(exact_fit, checkpoint=path, **settings)
    assert first.status == again.status == "converged"
    assert first.n_iter == again.n_iter
    assert np.array_equal(first.w, again.w)


def test_tol_met_only_after_the_last_step_counts(exact_fit):
    r = bocce.minimize(exact_fit, "shb", T=500, batch_size=200, tol=1e-6)
    again = bocce.minimize(
        exact_fit, "shb", T=r.n_iter, batch_size=200, tol=1e-6, record_every=10**6
    )
    assert again.status == "converged"
    assert again.history["k"].tolist() == [0, r.n_iter]


@pytest.mark.parametrize("every", [1, 7, 10_000])
@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_divergence_is_a_result_with_a_remedy(engine, every, kind):
    p = problem("squared", design(kind), l2=0.1)
    table = bocce.Schedule(np.full(4000, 40.0), np.full(4000, 0.9), np.zeros(4000), "wild")
    r = bocce.minimize(p, table, batch_size=3, engine=engine, record_every=every)
    assert r.status == "diverged"
    assert r.n_iter < 4000
    assert np.isfinite(r.w).all()
    assert all(np.isfinite(column).all() for column in r.history.values())
    assert "wild diverged at step" in r.message
    assert 'method "auto", a larger batch' in r.message


def test_engines_agree_on_where_a_run_diverges(haar):
    table = bocce.Schedule(np.full(500, 1.0), np.full(500, 0.5), np.zeros(500))
    slow = bocce.minimize(haar, table, batch_size=20, engine="reference")
    fast = bocce.minimize(haar, table, batch_size=20)
    assert slow.n_iter == fast.n_iter
    assert slow.history["grad_norm"].max() > 1e6 * slow.history["grad_norm"][0]


def test_start_at_the_minimiser_is_not_divergence(exact_fit):
    r = bocce.minimize(exact_fit, "shb", T=50, batch_size=20, w0=exact_fit.minimiser())
    assert r.status == "finished"
    np.testing.assert_allclose(r.w, exact_fit.minimiser(), atol=1e-12)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_callback_sees_the_recorded_iterates_and_stops(haar, engine):
    seen: list[Progress] = []

    def watch(progress):
        seen.append(progress)
        return progress.k >= 30

    r = bocce.minimize(
        haar, "shb", T=100, batch_size=150, record_every=10, callback=watch, engine=engine
    )
    assert [p.k for p in seen] == [0, 10, 20, 30]
    assert r.status == "finished"
    assert r.n_iter == 30
    assert "stopped by the callback at step 30" in r.message
    for p in seen:
        np.testing.assert_allclose(np.linalg.norm(haar.gradient(p.w)), p.grad_norm, rtol=1e-8)
        np.testing.assert_allclose(haar.value(p.w), p.value, rtol=1e-10)


@pytest.mark.parametrize("b", [1, 20, 25])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_watching_changes_no_bit(kind, loss, b):
    p = problem(loss, design(kind), l2=0.1)
    table = schedule("shb", 40, constants(p, b))
    alone = bocce.minimize(p, table, batch_size=b, record_every=3)
    watched = bocce.minimize(p, table, batch_size=b, record_every=3, callback=lambda _: None)
    assert np.array_equal(alone.w, watched.w)
    for key in alone.history:
        assert np.array_equal(alone.history[key], watched.history[key])


@given(T=st.integers(1, 300), every=st.integers(1, 400) | st.just("auto"), epoch=st.integers(1, 90))
def test_record_steps(T, every, epoch):
    when = record_steps(T, every, epoch)
    assert when[0] == 0
    assert when[-1] == T
    assert (np.diff(when) > 0).all()
    if every == "auto":
        assert np.diff(when).max() <= epoch
    else:
        assert (np.diff(when)[:-1] == every).all()


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
    from bocce.run import asked, checkpoint

    out, path, T, cut, deadly, half = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    # save after every stretch; 0: of one step each
    asked.LIMITS = Limits(save_seconds=0.0, cut_seconds=cut)
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
    settings = dict(method="2p-shb", T=T, batch_size=200, seed=9, record_every=100)
    w = bocce.minimize(p, checkpoint=path, **settings).w
    write(out, w=w)
    """
)


def run_script(tmp_path, name, T, cut, deadly, half):
    script = tmp_path / "run.py"
    script.write_text(RUN)
    files = [str(tmp_path / f"{name}.npz"), str(tmp_path / f"{name}-check.npz")]
    numbers = [str(number) for number in (T, cut, deadly, half)]
    return subprocess.Popen([sys.executable, str(script), *files, *numbers], stderr=subprocess.PIPE)


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
    with np.load(tmp_path / "whole.npz") as one, np.load(tmp_path / "parts.npz") as other:
        assert np.array_equal(one["w"], other["w"])


def steps_in(path):
    if not path.exists():
        return 0
    with np.load(path, allow_pickle=False) as saved:
        return int(saved["counts"][0])


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


def test_half_written_checkpoint_is_never_taken_for_whole(tmp_path, haar, monkeypatch):
    path = tmp_path / "run.npz"
    bocce.minimize(haar, "shb", T=20, batch_size=50, checkpoint=path)
    before = path.read_bytes()

    def full_disk(*args, **kwargs):
        args[0].write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.warns(RuntimeWarning, match="could not be written .*No space left.* is whole"):
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


@pytest.mark.parametrize("size", [1e-160, 1e-85, 1.0, 1e77, 1e120])
def test_units_do_not_decide_what_is_converged(size):
    """Squares of the gradient under- or overflow here: neither is convergence."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = X @ np.ones(3) + 0.1 * rng.standard_normal(50)
    p = bocce.LeastSquares(X, size * y)
    r = bocce.minimize(p, "plane", tol=1e-8)
    assert r.status == "converged"
    assert r.n_iter > 0
    np.testing.assert_allclose(r.w / size, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-6)
    table = bocce.schedules.nesterov(300, L=p.constants().L, mu=p.constants().mu)
    r = bocce.minimize(p, table, batch_size=50, tol=1e-6)
    assert r.status == "converged"
    assert r.n_iter > 3


def test_results_do_not_depend_on_threads(haar):
    """Sixteen runs at once in four threads equal the same runs one after the other."""
    alone = [bocce.minimize(haar, "shb", T=300, batch_size=50, seed=s).w for s in range(16)]
    together: dict[int, np.ndarray] = {}

    def work(first):
        for s in range(first, 16, 4):
            together[s] = bocce.minimize(haar, "shb", T=300, batch_size=50, seed=s).w

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for s in range(16):
        assert np.array_equal(alone[s], together[s])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**64 - 1), share=st.floats(0.01, 1.0))
def test_pure_function_of_seed(haar, seed, share):
    a = bocce.minimize(haar, "auto", T=20, batch_size=share, seed=seed)
    b = bocce.minimize(haar, "auto", T=20, batch_size=share, seed=seed)
    assert np.array_equal(a.w, b.w)
