"""Problems on data in parts: the same mathematics as in memory, in bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce import sampling
from bocce.data.read.files import in_parts
from bocce.problems import FileProblem, ProblemLimits
from tables_on_disk import parts_on_disk
from tables_on_disk import whole as whole_of

N, D = 211, 4
KINDS = {"squared": bocce.LeastSquares, "logistic": bocce.Logistic}


def data(loss: str, n: int = N, d: int = D, dtype=np.float64, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, d)) * np.linspace(0.5, 2.0, d)).astype(dtype)
    y = X @ np.ones(d) + rng.standard_normal(n)
    return X, y if loss == "squared" else np.where(y > 0, 7.0, 2.0)


def twins(folder, loss, block_rows=20, l2=0.01, **kwargs):
    """The problem on a file, and the same rows in the same order in memory."""
    X, y = data(loss, **kwargs)
    file = parts_on_disk(folder / f"{loss}.arrow", X, y, block_rows)
    return KINDS[loss](file, l2=l2), KINDS[loss](X, y, l2=l2)


@pytest.fixture(params=["squared", "logistic"])
def pair(request, tmp_path):
    return twins(tmp_path, request.param)


# -- passes over the file --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", KINDS)
def test_the_problem_equals_the_one_in_memory(tmp_path, loss, dtype):
    p, q = twins(tmp_path, loss, dtype=dtype)
    assert isinstance(p, FileProblem)
    assert p.loss == q.loss
    assert (p.n, p.d, p.l2) == (N, D, 0.01)
    w = np.array([0.3, -1.0, 0.5, 0.1])
    rows = np.array([200, 3, 4, 19, 3])
    assert p.value(w) == pytest.approx(q.value(w), rel=1e-13)
    assert p.value(w, rows) == pytest.approx(q.value(w, rows), rel=1e-13)
    np.testing.assert_allclose(p.gradient(w), q.gradient(w), rtol=1e-11)
    np.testing.assert_allclose(p.gradient(w, rows), q.gradient(w, rows), rtol=1e-11)
    assert p.row_gradient_mean2(w) == pytest.approx(q.row_gradient_mean2(w), rel=1e-12)
    np.testing.assert_allclose(p.predict(w), q.predict(w), rtol=1e-12)
    np.testing.assert_allclose(p.predict(w, rows), q.predict(w, rows), rtol=1e-12)
    assert p.mean_row2 == pytest.approx(q.mean_row2, rel=1e-12)
    np.testing.assert_allclose(p.minimiser(), q.minimiser(), rtol=1e-8)
    assert np.linalg.norm(p.gradient(p.minimiser())) < 1e-12
    for name in ("L", "mu", "L_max", "kappa_tilde", "exact"):
        expected = pytest.approx(getattr(q.constants(), name), rel=1e-8)
        assert getattr(p.constants(), name) == expected, name
    assert p.noise().chi2 == pytest.approx(q.noise().chi2, rel=1e-8)
    assert p.noise().sigma2 == pytest.approx(q.noise().sigma2, rel=1e-8)


def test_one_pass_gives_all_constants_but_the_leverage(pair, monkeypatch):
    p, _ = pair
    read, before = [], p.X.read
    monkeypatch.setattr(p.X, "read", lambda i: (read.append(i), before(i))[1])
    assert p.gram.shape == (D, D)
    assert p.moment.shape == (D,)
    assert p.largest_row2 > p.mean_row2 > 0
    assert read == list(range(p.units))
    p.constants()
    assert read == 2 * list(range(p.units))  # kappa~ needs A^-1 first


def test_many_columns_go_without_a_gram_matrix(pair):
    p, q = pair
    exact = q.constants()
    p = p.with_fields(limits=ProblemLimits(gram_columns=D - 1))
    constants = p.constants()
    assert not constants.exact
    assert exact.L <= constants.L <= constants.L_max == pytest.approx(exact.L_max)
    assert p.mean_row2 == pytest.approx(q.mean_row2, rel=1e-12)
    np.testing.assert_allclose(p.moment, q.moment, rtol=1e-12)
    with pytest.raises(ValueError, match="d=4 must be at most 3 for a d x d matrix"):
        p.minimiser()
    schedule = bocce.minimize(p, "auto", T=20, batch_size=0.8).schedule
    r = bocce.minimize(p, schedule, batch_size=0.8)
    s = bocce.minimize(p, schedule, batch_size=0.8, engine="reference")
    np.testing.assert_allclose(r.w, s.w, rtol=1e-11)


# -- sampling parts --------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", [1, 2, 5])
def test_batches_of_parts_are_unbiased_and_vary_by_the_factor(tmp_path, taken):
    """Over all batches: the mean is the gradient, the variance factor * zeta0^2 * V, exactly."""
    p, q = twins(tmp_path, "squared", n=23, block_rows=4)
    M, w = p.units, np.array([0.5, 0.0, -0.5, 1.0])
    assert sorted({p.X.rows(i) for i in range(M)}) == [3, 4]
    batches = [np.array(c) for c in combinations(range(M), taken)]
    estimates = np.array([p.batch_gradient(w, batch) for batch in batches])
    np.testing.assert_allclose(estimates.mean(axis=0), q.gradient(w), rtol=1e-12)
    variance = ((estimates - q.gradient(w)) ** 2).sum(axis=1).mean()
    V = q.row_gradient_mean2(w) - q.gradient(w) @ q.gradient(w)
    zeta2 = (M - taken) / ((p.n - 1) * taken)  # (n - b)/((n - 1) b) with b = taken n/M
    assert variance == pytest.approx(p.variance_factor(w) * zeta2 * V, rel=1e-10)


def test_the_variance_factor_of_a_shuffled_file_is_one_on_average(tmp_path):
    X, y = data("squared", n=60)
    rng = np.random.default_rng(0)
    orders = [rng.permutation(60) for _ in range(60)]
    files = (parts_on_disk(tmp_path / "a.arrow", X[order], y[order], 5) for order in orders)
    factors = [bocce.LeastSquares(file).variance_factor() for file in files]
    error = np.std(factors) / np.sqrt(len(factors))
    assert abs(np.mean(factors) - 1.0) < 4 * error < 0.3


def test_one_part_has_no_noise(tmp_path):
    p, _ = twins(tmp_path, "squared", n=10, block_rows=50)
    assert (p.units, p.variance_factor(), p.whole_batch(3)) == (1, 1.0, 10)


@given(n=st.integers(1, 10**6), blocks=st.integers(1, 10**4), b=st.integers(1, 10**6))
@settings(deadline=None, max_examples=200)
def test_a_whole_batch_is_kept(n, blocks, b):
    """Rows to parts and back: what was once rounded stays."""

    class Sized(bocce.problems.PartedProblem):
        units = min(n, blocks)

        def __init__(self):
            self._set(n=n)

    p, b = Sized(), min(b, n)
    taken = p.units_in(b)
    assert 1 <= taken <= p.units
    assert p.units_in(p.whole_batch(b)) == taken


# -- steps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", sampling.MODES)
@pytest.mark.parametrize("b", [20, 0.4, 0.9, N])
def test_every_step_is_that_of_numpy_on_the_same_parts(pair, b, mode):
    p, q = pair
    T = 30
    schedule = bocce.schedules.nesterov(T=T, L=q.constants().L, mu=0.05)
    r = bocce.minimize(p, schedule, batch_size=b, seed=5, sampling=mode)
    M, taken = p.units, p.units_in(sampling.batch_rows("test", b, N))
    starts = p.X.starts
    w, v, norms = np.zeros(D), np.zeros(D), []
    for k in range(T):
        norms.append(np.linalg.norm(q.gradient(w)))
        drawn = sampling.batch(5, k, M, taken, mode)
        rows = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in drawn])
        at = w + schedule.theta[k] * v
        loss_part = (q.gradient(at, rows) - q.l2 * at) * rows.size
        g = loss_part * M / (taken * N) + q.l2 * at
        v = schedule.beta[k] * v - schedule.alpha[k] * g
        w = w + v
    np.testing.assert_allclose(r.w, w, rtol=1e-11)
    np.testing.assert_allclose(r.history["grad_norm"][:-1], norms, rtol=1e-9)
    assert r.batch_size == p.whole_batch(r.batch_size) == round(taken * N / M)
    s = bocce.minimize(p, schedule, batch_size=b, seed=5, sampling=mode, engine="reference")
    np.testing.assert_allclose(r.w, s.w, rtol=1e-11)


def test_only_the_parts_that_matter_are_read(tmp_path, monkeypatch):
    p, _ = twins(tmp_path, "squared")
    schedule = bocce.schedules.shb(T=10, L=10.0, mu=1.0)
    p.constants()
    read, before = [], p.X.read
    monkeypatch.setattr(p.X, "read", lambda i: (read.append(i), before(i))[1])
    for b, most in ((N, 0), (0.9, 10), (0.1, 10)):  # of 11 parts
        read.clear()
        bocce.minimize(p, schedule, batch_size=b)
        assert len(read) == most + p.units  # one pass for the scale of the rows' gradients


@pytest.mark.parametrize("b", [30, 0.9])
def test_a_run_goes_on_from_its_checkpoint_bit_for_bit(pair, tmp_path, b):
    p, _ = pair
    whole = bocce.minimize(p, "auto", T=40, batch_size=b, record_every=7)
    path = tmp_path / "run.npz"
    options = {"T": 40, "batch_size": b, "record_every": 7, "checkpoint": path}
    cut = bocce.minimize(p, "auto", **options, callback=lambda at: at.k == 14)
    assert cut.n_iter == 14
    file = tmp_path / p.X.path
    again = bocce.Problem(in_parts(file), None, p.loss, p.l2)
    r = bocce.minimize(again, "auto", **options)
    np.testing.assert_array_equal(r.w, whole.w)
    np.testing.assert_array_equal(r.history["grad_norm"], whole.history["grad_norm"])
    X, y = whole_of(p.X)
    other = parts_on_disk(tmp_path / "other.arrow", -X, y, 20)
    with pytest.raises(ValueError, match="is of another problem"):
        bocce.minimize(bocce.Problem(other, None, p.loss, p.l2), "auto", **options)


def test_divergence_and_a_file_cut_off_end_a_run_and_its_readers(tmp_path):
    p, _ = twins(tmp_path, "squared")
    wild = bocce.schedules.sgd(T=2000, L=0.05)
    r = bocce.minimize(p, wild, batch_size=20)
    assert r.status == "diverged"
    assert np.isfinite(r.w).all()
    file = tmp_path / p.X.path
    fresh = bocce.LeastSquares(in_parts(file))
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(ValueError, match=r"squared.arrow, record batch \d+: is not what it was"):
        bocce.minimize(fresh, wild, batch_size=20)
    assert not [t for t in threading.enumerate() if t.name.startswith("bocce reader")]


def test_what_does_not_fit_is_refused(tmp_path):
    p, _ = twins(tmp_path, "squared")
    with pytest.raises(
        TypeError, match="y must be left out, because data in parts hold their targets"
    ):
        bocce.LeastSquares(p.X, np.zeros(N))
    with pytest.raises(ValueError, match="has more than two different labels"):
        bocce.Logistic(p.X)
    one = parts_on_disk(tmp_path / "one.arrow", np.eye(3), np.ones(3), 2)
    with pytest.raises(ValueError, match=r"has one label only \(1\.0\), must have exactly two"):
        bocce.Logistic(one)
    for method in ("sgd-sls-exp", bocce.policies.sgd_sls_exponential(10)):
        for engine in ("compiled", "reference"):
            with pytest.raises(ValueError, match="must be a schedule for data in parts"):
                bocce.minimize(p, method, batch_size=20, engine=engine)


# -- memory ----------------------------------------------------------------------------------------

LIMITED = """
import os, resource, sys
import numpy as np, bocce, pyarrow as pa
from bocce.data.read.files import in_parts
path, d = sys.argv[1], 50
names = [f"x{j}" for j in range(d)] + ["y"]
schema = pa.schema([(name, pa.float32()) for name in names])

def write(rows, piece=5_000):
    rng = np.random.default_rng(0)
    with pa.ipc.new_file(path, schema) as file:
        for _ in range(rows // piece):
            X = rng.standard_normal((d, piece), dtype=np.float32)
            y = X.sum(axis=0) + rng.standard_normal(piece, dtype=np.float32)
            file.write_batch(pa.record_batch([*X, y], schema=schema))

def work(rows):
    write(rows)
    p = bocce.LeastSquares(in_parts(path), l2=1e-3)
    bocce.minimize(p, "auto", T=20, batch_size=0.2)
    bocce.minimize(p, "auto", T=20, batch_size=0.9)
    return p.noise(), np.abs(p.minimiser() - 1.0).max()

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

work(10_000)  # libraries are loaded
before = peak()
noise, error = work(500_000)
assert os.path.getsize(path) > 100e6
assert error < 0.05, error
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="megabytes as Linux counts them")
def test_memory_stays_far_below_the_file(tmp_path):
    """Constants, two runs, minimiser and noise of 104 MB take less than 40 MB more."""
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "big.arrow")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 40


@pytest.mark.parametrize("offset", [None, "x1"])
def test_some_rows_of_a_file_are_those_in_memory(tmp_path, offset):
    """Value, gradient and both at once, without a read of parts that hold none of the rows."""
    X = np.random.default_rng(0).standard_normal((90, 3))
    y = (X.sum(axis=1) > 0).astype(float)
    file = parts_on_disk(tmp_path / "a.arrow", X, y, 10)
    shift = {} if offset is None else {"offset": X[:, 1]}
    kept = X if offset is None else np.delete(X, 1, axis=1)
    whole = bocce.Logistic(kept, y, l2=0.1, intercept=True, **shift)
    p = bocce.Logistic(file, l2=0.1, intercept=True, offset=offset)
    w, rows = np.linspace(-1.0, 1.0, p.width), np.array([41, 3, 5, 44, 42])
    read, before = [], file.reader.rows
    file.reader.rows = lambda key: (read.append(key.number), before(key))[1]
    assert p.value(w, rows) == pytest.approx(whole.value(w, rows), rel=1e-12)
    np.testing.assert_allclose(p.gradient(w, rows), whole.gradient(w, rows), rtol=1e-12)
    seen = p.look(w, rows)
    np.testing.assert_allclose(seen.gradient, p.gradient(w, rows), rtol=1e-12)
    assert seen.value == pytest.approx(p.value(w, rows), rel=1e-12)
    assert set(read) == {0, 4}
