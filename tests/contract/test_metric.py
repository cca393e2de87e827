"""What every metric policy must obey; a policy that is registered is tested, without a line more.

A policy in a file of its own (see docs/extend/metric.md) inherits these tests by
``python -m pytest -p its_module tests/contract/test_metric.py -k its-name``.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import bocce
from bocce.plane import METRICS, PlaneRun, View, policy_for

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 15)) * np.geomspace(3.0, 0.3, 15)
Z = X @ RNG.standard_normal(15) + 0.5 * RNG.standard_normal(120)
WIDE = RNG.standard_normal((25, 60))
CASES = {
    "logistic": lambda: bocce.Problem(X, Z > 0.0, "logistic", l2=1e-2),
    "weighted Huber": lambda: bocce.Problem(X, Z, "huber", 1e-2, sample_weight=np.abs(Z) + 0.1),
    "squared": lambda: bocce.Problem(X, Z, "squared", l2=1e-3),
    "sparse": lambda: bocce.Problem(sp.csr_array(X * (X > 0.5)), Z > 0.0, "logistic", l2=1e-2),
    "few rows": lambda: bocce.Problem(WIDE, WIDE[:, 0] > 0.0, "logistic", l2=0.1),
    "softmax": lambda: bocce.Problem(X, np.digitize(Z, [-1.0, 1.0]), "softmax", l2=1e-2),
}


PAIRS = [(name, case) for name in METRICS for case in CASES]
SUITED = [(name, case) for name, case in PAIRS if METRICS[name].suits(CASES[case]())]
REFUSED = sorted(set(PAIRS) - set(SUITED))


@pytest.fixture(params=SUITED, ids="-".join)
def suited(request):
    """A policy's name and a problem that the policy is for."""
    name, case = request.param
    return name, CASES[case]()


@pytest.mark.parametrize(("name", "case"), REFUSED)
def test_a_problem_that_it_is_not_for_is_refused_in_words(name, case):
    with pytest.raises(ValueError, match=f"metric='{name}' must suit the problem"):
        policy_for(CASES[case](), name)


def test_a_metric_is_positive_definite_and_leaves_the_gradient_alone(suited):
    name, p = suited
    plane = PlaneRun(p, np.zeros(p.shape), metric=name, inner=True)
    for _ in range(4):
        if np.linalg.norm(plane.gradient) < 1e-9:
            break
        metric = plane.policy.update(View(plane)) or plane.metric
        g, other = plane.gradient.copy(), np.random.default_rng(plane.k).standard_normal(p.shape)
        x = metric.solve(g)
        np.testing.assert_array_equal(g, plane.gradient)
        assert x.shape == g.shape
        assert np.vdot(x, g) > 0.0
        if not plane.policy.each_point:
            left, right = np.vdot(other, x), np.vdot(metric.solve(other), g)
            assert left == pytest.approx(right, rel=1e-4, abs=1e-4 * np.linalg.norm(x))
        assert metric.gap(g) >= 0.0
        plane.step()


def test_f_never_rises_and_the_minimum_is_found(suited):
    name, p = suited
    r = bocce.minimize(p, "plane", tol=1e-8, metric=name, passes=3000)
    assert r.status == "converged"
    values = r.history["value"]
    assert (np.diff(values) <= 1e-13 * values[0]).all()
    exact = bocce.minimize(p, "plane", tol=1e-10)
    assert p.value(r.w) == pytest.approx(p.value(exact.w), rel=1e-10)


def test_near_the_minimum_the_gap_is_what_f_falls_by_or_unknown(suited):
    name, p = suited
    best = bocce.minimize(p, "plane", tol=1e-10).w
    w = best + 1e-3 * np.random.default_rng(1).standard_normal(p.shape)
    plane = PlaneRun(p, w, metric=name, inner=True)
    metric = plane.policy.update(View(plane)) or plane.metric
    gap, falls = metric.gap(plane.gradient), p.value(w) - p.value(best)
    assert gap > 0.0
    if metric.newton_like and len(p.shape) == 1:  # several outputs have a rough estimate
        assert gap == pytest.approx(falls, rel=0.05)


def test_a_run_goes_on_from_its_state_bit_for_bit(suited):
    name, p = suited
    for stop in (1, 3):
        whole = PlaneRun(p, np.zeros(p.shape), metric=name, inner=True)
        for _ in range(stop):
            whole.step()
        state = {key: np.array(array) for key, array in whole.state_dict().items()}
        resumed = PlaneRun.from_state(p, state, name, inner=True)
        for _ in range(3):
            whole.step()
            resumed.step()
            np.testing.assert_array_equal(whole.w, resumed.w)
            assert whole.products == resumed.products
            assert whole.passes == resumed.passes


@pytest.mark.parametrize("stalls", [1, 2])
def test_a_run_goes_on_bit_for_bit_after_a_stall(suited, stalls):
    """A stall puts the identity in the place of the run's metric; what the policy knows stays."""
    name, p = suited
    whole = PlaneRun(p, np.zeros(p.shape), metric=name, inner=True)
    for _ in range(2):
        whole.step()
    with np.errstate(all="ignore"):
        for _ in range(stalls):
            whole._nothing_fell()
    state = {key: np.array(array) for key, array in whole.state_dict().items()}
    resumed = PlaneRun.from_state(p, state, name, inner=True)
    for _ in range(10):
        assert whole.step() == resumed.step()
        np.testing.assert_array_equal(whole.w, resumed.w)
        assert whole.products == resumed.products
        assert whole.passes == resumed.passes


def test_a_checkpoint_goes_on_bit_for_bit(suited, tmp_path):
    name, p = suited
    settings = {"tol": 1e-9, "metric": name, "passes": 60}
    whole = bocce.minimize(p, "plane", **settings)
    settings["checkpoint"] = tmp_path / "run.npz"
    bocce.minimize(p, "plane", callback=lambda at: at.k == 2, **settings)
    rest = bocce.minimize(p, "plane", **settings)
    np.testing.assert_array_equal(whole.w, rest.w)
    np.testing.assert_array_equal(*(r.history["gradient_evaluations"] for r in (whole, rest)))


def test_passes_for_metrics_are_counted(suited):
    name, p = suited
    plane = PlaneRun(p, np.zeros(p.shape), metric=name, inner=True)
    steps = 4
    for _ in range(steps):
        plane.step()
    r = bocce.minimize(p, "plane", metric=name, tol=1e-30, passes=steps + plane.passes)
    taken = np.diff(r.history["gradient_evaluations"])[: r.n_iter] / p.n
    assert (taken >= 1.0).all()
    assert plane.products >= steps + 2 * plane.passes


def test_the_product_with_the_hessian_that_a_view_offers_is_exact_and_counted():
    p = CASES["weighted Huber"]()
    plane = PlaneRun(p, RNG.standard_normal(15), metric="identity")
    view, V = View(plane), RNG.standard_normal((15, 3))
    H = p.hessian(plane.w) + p.l2 * np.eye(15)
    np.testing.assert_allclose(view.hessian_times(V), H @ V, atol=1e-12)
    np.testing.assert_allclose(view.hessian_times(V[:, 0]), H @ V[:, 0], atol=1e-12)
    assert (view.passes, view.products) == (4, 8)
    np.testing.assert_allclose(view.hessian_diagonal() + p.l2, H.diagonal(), atol=1e-12)


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="metric="):
        bocce.minimize(CASES["squared"](), "plane", tol=1e-3, metric="nystroem")
