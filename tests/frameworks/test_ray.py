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
import tables_on_disk
from bocce.inference import infer
from bocce.plane.metrics.newton_cg import NewtonPolicy
from ray_rows import KINDS, D, N, T, alone, data, parts_of, schedule, steps_of_workers

pytestmark = pytest.mark.frameworks
pa = pytest.importorskip("pyarrow")


def stored(path, X, y, rows):
    tables_on_disk.parts_on_disk(path, X, y, rows)
    return path


# -- the same iterates -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "sizes"),
    [
        ("squared", [90]),
        ("squared", [30, 0, 59, 1]),
        ("logistic", [40, 50]),
        ("logistic", [1, 88, 1]),  # a part with one class
    ],
)
def test_iterates_equal_those_of_one_machine(local_ray, loss, sizes):
    parts = parts_of(*data(loss), sizes)
    for b in (N, 1.0, None):
        r = bocce.ray.minimize(parts, schedule(), batch_size=b, loss=loss, l2=0.01, seed=4)
        assert (r.status, r.n_iter, r.batch_size, r.seed) == ("finished", T, N, 4)
        s = alone(loss)
        np.testing.assert_allclose(r.w, s.w, rtol=1e-10)
        np.testing.assert_allclose(r.history["value"], s.history["value"], rtol=1e-10)
        np.testing.assert_allclose(r.history["grad_norm"], s.history["grad_norm"], rtol=1e-7)


@pytest.mark.parametrize("b", [20, 0.5])
@pytest.mark.parametrize("method", ["auto", "shb", bocce.schedules.sgd(T=5, L=8.0)])
def test_batches_are_refused(local_ray, method, b):
    T = None if isinstance(method, bocce.Schedule) else 5
    message = r"ray.minimize: batch_size=\d+ must be all 90 rows, .*bocce.minimize"
    with pytest.raises(ValueError, match=message):
        bocce.ray.minimize(parts_of(*data("squared"), [40, 50]), method, T=T, batch_size=b)


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax", "huber"])
@pytest.mark.parametrize("in_files", [False, True])
def test_errors_and_certain_fits_are_those_of_one_machine(local_ray, loss, in_files, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) * [1.0, 100.0, 0.1] + [0.0, 1e3, 0.0]
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, 0.5, 0.0] + rng.standard_normal(300)
    y = {"logistic": z > 0, "softmax": np.digitize(z, [-1.0, 1.0])}.get(loss, z).astype(float)
    parts = parts_of(X, y, [100, 200])
    if in_files:
        parts = [stored(tmp_path / f"{i}.arrow", *part, 30) for i, part in enumerate(parts)]
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
    wild = bocce.schedules.sgd(T=100, L=1.0)  # kappa = 100: far beyond the edge
    assert bocce.ray.minimize(parts, wild).status == "diverged"
    assert bocce.minimize(bocce.LeastSquares(X, y), wild, batch_size=400).status == "diverged"


@pytest.mark.parametrize("loss", KINDS)
def test_the_full_batch_is_the_run_on_one_machine(local_ray, loss):
    """Constants, method and batch are chosen alike, too: everything is left to the defaults. Many
    tables are equally good on all rows of few columns, so the search reads eight digits of its
    numbers; workers bound the R2 of least squares by L_max, which leads to another table.
    """
    X, y = data(loss)
    rows = sp.csr_array(X) if loss == "logistic" else X
    parts = [(rows[:50], y[:50]), (rows[50:], y[50:])]
    r = bocce.ray.minimize(parts, loss=loss, l2=0.05, T=T, batch_size=N, tol=1e-12)
    p = KINDS[loss](X, y, l2=0.05)
    s = bocce.minimize(p, T=T, batch_size=N, tol=1e-12)
    assert (r.schedule.name, r.schedule.T) == (s.schedule.name, s.schedule.T)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-5)
    if loss == "logistic":  # L_max stands for R2 on both sides
        assert r.schedule == s.schedule
    s = bocce.minimize(p, r.schedule, batch_size=N, tol=1e-12)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-10)
    norms = s.history["grad_norm"]
    np.testing.assert_allclose(r.history["grad_norm"], norms, rtol=1e-7, atol=1e-14 * norms[0])


def test_more_workers_than_rows_and_a_tree(local_ray, monkeypatch):
    monkeypatch.setattr(bocce.ray.workers, "FAN_IN", 2)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 1025)) / 16.0, rng.standard_normal(3)
    p = bocce.LeastSquares(X, y, l2=0.01)
    assert not p.gram_fits  # so that every sum travels
    r = bocce.ray.minimize(parts_of(X, y, [1, 0, 1, 0, 1]), schedule(), l2=0.01, batch_size=3)
    s = bocce.minimize(p, schedule(), batch_size=3)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-10)


@pytest.mark.parametrize("suffix", [".arrow", ".parquet", ".csv"])
def test_files_whose_labels_differ(local_ray, tmp_path, suffix):
    """A label has one code in all files, and the classes are those of all files."""
    X, y = data("squared")
    names = np.array(["a", "b", "c"])[np.digitize(y, [-2.0, 2.0])]
    halves = (np.flatnonzero(names != "a"), np.flatnonzero(names != "b"))
    order = np.concatenate(halves)
    paths = []
    for i, rows in enumerate(halves):
        table = pa.table([*X[rows].T.copy(), names[rows]], [*(f"x{j}" for j in range(D)), "y"])
        paths.append(tables_on_disk.write(tmp_path / f"{i}{suffix}", table, 7))
    options = {"l2": 0.01, "intercept": True}
    r = bocce.ray.minimize(paths, loss="softmax", tol=1e-9, **options)
    s = bocce.minimize(bocce.Problem(X[order], names[order], "softmax", **options), tol=1e-10)
    assert list(r.classes) == ["a", "b", "c"]
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, s.w, atol=1e-7)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of ray.data, on its own settings
def test_parquet_files_through_ray_data_without_gathering(local_ray, tmp_path, monkeypatch):
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
    steps_of_workers(monkeypatch)
    monkeypatch.setattr(NewtonPolicy, "suits", lambda problem: False)
    problem = bocce.Problem(X, y, loss, **options)
    s = bocce.minimize(problem, "plane", tol=1e-10, w0=np.zeros(problem.shape))
    assert (r.status, r.n_iter) == ("converged", s.n_iter)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(r.intercept, s.intercept, rtol=1e-7)
    first = np.linalg.norm(problem.gradient(np.zeros(problem.shape)))
    point = problem.join_intercept(r.w, r.intercept)
    assert np.linalg.norm(problem.gradient(point)) <= 2e-10 * first


def test_an_intercept_with_a_schedule(local_ray):
    X, y = data("squared")
    parts = [(X[:50], y[:50]), (X[50:], y[50:])]
    r = bocce.ray.minimize(parts, schedule(), l2=0.05, intercept=True)
    problem = bocce.LeastSquares(X, y, l2=0.05, intercept=True)
    s = bocce.minimize(problem, schedule(), batch_size=N)
    np.testing.assert_allclose([*r.w, r.intercept], [*s.w, s.intercept], rtol=1e-10)


def test_files_with_three_classes_and_an_intercept(local_ray, tmp_path):
    """Each worker reads its file a part at a time; neither holds all classes."""
    X, y = data("squared")
    y = np.digitize(y, [-2.0, 2.0]).astype(float)
    halves = (np.flatnonzero(y < 2), np.flatnonzero(y == 2))
    paths = [stored(tmp_path / f"{i}.arrow", X[rows], y[rows], 7) for i, rows in enumerate(halves)]
    options = {"l2": 0.01, "intercept": True}
    r = bocce.ray.minimize(paths, loss="softmax", tol=1e-9, **options)
    s = bocce.minimize(bocce.Problem(X, y, "softmax", **options), "plane", tol=1e-10)
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, s.w, atol=1e-7)


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
        ([(np.eye(2), [1.0, 2.0])], {"tol": -1.0}, ValueError, "^ray.minimize: tol=-1.0 must be"),
        ([(np.eye(2), [1.0, 2.0])], {"method": "sbh"}, ValueError, "^ray.minimize: method='sbh'"),
        (["nowhere.arrow"], {}, FileNotFoundError, "there is no file 'nowhere.arrow'"),
    ],
)
def test_bad_arguments_are_refused_before_any_worker_starts(parts, options, error, message):
    with pytest.raises(error, match=message):
        bocce.ray.minimize(parts, **options)


@pytest.mark.parametrize("extra", [["--no-intercept"], ["--l2", "0.1"]])
def test_solve_on_the_command_line(local_ray, tmp_path, extra):
    """`bocce solve --ray local`: of arrays and of an Arrow file, as without Ray."""
    from typer.testing import CliRunner

    from bocce.cli import app

    X, y, _ = bocce.data.regression(60, 3, 5.0, noise_var=0.1)
    table, arrow = tmp_path / "t.npz", stored(tmp_path / "t.arrow", X, y, 20)
    np.savez(table, X=X, y=y)
    run = ["--method", "sgd", "-T", "30", "--batch-size", "60", "--tol", "0", "--json"]
    run += extra
    alone = json.loads(CliRunner().invoke(app, ["solve", str(table), *run]).stdout)
    for file in (table, arrow):
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
