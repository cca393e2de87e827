"""Newton's direction for several outputs: products of H, pairs, and what a step makes of them."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bocce
from bocce.engines import Goal
from bocce.losses import Softmax
from bocce.plane import METRICS, PlaneRun, policy_for
from bocce.plane.metrics import newton_cg as newton
from bocce.plane.metrics.hessian_operator import LIMITS, HessianOperator, HessianRows
from bocce.plane.metrics.newton_cg import NewtonPolicy, Pairs, rows_are_even
from bocce.plane.subspace import PlaneLimits
from bocce.problems import Problem, ProblemLimits
from bocce.rows import Scaled
from plane_problems import second_derivatives_times


def classes(n=60, d=5, K=4, seed=0, form=np.asarray, **keywords):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(1.0, 0.1, d)
    y = (X @ rng.standard_normal((d, K)) * 3.0 + rng.gumbel(size=(n, K))).argmax(axis=1)
    y[:K] = np.arange(K)
    return bocce.Problem(form(X), y, "softmax", 1e-3, **keywords)


def hessian(p, w):
    """Of the data's part, entry by entry: sum_i c_i x_i x_i^T (x) (diag(p_i) - p_i p_i^T) / n."""
    X = p.rows.X.toarray() if p.rows.sparse else np.asarray(p.rows.X, dtype=np.float64)
    total = 0.0
    for i, x in enumerate(X):
        z = x @ w
        s = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        c = 1.0 if p.weight is None else p.weight[i]
        total = total + c * np.kron(np.outer(x, x), np.diag(s) - np.outer(s, s))
    return total / p.n


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 1.5, 60)])
def test_products_are_those_of_the_hessian(form, weight):
    p = classes(form=form if form is not np.float32 else lambda X: X.astype(np.float32))
    p = p.with_fields(weight=weight)
    rng = np.random.default_rng(1)
    w, v = rng.standard_normal(p.shape), rng.standard_normal(p.shape)
    products = HessianOperator(p, HessianRows.of(p.rows, 4, True))
    products.look(p.predict(w).__getitem__)
    expected = (hessian(p, w) @ v.reshape(-1)).reshape(p.shape)
    np.testing.assert_allclose(products.times(v), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "d", "K", "dtype", "rough"),
    [
        (3000, 40, 36, np.float64, True),
        (3000, 40, 36, np.float32, True),
        (30_000, 36, 4, np.float64, False),  # to round rows would cost more than it saves
    ],
)
def test_large_products_are_in_single_precision_where_that_pays(n, d, K, dtype, rough):
    limits = replace(LIMITS, copied=0)
    p = classes(n, d, K, form=lambda X: X.astype(dtype))
    assert p.rows.cost * K > LIMITS.rough
    rows = HessianRows.of(p.rows, K, limits=limits)
    products = HessianOperator(p, rows)
    assert rows.rough == rough
    assert all(np.shares_memory(part.rows.X, p.rows.X) for part in rows.parts)  # no copy is kept
    rng = np.random.default_rng(1)
    w, v = rng.standard_normal(p.shape), rng.standard_normal(p.shape)
    z = p.predict(w)
    products.look(z.__getitem__)
    exact = p.combine(second_derivatives_times(p, z, p.predict(v))) / p.n
    found = products.times(v.astype(rows.dtype))
    assert np.linalg.norm(found - exact) <= (1e-5 if rough else 1e-12) * np.linalg.norm(exact)


def test_second_derivatives_keep_their_digits_where_a_class_is_certain():
    z, u = np.array([[20.0, 0.0, -1.0]]), np.array([[3.0, 1.0, 2.0]], dtype=np.float32)
    e = np.exp([0.0, -20.0, -21.0]) / np.exp([0.0, -20.0, -21.0]).sum()
    others = e[1] * (1.0 - 3.0) + e[2] * (2.0 - 3.0)  # u from that of the first class
    expected = e * (np.array([0.0, -2.0, -1.0]) - others)
    bend = Softmax().bender(z, np.array([0]), np.float32)
    np.testing.assert_allclose(bend(u)[0], expected, rtol=1e-5)


@given(st.integers(0, 1000), st.integers(1, 4))
def test_pairs_make_a_metric_exact_on_their_span_and_leave_it_definite(seed, count):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6))
    H = root @ root.T + 0.1 * np.eye(6)
    S = rng.standard_normal((count, 6))
    for j in range(count):  # conjugate, as conjugate gradients make them
        for i in range(j):
            S[j] -= (S[i] @ H @ S[j]) / (S[i] @ H @ S[i]) * S[i]
    pairs = Pairs(10)
    pairs.add(S, S @ H)
    pairs.add(np.zeros((1, 6)), np.zeros((1, 6)))  # no curvature: left out
    M = np.array([pairs.solve(e, lambda g: g) for e in np.eye(6)])
    np.testing.assert_allclose(M, M.T, atol=1e-7 * np.abs(M).max())
    assert np.linalg.eigvalsh(M)[0] > 0.0
    np.testing.assert_allclose((S @ H) @ M, S, atol=1e-6 * np.abs(M).max() * np.abs(S @ H).max())


def test_of_too_many_pairs_the_oldest_go_and_a_penalty_is_added():
    pairs, e = Pairs(2), np.eye(3)
    for j in range(3):
        pairs.add(e[j : j + 1], 4.0 * e[j : j + 1])
    assert [int(np.argmax(S)) for S, _ in pairs.blocks] == [1, 2]
    pairs.shift(np.full(3, 5.0))  # H = 9 I now
    np.testing.assert_allclose(pairs.solve(np.ones(3), lambda g: g), [1.0, 1 / 9, 1 / 9])
    again = Pairs(2)
    again.restore(pairs.state())
    np.testing.assert_array_equal(again.solve(np.ones(3), lambda g: g), [1.0, 1 / 9, 1 / 9])


def test_the_price_of_a_metric_counts_its_factor():
    """Few entries in many columns make a Gram matrix for nothing, and a factor for 100 ms."""
    X = sp.random_array((600, 1500), density=0.007, rng=0, format="csr")
    p = bocce.Problem(X, np.arange(600) % 3, "softmax", 1e-4)
    solver = NewtonPolicy(p)
    solver.precondition(p.predict(np.zeros(p.shape)).__getitem__)
    assert not solver.metric.state_dict()
    solver.passes = 100_000  # by then products have cost as much
    solver.precondition(p.predict(np.zeros(p.shape)).__getitem__)
    assert solver.metric.state_dict()


# About as much as the last step's model was wrong by: 0.9 times the square of what it left.
@pytest.mark.parametrize(
    ("shrank", "share"), [(np.nan, 0.1), (0.9, 0.5), (0.4, 0.144), (0.01, 0.03)]
)
@pytest.mark.parametrize("d", [5, 12])
def test_a_direction_leaves_little_of_the_gradient(d, shrank, share):
    p = classes(d=d, intercept=True)
    w = np.random.default_rng(2).standard_normal(p.shape)
    g = p.gradient(w)
    ridge = np.asarray(p.ridge).reshape(-1, 1)
    solver = NewtonPolicy(p)
    solver.precondition(p.predict(w).__getitem__)
    assert solver.metric.state_dict()
    assert solver.metric.newton_like
    x = solver.solve(g, p.predict(w).__getitem__, shrank)
    H = hessian(p, w) + np.diag(np.broadcast_to(ridge, p.shape).reshape(-1))
    left = H @ x.reshape(-1) - g.reshape(-1)
    assert np.linalg.norm(left) <= share * np.linalg.norm(g) * (1.0 + 1e-9)
    assert 0 < solver.passes <= g.size
    solver.goal = Goal(gradient=0.8 * np.linalg.norm(g))  # less will do
    before = solver.passes
    x = solver.solve(g, p.predict(w).__getitem__, shrank)
    left = H @ x.reshape(-1) - g.reshape(-1)
    assert np.linalg.norm(left) <= max(share, 0.4) * np.linalg.norm(g) * (1.0 + 1e-9)
    assert solver.passes - before <= 2  # the pairs know the rest


def test_many_columns_take_plain_steps_with_one_displacement():
    most = ProblemLimits().factor_columns
    X = sp.random_array((60, most + 1), density=0.01, rng=0, format="csr")
    p = bocce.Problem(X, np.arange(60) % 3, "softmax", 1e-2)
    result = bocce.minimize(p, tol=1e-6)
    assert result.status == "converged"
    assert result.history["gradient_evaluations"][-1] == result.n_iter * p.n  # a pass each
    assert not NewtonPolicy.suits(p)


@pytest.mark.parametrize(("times", "name"), [(1.0, "newton-cg"), (100.0, "hessian")])
def test_few_rows_that_make_the_gram_matrix_leave_the_steps_to_the_plane(times, name):
    """A metric that is named is used all the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 80))
    y = np.argmax(X[:, :4] + rng.gumbel(size=(400, 4)), axis=1)
    X[:3] *= times
    p = bocce.Problem(X, y, "softmax", 1e-2)
    assert rows_are_even(p) == (times == 1.0)
    assert isinstance(policy_for(p, inner=True), METRICS[name])
    assert isinstance(policy_for(p, "newton-cg", inner=True), NewtonPolicy)
    assert bocce.minimize(p, tol=1e-6).status == "converged"


def test_f_never_rises_and_a_run_goes_on_to_the_bit():
    p = classes(300, 8, 5, intercept=True)
    plane = PlaneRun(p, np.zeros(p.shape), memory=1, inner=True)
    values = [plane.value]
    for _ in range(3):
        plane.step()
        values.append(plane.value)
    other = PlaneRun.from_state(p, plane.state_dict(), inner=True)
    for _ in range(3):
        plane.step()
        other.step()
        values.append(plane.value)
        assert np.array_equal(plane.w, other.w)
        assert plane.products == other.products
    assert (np.diff(values) <= 1e-14).all()
    assert plane.norm <= 1e-7


def test_what_f_does_not_depend_on_stays_where_it_is():
    p = classes(40, 3, 3, intercept=True)
    plane = PlaneRun(p, np.zeros(p.shape), memory=1, inner=True)
    for _ in range(30):  # on and on, where all that is left is rounding
        plane.step()
    assert plane.norm < 1e-14
    np.testing.assert_allclose(plane.w.sum(axis=1), 0.0, atol=1e-12)


def test_single_precision_does_not_limit_the_result():
    p = classes(3000, 40, 36, intercept=True)
    result = bocce.minimize(p, tol=1e-11)
    assert result.status == "converged"
    first = np.linalg.norm(p.gradient(np.zeros(p.shape)))
    end = p.join_intercept(result.w, result.intercept)
    assert np.linalg.norm(p.gradient(end)) <= 1e-11 * first


def test_float32_is_given_up_where_it_breaks_its_promises():
    p = classes(3000, 40, 36)
    solver = NewtonPolicy(p)
    g, z = p.gradient(np.zeros(p.shape)), np.zeros((p.n, 36))
    assert solver.products.rows.rough
    for _ in range(newton.BROKEN):
        assert solver.products.rows.rough
        solver.solve(g, z.__getitem__, 0.9)
    solver.promised = 0.01
    solver.broken = newton.BROKEN - 1
    solver.solve(g, z.__getitem__, 0.9)
    assert not solver.products.rows.rough


def test_passes_within_steps_count_and_are_limited():
    p = classes(400, 30, 8, intercept=True)
    whole = bocce.minimize(p, tol=1e-9)
    passes = whole.history["gradient_evaluations"] / p.n
    assert passes[-1] > whole.n_iter  # steps are not all
    short = bocce.minimize(p, tol=1e-9, passes=7.0)
    assert short.status == "finished"
    assert short.history["gradient_evaluations"][-1] <= 8 * p.n
    steps = bocce.minimize(p, "plane", T=7)  # a number of steps that is given is one of plain steps
    assert steps.n_iter == 7
    assert steps.history["gradient_evaluations"][-1] == 7 * p.n


def test_rows_that_are_made_of_others_are_copied_once_or_made_in_each_product():
    X = classes(3000, 40, 80).X
    rows = Scaled(X, X.mean(axis=0), np.full(40, 2.0), 1.0)
    p = classes(3000, 40, 80)
    p = Problem.of(rows, p.y, p.loss, 1e-3, classes=p.classes)
    v = np.random.default_rng(1).standard_normal(p.shape)
    z = np.zeros((p.n, 80))
    exact = p.combine(second_derivatives_times(p, z, p.predict(v))) / p.n
    for limits in (LIMITS, replace(LIMITS, copied=0), replace(LIMITS, kept=0)):
        products = HessianOperator(p, HessianRows.of(rows, 80, limits=limits), limits)
        assert isinstance(products.rows.parts[0].rows, Scaled) == (limits.copied == 0)
        products.look(z.__getitem__)
        found = products.times(v.astype(np.float32))
        assert np.linalg.norm(found - exact) <= 1e-5 * np.linalg.norm(exact)
        assert bool(products.curvatures) == (limits.kept > 0)


@pytest.mark.parametrize(("d", "dtype"), [(20, np.float64), (90, np.float32)])
@pytest.mark.parametrize("what", ["fit", "path"])
def test_a_fit_holds_four_scores_for_each_row_and_class(d, dtype, what):
    n, K = 60_000, 16
    p = classes(n, d, K, intercept=True, form=lambda X: X.astype(dtype))
    tracemalloc.start()
    try:
        if what == "fit":
            bocce.minimize(p, tol=1e-4)
        else:
            bocce.path(p, [1e-1, 1e-2, 1e-3], tol=1e-4)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # a copy of X with an intercept, four arrays of scores as rough as X is, the rows' norms, and
    # parts of rows
    assert peak <= np.dtype(dtype).itemsize * n * (d + 1 + 4 * K) + 8 * n + (1 << 23)


def test_scores_that_are_not_kept_give_the_same_minimum_and_a_run_goes_on_to_the_bit():
    p = classes(700, 8, 5, intercept=True)
    runs = []
    for most in (1 << 32, 0):
        limits = PlaneLimits(score_bytes=most)
        plane = PlaneRun(p, np.zeros(p.shape), memory=1, inner=True, limits=limits)
        assert plane.scores.kept == (most > 0)
        for _ in range(3):
            plane.step()
        other = PlaneRun.from_state(p, plane.state_dict(), inner=True, limits=limits)
        for _ in range(5):
            plane.step()
            other.step()
            assert np.array_equal(plane.w, other.w)
        runs.append(plane)
    assert max(run.norm for run in runs) < 1e-10
    np.testing.assert_allclose(runs[0].w, runs[1].w, atol=1e-9)
