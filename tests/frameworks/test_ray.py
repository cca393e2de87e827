"""Rows in Ray actors: the same iterates as on one machine."""

from __future__ import annotations

import json

import numpy as np
import pytest
import ray
import scipy.sparse as sp

import bocce
import bocce.ray
import bocce.ray.sources
import bocce.ray.workers
from bocce.data import write_blocks
from bocce.inference import infer
from bocce.plane.metrics import HessianPolicy
from bocce.plane.metrics.newton_cg import NewtonPolicy
from bocce.plane.scores import MemoryScores
from ray_rows import KINDS, D, N, T, data, on_rows, parts_of, replayed, schedule

pytestmark = pytest.mark.frameworks


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
def test_iterates_equal_those_of_one_machine_on_the_same_batches(local_ray, loss, sizes, b):
    parts = parts_of(*data(loss), sizes)
    options = {"loss": loss, "l2": 0.01, "seed": 4}
    r = bocce.ray.minimize(parts, schedule(), batch_size=b, **options)
    assert (r.status, r.n_iter, r.batch_size, r.seed) == ("finished", T, b, 4)
    np.testing.assert_allclose(r.w, on_rows(loss, sizes, b), rtol=1e-10)
    problem = KINDS[loss](*data(loss), l2=0.01)
    assert r.history["value"][-1] == pytest.approx(problem.value(r.w), rel=1e-10)
    norm = np.linalg.norm(problem.gradient(r.w))
    assert r.history["grad_norm"][-1] == pytest.approx(norm, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax", "huber"])
@pytest.mark.parametrize("in_files", [False, True])
def test_errors_and_certain_fits_are_those_of_one_machine(local_ray, loss, in_files, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) * [1.0, 100.0, 0.1] + [0.0, 1e3, 0.0]
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, 0.5, 0.0] + rng.standard_normal(300)
    y = {"logistic": z > 0, "softmax": np.digitize(z, [-1.0, 1.0])}.get(loss, z).astype(float)
    parts = parts_of(X, y, [100, 200])
    if in_files:
        parts = [
            write_blocks(tmp_path / f"{i}.arrow", [part], block_rows=30).path
            for i, part in enumerate(parts)
        ]
    how = {"loss": loss, "l2": 1e-3, "intercept": True}
    fit = bocce.ray.minimize(parts, tol="auto", **how)
    assert "(proved)" in fit.message
    p = bocce.Problem(X, y, **how)
    w = p.join_intercept(fit.w, fit.intercept)
    one = infer(p, w, "sandwich")
    there = bocce.ray.infer(parts, fit, "sandwich", **how)
    np.testing.assert_allclose(there.standard_errors, one.standard_errors, rtol=1e-9)
    exact = bocce.minimize(p, tol=1e-13)
    off = w - p.join_intercept(exact.w, exact.intercept)
    if loss == "softmax":
        off -= off.mean(axis=1, keepdims=True)
    assert (np.abs(off) <= 0.01 * one.standard_errors).all()


def test_a_run_that_ends_above_its_start_is_diverged(local_ray):
    X, y, _ = bocce.data.regression(n=400, d=5, kappa=100.0)
    parts = parts_of(X, y, [150, 250])
    how = {"T": 100, "batch_size": 5, "record_every": "auto"}
    assert bocce.ray.minimize(parts, "shb", **how).status == "diverged"
    assert bocce.minimize(bocce.LeastSquares(X, y), "shb", **how).status == "diverged"


@pytest.mark.parametrize("loss", KINDS)
def test_the_full_batch_is_the_run_on_one_machine(local_ray, loss):
    """Constants, method and batch are chosen alike, too: everything is left to the defaults."""
    X, y = data(loss)
    rows = sp.csr_array(X) if loss == "logistic" else X
    parts = [(rows[:50], y[:50]), (rows[50:], y[50:])]
    r = bocce.ray.minimize(parts, loss=loss, l2=0.05, T=T, batch_size=N, tol=1e-12)
    s = bocce.minimize(KINDS[loss](X, y, l2=0.05), T=T, batch_size=N, tol=1e-12)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-10)
    np.testing.assert_allclose(r.schedule.alpha, s.schedule.alpha, rtol=1e-10)
    np.testing.assert_allclose(r.history["grad_norm"], s.history["grad_norm"], rtol=1e-7)


def test_more_workers_than_rows_and_a_tree(local_ray, monkeypatch):
    monkeypatch.setattr(bocce.ray.workers, "FAN_IN", 2)
    X, y = data("squared")
    parts = parts_of(X[:3], y[:3], [1, 0, 1, 0, 1])
    # without a Gram matrix every sum travels
    monkeypatch.setattr(bocce.problems.parts, "GRAM_COLUMNS", 0)
    r = bocce.ray.minimize(parts, schedule(), l2=0.01, batch_size=3)
    s = bocce.minimize(bocce.LeastSquares(X[:3], y[:3], l2=0.01), schedule(), batch_size=3)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-10)


@pytest.mark.parametrize("loss", KINDS)
def test_block_files_are_sampled_by_blocks(local_ray, tmp_path, loss):
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
def test_parquet_files_through_ray_data_without_gathering(local_ray, tmp_path, monkeypatch):
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
def test_intercept_and_scales_are_those_of_one_machine(local_ray, monkeypatch, loss, sparse):
    X, y = uneven(loss)
    X = sp.csr_array(X) if sparse else X
    parts = [(X[:50], y[:50]), (X[50:], y[50:])]
    options = {"l2": 0.01, "intercept": True}
    r = bocce.ray.minimize(parts, loss=loss, tol=1e-10, **options)
    monkeypatch.setattr(MemoryScores, "predicts_gradient", lambda self, trusted: trusted)
    monkeypatch.setattr("bocce.plane.choose.in_memory", lambda problem: False)
    monkeypatch.setattr(NewtonPolicy, "suits", lambda problem: False)
    monkeypatch.setattr(HessianPolicy, "every_step", False)  # a Hessian is a round of messages
    problem = bocce.Problem(X, y, loss, **options)
    s = bocce.minimize(problem, "plane", tol=1e-10)
    assert (r.status, r.n_iter) == ("converged", s.n_iter)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(r.intercept, s.intercept, rtol=1e-7)
    first = np.linalg.norm(problem.gradient(np.zeros(problem.shape)))
    point = problem.join_intercept(r.w, r.intercept)
    assert np.linalg.norm(problem.gradient(point)) <= 2e-10 * first


def test_an_intercept_in_batches(local_ray):
    """On all rows, so that one machine takes the same."""
    X, y = data("squared")
    parts = [(X[:50], y[:50]), (X[50:], y[50:])]
    r = bocce.ray.minimize(parts, schedule(), l2=0.05, intercept=True, batch_size=N)
    problem = bocce.LeastSquares(X, y, l2=0.05, intercept=True)
    s = bocce.minimize(problem, schedule(), batch_size=N)
    np.testing.assert_allclose([*r.w, r.intercept], [*s.w, s.intercept], rtol=1e-10)


def test_block_files_with_three_classes_and_an_intercept(local_ray, tmp_path):
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
        ([(np.eye(2), [1, 1])], {"loss": "logistic"}, ValueError, "has one label only"),
        ([(np.eye(2), [1.0, 2.0])], {"l2": -1.0}, ValueError, "l2=-1.0 must be"),
        (["nowhere.blocks"], {}, FileNotFoundError, "there is no file 'nowhere.blocks'"),
    ],
)
def test_bad_arguments_are_refused_before_any_worker_starts(parts, options, error, message):
    with pytest.raises(error, match=message):
        bocce.ray.minimize(parts, **options)


@pytest.mark.parametrize("extra", [["--no-intercept"], ["--l2", "0.1"]])
def test_solve_on_the_command_line(local_ray, tmp_path, extra):
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
def test_a_sweep_on_ray_gives_the_same_verdicts(local_ray, tmp_path):
    from typer.testing import CliRunner

    from bocce.cli import app

    said = []
    for backend in ("local", "ray"):
        out = str(tmp_path / backend)
        run = ["reproduce", "der_beta", "--out", out, "--jobs", "2", "--backend", backend]
        assert CliRunner().invoke(app, run).exit_code == 0
        said.append(CliRunner().invoke(app, ["claims", out, "--json"]).stdout)
    assert said[0] == said[1] != ""
