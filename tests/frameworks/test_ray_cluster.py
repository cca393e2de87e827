"""Rows on three machines (three Ray nodes on this one): whoever is lost, the result is the same."""

from __future__ import annotations

import os
import signal
import time
from itertools import pairwise

import numpy as np
import pytest
import ray
import scipy.sparse as sp
from ray.cluster_utils import Cluster
from scipy.linalg import hadamard

import bocce
import bocce.ray
import bocce.ray.scores
import bocce.ray.workers
from bocce.plane.metrics import HessianPolicy
from ray_rows import steps_of_workers

pytestmark = pytest.mark.frameworks

N, D = 600, 8
SIZES = (250, 0, 150, 200)
QUICK = {  # a node that is gone is missed within seconds
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 3,
}


@pytest.fixture(scope="module")
def cluster():
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": QUICK},
    )
    made.nodes = [made.add_node(num_cpus=1), made.add_node(num_cpus=1)]
    ray.init(address=made.address, log_to_driver=False)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(autouse=True)
def one_machine_guesses(monkeypatch):
    steps_of_workers(monkeypatch)


def data(loss: str):
    rng = np.random.default_rng(3)
    turn = hadamard(D) / np.sqrt(D)  # columns of one size, which nobody would scale
    X = rng.standard_normal((N, D)) * np.geomspace(1.0, 0.05, D) @ turn
    y = X @ np.ones(D) + rng.standard_normal(N)
    return X, np.where(y > 0, "yes", "no") if loss == "logistic" else y


def parts_of(X, y):
    ends = np.cumsum((0, *SIZES))
    return [(X[a:b], y[a:b]) for a, b in pairwise(ends)]


def alone(loss, l2=1e-4, X=None, **options):
    """The run on one machine, from zeros: with a start of its own choice, it would go on beyond the
    tolerance, because the data are tiny."""
    own, y = data("logistic" if loss == "logistic" else "squared")
    p = bocce.Problem(own if X is None else X, y, loss, l2)
    return bocce.minimize(p, w0=np.zeros(D), **options)


# -- the plane ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", bocce.losses.Huber(0.5)])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_plane_is_that_of_one_machine(cluster, loss, sparse):
    """The same number of steps, the same metric, and the same w to rounding."""
    X, y = data("logistic" if loss == "logistic" else "squared")
    if sparse:
        X = sp.csr_array(X * (np.random.default_rng(0).random(X.shape) < 0.4))
    r = bocce.ray.minimize(parts_of(X, y), loss=loss, l2=1e-4, tol=1e-8)
    s = alone(loss, X=X, method="plane", tol=1e-8)
    assert (r.status, r.stages[0].method, r.n_iter) == ("converged", "plane", s.n_iter)
    np.testing.assert_allclose(r.w, s.w, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(r.history["value"], s.history["value"], rtol=1e-12)


def test_the_plane_without_a_metric_remembers_displacements(cluster, monkeypatch):
    """Where no Hessian is ever taken the steps live on their memory, on a tree of fan-in 2."""
    monkeypatch.setattr(HessianPolicy, "suits", lambda problem: False)
    monkeypatch.setattr(bocce.ray.workers, "FAN_IN", 2)
    r = bocce.ray.minimize(parts_of(*data("logistic")), loss="logistic", l2=1e-4, tol=1e-6)
    s = alone("logistic", method="plane", tol=1e-6)
    assert r.n_iter == s.n_iter > 10
    np.testing.assert_allclose(r.w, s.w, rtol=1e-7)


def test_least_squares_takes_one_step(cluster):
    """The Hessian of all rows is the metric: Newton's step is exact."""
    r = bocce.ray.minimize(parts_of(*data("squared")), l2=1e-4, tol=1e-8)
    assert r.n_iter == 1
    X, y = data("squared")
    exact = np.linalg.solve(X.T @ X / N + 1e-4 * np.eye(D), X.T @ y / N)
    np.testing.assert_allclose(r.w, exact, rtol=1e-10)


def test_a_step_that_ends_where_expected_is_one_message(cluster, monkeypatch):
    """Those in a fresh metric; others take three, or more where Newton's method goes on."""
    sent, ask = [], bocce.ray.scores.ActorScores._ask

    def counted(self, *operation, each=False):
        sent.append(operation[0])
        return ask(self, *operation, each=each)

    monkeypatch.setattr(bocce.ray.scores.ActorScores, "_ask", counted)
    r = bocce.ray.minimize(parts_of(*data("logistic")), loss="logistic", l2=0.1, tol=1e-6)
    assert r.status == "converged"
    assert sent[:2] == ["start", "gradient"]
    assert sent.count("add_direction") == r.n_iter
    assert sent.count("gradient") <= r.n_iter  # one at the start, and none for one of the steps


def test_a_plane_that_was_stopped_goes_on(cluster, tmp_path):
    options = {"loss": "logistic", "l2": 1e-4, "tol": 1e-8, "checkpoint": tmp_path / "run"}
    parts = parts_of(*data("logistic"))
    first = bocce.ray.minimize(parts, callback=lambda now: now.k == 3, **options)
    assert first.n_iter == 3
    r = bocce.ray.minimize(parts, **options)
    s = alone("logistic", method="plane", tol=1e-8)
    assert r.n_iter == s.n_iter
    np.testing.assert_allclose(r.w, s.w, rtol=1e-8)


# -- trouble --------------------------------------------------------------------------------------


@pytest.fixture
def watched(monkeypatch, tmp_path):
    """Workers that write down their process and their node, and may be slow."""

    class Watched(bocce.ray.workers.Worker):
        def __init__(self, *args):
            node = ray.get_runtime_context().get_node_id()
            (tmp_path / f"{os.getpid()}.pid").write_text(node)
            super().__init__(*args)

        def plane(self, made, key, todo):
            if made[2] == 1 and key[1] % 5 == 0:
                time.sleep(0.2)
            return super().plane(made, key, todo)

    monkeypatch.setattr(bocce.ray.workers, "Worker", Watched)
    return tmp_path


def without_metric(monkeypatch):
    monkeypatch.setattr(HessianPolicy, "suits", lambda problem: False)


def disturbed(trouble, **options):
    """A run in the middle of which ``trouble()`` comes."""

    def callback(now):
        if now.k == 4:
            trouble()

    return bocce.ray.minimize(
        parts_of(*data("logistic")), loss="logistic", l2=1e-4, callback=callback, **options
    )


def test_killed_workers_compute_their_scores_anew(cluster, watched, monkeypatch):
    without_metric(monkeypatch)

    def trouble():
        for file in watched.glob("*.pid"):
            os.kill(int(file.stem), signal.SIGKILL)

    r = disturbed(trouble, tol=1e-6)
    assert len(list(watched.glob("*.pid"))) == 6
    s = alone("logistic", method="plane", tol=1e-6)
    assert r.n_iter == s.n_iter
    np.testing.assert_allclose(r.w, s.w, rtol=1e-7)


def test_a_machine_lost_on_the_way_changes_nothing(cluster, watched, monkeypatch):
    """On the plane, and then by a schedule on what is left of the cluster."""
    without_metric(monkeypatch)
    plan = bocce.schedules.nesterov(T=12, L=2.0, mu=0.1)
    undisturbed = disturbed(lambda: None, method=plan)

    def trouble():
        """The machine of the worker that was started last, if it is not the driver's own."""
        files = sorted(watched.glob("*.pid"), key=lambda file: -file.stat().st_mtime)
        order = [file.read_text() for file in files]
        lost = min(cluster.nodes, key=lambda node: [*order, node.node_id].index(node.node_id))
        assert lost.node_id in order
        cluster.nodes.remove(lost)
        cluster.remove_node(lost)

    r = disturbed(trouble, tol=1e-6)
    s = alone("logistic", method="plane", tol=1e-6)
    assert len(cluster.nodes) == 1
    assert r.n_iter == s.n_iter
    np.testing.assert_allclose(r.w, s.w, rtol=1e-7)
    again = disturbed(trouble, method=plan)
    assert len(cluster.nodes) == 0
    np.testing.assert_allclose(again.w, undisturbed.w, rtol=1e-10)


def test_more_parts_than_processors_can_run_are_refused(cluster):
    X, y = data("squared")
    with pytest.raises(ValueError, match=r"600 parts .* at most \d+, 8 for each .* fewer, larger"):
        bocce.ray.minimize(bocce.ray.split(X, y, N))
    with pytest.raises(ValueError, match=r"workers=601 must be .* at least a row each"):
        bocce.ray.split(X, y, 601)


def test_nobody_at_the_address_is_said_at_once(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    start = time.monotonic()
    with pytest.raises(ConnectionError, match=r"address='127.0.0.1:1' .*ray start --head"):
        bocce.ray.minimize(parts_of(*data("squared")), address="127.0.0.1:1")
    assert time.monotonic() - start < 30  # Ray itself would try for minutes
