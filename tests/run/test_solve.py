"""minimize: statuses, records, callbacks, units, threads."""

from __future__ import annotations

import threading

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
    assert "the method auto, a larger batch" in r.message


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
