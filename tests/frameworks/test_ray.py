"""Rows in Ray actors: the same iterates as on one machine, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import ray
import scipy.sparse as sp

import bocce
import bocce.ray
import bocce.ray.sources
import bocce.ray.workers
from bocce import sampling
from bocce.data import write_blocks
from bocce.engines.guess import GuessScores

pytestmark = pytest.mark.frameworks

N, D, T = 90, 4, 25
KINDS = {"squared": bocce.LeastSquares, "logistic": bocce.Logistic}


@pytest.fixture(scope="module")
def cluster():
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def data(loss: str):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, D)) * np.linspace(0.5, 2.0, D)
    y = X @ np.ones(D) + rng.standard_normal(N)
    return X, y if loss == "squared" else np.where(y > 0, "yes", "no")


def parts_of(X, y, sizes):
    return list(zip(np.split(X, np.cumsum(sizes)[:-1]), np.split(y, np.cumsum(sizes)[:-1])))


def schedule():
    return bocce.schedules.nesterov(T=T, L=8.0, mu=0.1)


def replayed(p, plan, taken: int, sizes: list[int], seed: int, rows_of):
    """The same draws, put together and stepped on by NumPy; ``rows_of(part, units)`` are rows."""
    units, w, v = sum(sizes), np.zeros(p.d), np.zeros(p.d)
    leave_out = p.loss.quadratic and 2 * taken > units
    for k in range(plan.T):
        drawn = units - taken if leave_out else taken
        counts = sampling.split_counts(seed, k, sizes, drawn)
        lists = [
            rows_of(i, sampling.part_batch(seed, k, i, size, int(counts[i])))
            for i, size in enumerate(sizes)
        ]
        rows = np.concatenate(lists)
        if leave_out:
            rows = np.setdiff1d(np.arange(p.n), rows)
        at = w + plan.theta[k] * v
        total = rows.size * (p.gradient(at, rows) - p.l2 * at)
        g = total * units / (taken * p.n) + p.l2 * at
        v = plan.beta[k] * v - plan.alpha[k] * g
        w = w + v
    return w


def on_rows(loss, sizes, b, l2=0.01, seed=4):
    """What one machine makes of the same batches."""
    starts = np.cumsum([0, *sizes])
    problem = KINDS[loss](*data(loss), l2=l2)
    return replayed(problem, schedule(), b, sizes, seed, lambda part, rows: starts[part] + rows)


# -- the same iterates -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "sizes", "b"),
    [
        ("squared", [90], 20),
        ("squared", [40, 50], 80),
        ("squared", [30, 0, 59, 1], 20),
        ("logistic", [40, 50], 20),
        ("logistic", [1, 88, 1], 80),  # a part with one class, and more than half of a part
    ],
)
def test_iterates_equal_those_of_one_machine_on_the_same_batches(cluster, loss, sizes, b):
    parts = parts_of(*data(loss), sizes)
    options = {"loss": loss, "l2": 0.01, "seed": 4}
    r = bocce.ray.minimize(parts, schedule(), batch_size=b, **options)
    assert (r.status, r.n_iter, r.batch_size, r.seed) == ("finished", T, b, 4)
    np.testing.assert_allclose(r.w, on_rows(loss, sizes, b), rtol=1e-10)
    problem = KINDS[loss](*data(loss), l2=0.01)
    assert r.history["value"][-1] == pytest.approx(problem.value(r.w), rel=1e-10)
    norm = np.linalg.norm(problem.gradient(r.w))
    assert r.history["grad_norm"][-1] == pytest.approx(norm, rel=1e-9)


@pytest.mark.parametrize("loss", KINDS)
def test_the_full_batch_is_the_run_on_one_machine(cluster, loss):
    """Constants, method and batch are chosen alike, too: everything is left to the defaults."""
    X, y = data(loss)
    rows = sp.csr_array(X) if loss == "logistic" else X
    parts = [(rows[:50], y[:50]), (rows[50:], y[50:])]
    r = bocce.ray.minimize(parts, loss=loss, l2=0.05, T=T, batch_size=N, tol=1e-12)
    s = bocce.minimize(KINDS[loss](X, y, l2=0.05), T=T, batch_size=N, tol=1e-12)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-10)
    np.testing.assert_allclose(r.schedule.alpha, s.schedule.alpha, rtol=1e-10)
    np.testing.assert_allclose(r.history["grad_norm"], s.history["grad_norm"], rtol=1e-7)


def test_more_workers_than_rows_and_a_tree(cluster, monkeypatch):
    monkeypatch.setattr(bocce.ray.workers, "FAN_IN", 2)
    X, y = data("squared")
    parts = parts_of(X[:3], y[:3], [1, 0, 1, 0, 1])
    # without a Gram matrix every sum travels
    monkeypatch.setattr(bocce.problems.parts, "GRAM_COLUMNS", 0)
    r = bocce.ray.minimize(parts, schedule(), l2=0.01, batch_size=3)
    s = bocce.minimize(bocce.LeastSquares(X[:3], y[:3], l2=0.01), schedule(), batch_size=3)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-10)


@pytest.mark.parametrize("loss", KINDS)
def test_block_files_are_sampled_by_blocks(cluster, tmp_path, loss):
    X, y = data(loss)
    y = y if loss == "squared" else np.where(y == "yes", 1.0, 0.0)
    first = np.argsort(y)[: 50 if loss == "squared" else int((y == 0).sum())]  # one class alone
    rest = np.setdiff1d(np.arange(N), first)
    files = [
        write_blocks(tmp_path / f"{i}", (X[rows], y[rows]), block_rows=7)
        for i, rows in enumerate((first, rest))
    ]
    r = bocce.ray.minimize(
        [str(file.path) for file in files], schedule(), loss=loss, l2=0.01, batch_size=30, seed=4
    )
    blocks = [file.n_blocks for file in files]
    taken = round(30 * sum(blocks) / N)
    pairs = [file.read(i) for file in files for i in range(file.n_blocks)]
    problem = KINDS[loss](*(np.concatenate(column) for column in zip(*pairs)), l2=0.01)

    def rows_of(part, units):
        offset, file = (0, files[0].n)[part], files[part]
        spans = [np.arange(file.start(i), file.start(i) + file.rows(i)) + offset for i in units]
        return np.concatenate([np.empty(0, np.int64), *spans])

    expected = replayed(problem, schedule(), taken, blocks, 4, rows_of)
    np.testing.assert_allclose(r.w, expected, rtol=1e-10)
    assert r.batch_size == round(taken * N / sum(blocks))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of ray.data, on its own settings
def test_parquet_files_through_ray_data_without_gathering(cluster, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow", reason="Ray Datasets need pyarrow")
    pytest.importorskip("pandas", reason="Ray Datasets need pandas")
    from pyarrow import parquet

    X, y = data("squared")
    names = [*(f"x{j}" for j in range(D)), "y"]
    parquet.write_table(pa.table(dict(zip(names, [*X.T, y]))), tmp_path / "rows.parquet")

    def gathered(table):
        raise AssertionError("rows must not come to the driver")

    monkeypatch.setattr(bocce.ray.sources, "table_rows", gathered)  # here, not in the workers
    dataset = ray.data.read_parquet(str(tmp_path))
    r = bocce.ray.minimize(dataset, schedule(), l2=0.01, batch_size=N, workers=2)
    s = bocce.minimize(bocce.LeastSquares(X, y, l2=0.01), schedule(), batch_size=N)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-10)


def uneven(loss):
    """Columns of very different size, with a large mean: what a frame is for."""
    X, y = data("squared")
    X = X * np.array([1e-3, 1.0, 1.0, 1e4]) + np.array([0.0, 50.0, 0.0, 1e5])
    if loss == "logistic":
        return X, np.where(y > 0, "yes", "no")
    return X, np.array(["a", "b", "c"])[np.digitize(y, [-2.0, 2.0])] if loss == "softmax" else y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_intercept_and_scales_are_those_of_one_machine(cluster, monkeypatch, loss, sparse):
    X, y = uneven(loss)
    X = sp.csr_array(X) if sparse else X
    parts = [(X[:50], y[:50]), (X[50:], y[50:])]
    options = {"l2": 0.01, "intercept": True}
    r = bocce.ray.minimize(parts, loss=loss, tol=1e-10, **options)
    monkeypatch.setattr(bocce.Problem, "scores", GuessScores, raising=False)
    problem = bocce.Problem(X, y, loss, **options)
    s = bocce.minimize(problem, "plane", tol=1e-10)
    assert (r.status, r.n_iter) == ("converged", s.n_iter)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(r.intercept, s.intercept, rtol=1e-7)
    first = np.linalg.norm(problem.gradient(np.zeros(problem.shape)))
    point = problem.joined(r.w, r.intercept)
    assert np.linalg.norm(problem.gradient(point)) <= 2e-10 * first


def test_an_intercept_in_batches(cluster):
    """On all rows, so that one machine takes the same."""
    X, y = data("squared")
    parts = [(X[:50], y[:50]), (X[50:], y[50:])]
    r = bocce.ray.minimize(parts, schedule(), l2=0.05, intercept=True, batch_size=N)
    problem = bocce.LeastSquares(X, y, l2=0.05, intercept=True)
    s = bocce.minimize(problem, schedule(), batch_size=N)
    np.testing.assert_allclose([*r.w, r.intercept], [*s.w, s.intercept], rtol=1e-10)


def test_block_files_with_three_classes_and_an_intercept(cluster, tmp_path):
    """Each worker reads its file a block at a time; neither holds all classes."""
    X, y = data("squared")
    y = np.digitize(y, [-2.0, 2.0]).astype(float)
    halves = (np.flatnonzero(y < 2), np.flatnonzero(y == 2))
    for i, rows in enumerate(halves):
        write_blocks(tmp_path / f"{i}", (X[rows], y[rows]), block_rows=7)
    options = {"l2": 0.01, "intercept": True}
    paths = [tmp_path / "0", tmp_path / "1"]
    r = bocce.ray.minimize(paths, loss="softmax", tol=1e-9, **options)
    s = bocce.minimize(bocce.Problem(X, y, "softmax", **options), "plane", tol=1e-10)
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, s.w, atol=1e-7)
    with pytest.raises(ValueError, match="softmax loss must be minimised on all rows"):
        bocce.ray.minimize(paths, schedule(), loss="softmax", batch_size=20)


# -- trouble ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["__init__", "plane"])
def test_a_worker_without_memory_for_its_part_is_said(cluster, monkeypatch, tmp_path, method):
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


def test_a_worker_that_never_stays_is_given_up(cluster, monkeypatch):
    """As one that the system ends for its memory, each time it is started again."""

    class Short(bocce.ray.workers.Worker):
        def plane(self, key, made, todo):
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(bocce.ray.workers, "Worker", Short)
    monkeypatch.setattr(bocce.ray.workers, "RESTARTS", 2)
    with pytest.raises(RuntimeError, match=r"ended .* times, .* give smaller parts"):
        bocce.ray.minimize(parts_of(*data("squared"), [90]), l2=0.01)


def watched(monkeypatch, folder: Path, before):
    """Workers that write down their process, and do ``before(self, k)`` before they sum."""

    class Watched(bocce.ray.workers.Worker):
        def __init__(self, *args):
            (folder / f"{os.getpid()}.pid").touch()
            super().__init__(*args)

        def unit_sum(self, frame, at, k, count):
            before(k)
            return super().unit_sum(frame, at, k, count)

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
    parts = parts_of(*data("squared"), [40, 50])
    r = bocce.ray.minimize(parts, schedule(), l2=0.01, batch_size=20, seed=4)
    assert {int(file.stem) for file in folder.glob("*.shot")} == steps
    np.testing.assert_allclose(r.w, on_rows("squared", [40, 50], 20), rtol=1e-10)
    assert gone(folder, 2 + len(steps))
    return r.w


def test_a_killed_worker_reloads_and_nothing_is_left_running(cluster, monkeypatch, tmp_path):
    killed_run(monkeypatch, tmp_path, {3, 17})


@pytest.mark.slow
def test_ten_runs_with_workers_killed_at_random_steps(cluster, monkeypatch, tmp_path):
    rng, found = np.random.default_rng(0), []
    for run in range(10):
        folder = tmp_path / str(run)
        folder.mkdir()
        found.append(killed_run(monkeypatch, folder, {int(rng.integers(T))}))
    assert all(np.array_equal(w, found[0]) for w in found)  # bit for bit


def test_a_straggler_delays_and_changes_nothing(cluster, monkeypatch, tmp_path):
    def before(k):
        chosen = tmp_path / "slow"
        if not chosen.exists():
            chosen.write_text(str(os.getpid()))
        if k % 10 == 0 and chosen.read_text() == str(os.getpid()):
            time.sleep(0.3)

    watched(monkeypatch, tmp_path, before)
    parts = parts_of(*data("squared"), [40, 50])
    r = bocce.ray.minimize(parts, schedule(), l2=0.01, batch_size=20, seed=4)
    np.testing.assert_allclose(r.w, on_rows("squared", [40, 50], 20), rtol=1e-10)


def test_an_error_in_the_driver_leaves_nothing_running(cluster, monkeypatch, tmp_path):
    watched(monkeypatch, tmp_path, lambda k: None)
    parts = parts_of(*data("squared"), [40, 50])

    def stop(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        bocce.ray.minimize(parts, schedule(), batch_size=20, callback=stop)
    assert gone(tmp_path, 2)


DRIVER = """
import sys, time, numpy as np, bocce, bocce.control, bocce.ray
import bocce.run.asked as running
running.LIMITS = bocce.control.Limits(save_seconds=0.1)
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
plan = bocce.schedules.nesterov(T=400, L=8.0, mu=0.1)
slow = lambda progress: time.sleep(0.02)
r = bocce.ray.minimize([(X[:40], y[:40]), (X[40:], y[40:])], plan, l2=0.01, batch_size=20, seed=4,
                       checkpoint=sys.argv[3], callback=slow if len(sys.argv) > 4 else None)
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
            if saved.exists() and np.load(saved)["counts"][0] > 20:
                break
            time.sleep(0.1)
        driver.kill()
    with np.load(saved) as state:
        assert 20 < state["counts"][0] < 400
    again = subprocess.run([*command, str(saved)], capture_output=True, text=True, check=True)
    w = np.frombuffer(bytes.fromhex(again.stdout.split()[-1]))
    plan = bocce.schedules.nesterov(T=400, L=8.0, mu=0.1)
    problem = bocce.LeastSquares(X, y, l2=0.01)
    rows_of = lambda part, rows: (0, 40)[part] + rows  # noqa: E731
    np.testing.assert_allclose(w, replayed(problem, plan, 20, [40, 50], 4, rows_of), rtol=1e-9)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "options", "error", "message"),
    [
        ([], {}, TypeError, "parts=list must be a list of pairs"),
        (np.eye(3), {}, TypeError, "parts=ndarray must be a list of pairs"),
        ([np.eye(3)], {}, TypeError, "part 0 is ndarray, must be a pair"),
        ([(np.eye(0), [])], {}, ValueError, "parts hold no row"),
        (
            [(np.eye(2), [1.0, 2.0]), (np.eye(3), np.ones(3))],
            {},
            ValueError,
            "part 1 has 3 columns",
        ),
        ([(np.eye(2), [1.0, np.nan])], {}, ValueError, "y has NaN or infinity"),
        ([(np.eye(2), [1.0, 2.0])], {"loss": "hinge"}, ValueError, "loss='hinge' must be one of"),
        ([(np.eye(2), [1, 1])], {"loss": "logistic"}, ValueError, "has 1 different labels"),
        ([(np.eye(2), [1.0, 2.0])], {"l2": -1.0}, ValueError, "l2=-1.0 must be"),
        (["nowhere.blocks"], {}, FileNotFoundError, "there is no file 'nowhere.blocks'"),
    ],
)
def test_bad_arguments_are_refused_before_any_worker_starts(parts, options, error, message):
    with pytest.raises(error, match=message):
        bocce.ray.minimize(parts, **options)


@pytest.mark.parametrize("extra", [["--no-intercept"], ["--l2", "0.1"]])
def test_solve_on_the_command_line(cluster, tmp_path, extra):
    """`bocce solve --ray local`: of a table and of a block file, the full batch as without."""
    from typer.testing import CliRunner

    from bocce.cli import app

    X, y, _ = bocce.data.regression(60, 3, 5.0, noise_var=0.1)
    table, blocks = tmp_path / "t.npz", tmp_path / "t.blocks"
    np.savez(table, X=X, y=y)
    bocce.data.write_blocks(blocks, [(X, y)], block_rows=20)
    run = ["--method", "sgd", "-T", "30", "--batch-size", "60", "--tol", "0", "--json"]
    run += extra
    alone = json.loads(CliRunner().invoke(app, ["solve", str(table), *run]).stdout)
    for file in (table, blocks):
        outcome = CliRunner().invoke(app, ["solve", str(file), *run, "--ray", "local"])
        found = json.loads(outcome.stdout[outcome.stdout.index("{") :])
        assert found["value"] == pytest.approx(alone["value"], rel=1e-10)
    refused = CliRunner().invoke(
        app, ["solve", str(table), "--ray", "local", "--sampling", "reshuffle"]
    )
    assert refused.exit_code == 2


@pytest.mark.filterwarnings("ignore")  # what joblib's backend for Ray warns of is not ours
def test_a_sweep_on_ray_gives_the_same_verdicts(cluster, tmp_path):
    from typer.testing import CliRunner

    from bocce.cli import app

    said = []
    for backend in ("local", "ray"):
        out = str(tmp_path / backend)
        run = ["reproduce", "der_beta", "--out", out, "--jobs", "2", "--backend", backend]
        assert CliRunner().invoke(app, run).exit_code == 0
        said.append(CliRunner().invoke(app, ["claims", out, "--json"]).stdout)
    assert said[0] == said[1] != ""
