"""Rows fewer than columns: the same metric by a factor of n x n numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as drawn
from hypothesis import strategies as st

import plane_problems as given
from bocce.plane import PlaneRun, policy_for
from bocce.plane.metrics import FactorMetric
from bocce.plane.metrics.rowspace import RowMetric, RowSpacePolicy
from bocce.problems import Problem, ProblemLimits
from bocce.rows import Scaled
from bocce.run import minimize


def wide(n=12, d=30, seed=0, ridge=1e-2, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(1.0, 0.1, d)
    if sparse:
        X = sp.csr_array(X * (rng.random((n, d)) < 0.4))
    y = np.where(rng.standard_normal(n) > 0.0, 1.0, -1.0)
    return given.problem(X, y, given.Logistic(), ridge)


def dense(p):
    return p.rows.X.toarray() if p.rows.sparse else p.rows.X


# -- the metric -----------------------------------------------------------------------------------


@drawn(
    seed=st.integers(0, 999),
    n=st.integers(1, 12),
    more=st.integers(1, 20),
    sparse=st.booleans(),
    power=st.integers(-6, 2),
    uneven=st.booleans(),
)
def test_it_is_the_inverse_of_the_hessian_with_its_ridge(seed, n, more, sparse, power, uneven):
    rng = np.random.default_rng(seed)
    d = n + more
    ridge = 10.0**power * (rng.uniform(0.5, 2.0, d) if uneven else np.ones(d))
    p = wide(n, d, seed, ridge, sparse)
    bend = rng.uniform(0.0, 0.25, n) * (rng.random(n) < 0.8)
    g = rng.standard_normal(d)
    X = dense(p)
    P = X.T @ (bend[:, None] * X) / n + np.diag(ridge)
    found = RowSpacePolicy(p).metric(bend).solve(g)
    np.testing.assert_allclose(P @ found, g, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_kernel_is_that_of_all_columns_however_they_are_cut(sparse):
    """They are taken 512 at a time."""
    p = wide(d=1200, sparse=sparse)
    ridge = np.linspace(0.5, 2.0, 1200)
    X = dense(p)
    np.testing.assert_allclose(
        p.rows.row_products(ridge), X / ridge @ X.T, rtol=1e-9, atol=1e-12 * 1200
    )
    alike = np.full(1200, 3.0)
    np.testing.assert_allclose(p.rows.row_products(alike), X @ X.T / 3.0, atol=1e-12)


def test_the_kernel_of_scaled_rows_is_that_of_the_rows_they_stand_for():
    rng = np.random.default_rng(0)
    X, centre, scale = rng.standard_normal((8, 20)), rng.standard_normal(20), rng.random(20)
    rows, ridge = Scaled(X, centre, scale, 2.0), np.append(np.linspace(0.5, 2.0, 20), np.inf)
    made = (X - centre) * scale
    np.testing.assert_allclose(rows.row_products(ridge), made / ridge[:20] @ made.T, atol=1e-12)


def test_the_kernel_of_single_precision_is_summed_in_double():
    X = np.random.default_rng(0).standard_normal((8, 20)).astype(np.float32)
    exact = X.astype(np.float64)
    found = given.Dense(X).row_products(np.full(20, 2.0))
    np.testing.assert_allclose(found, exact @ exact.T / 2.0, rtol=1e-12, atol=1e-13)


def test_a_column_without_ridge_is_moved_nearly_as_far():
    p = wide(ridge=np.append(np.full(29, 1e-2), 0.0))
    bend = np.full(12, 0.25)
    X, g = p.rows.X, np.random.default_rng(1).standard_normal(30)
    P = X.T @ (bend[:, None] * X) / 12 + np.diag(p.ridges)
    found, exact = RowSpacePolicy(p).metric(bend).solve(g), np.linalg.solve(P, g)
    np.testing.assert_allclose(found, exact, atol=0.02 * np.abs(exact).max())


def test_where_rounding_outweighs_all_else_there_is_a_factor_all_the_same():
    p = wide(ridge=1e-25)
    p.rows.X.flags.writeable = True
    p.rows.X[1] = p.rows.X[0]  # K is singular, and about 1e25
    metric = RowSpacePolicy(p).metric(np.full(12, 0.25))
    assert np.isfinite(metric.factor).all()
    assert np.isfinite(metric.solve(np.ones(30))).all()


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-8])
def test_single_precision_is_as_good_where_it_is_taken(ridge, uneven):
    """Newton's step from either differs by less than a hundredth; where K is too large for float32
    (the last ridge) it is computed anew."""
    p = wide(60, 1200, ridge=ridge * (np.linspace(1.0, 2.0, 1200) if uneven else np.ones(1200)))
    space, exact = RowSpacePolicy(p), RowSpacePolicy(p)
    assert space.rough is (ridge > 1e-8)  # some rows tell
    space.rough, exact.rough = True, False  # the rows that were looked at may be the wrong ones
    bend, g = np.full(60, 0.25), given.gradient(p, np.zeros(1200))
    found, true = (one.metric(bend) for one in (space, exact))
    assert found.factor.dtype == (np.float32 if ridge > 1e-8 else np.float64)
    assert space.rough is (ridge > 1e-8)
    x, y = found.solve(g), true.solve(g)
    assert np.linalg.norm(x - y) <= 0.01 * np.linalg.norm(y)


# -- who has one ----------------------------------------------------------------------------------


def test_it_needs_rows_in_memory_fewer_than_columns_and_a_ridge():
    assert RowSpacePolicy.suits(wide())
    assert RowSpacePolicy.suits(wide(ridge=np.append(np.ones(29), 0.0)))  # an intercept's
    assert not RowSpacePolicy.suits(wide(ridge=np.append(np.ones(28), [0.0, 0.0])))
    assert not RowSpacePolicy.suits(wide(ridge=0.0))
    assert not RowSpacePolicy.suits(wide(n=30, d=30))
    X = np.ones((3, 5))
    assert RowSpacePolicy.suits(Problem(X, [1.0, 2.0, 3.0], "squared", l2=1.0))
    assert not isinstance(policy_for(Problem(X, [0, 1, 2], "softmax", l2=1.0)), RowSpacePolicy)
    few = ProblemLimits(sparse_kernel_rows=11)
    assert RowSpacePolicy.suits(wide().with_fields(limits=few))
    assert RowSpacePolicy.suits(wide(sparse=True))
    assert not RowSpacePolicy.suits(wide(sparse=True).with_fields(limits=few))
    assert RowSpacePolicy.suits(wide().with_fields(limits=ProblemLimits(kernel_entries=144)))
    assert not RowSpacePolicy.suits(wide().with_fields(limits=ProblemLimits(kernel_entries=143)))


def test_the_kernel_is_paid_for_once():
    p = wide(200, 500)
    chooser = policy_for(p)
    first = chooser.price_of(200)
    chooser.metric(np.full(200, 0.25))
    assert chooser.price_of(200) < first
    assert chooser.whole


def test_beyond_any_number_of_columns():
    p = wide(40, 5000, ridge=1e-3)
    plane = PlaneRun(p, np.zeros(5000))
    first = plane.norm
    for _ in range(30):
        plane.step()
        if plane.norm <= 1e-10 * first:
            break
    assert isinstance(plane.metric, RowMetric)
    assert np.linalg.norm(given.gradient(p, plane.w)) <= 1e-9 * first


# -- runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_every_step_is_the_one_by_a_factor_of_all_columns(sparse, free, monkeypatch):
    """The twin: the same plane with the d x d metric of the same Hessian and ridge."""
    ridge = np.append(np.full(29, 1e-2), 0.0) if free else 1e-2
    p = wide(sparse=sparse, ridge=ridge)
    ours = PlaneRun(p, np.zeros(30))

    def by_columns(policy, bend):
        policy.ridge = policy.positive(bend)
        X = dense(p)
        H = X.T @ (bend[:, None] * X) / p.n + np.diag(policy.ridge)
        return FactorMetric.of(H, 0.0)

    monkeypatch.setattr(RowSpacePolicy, "metric", by_columns)
    theirs = PlaneRun(p, np.zeros(30))
    first = ours.norm
    for _ in range(12):
        if ours.norm <= 1e-7 * first:
            break
        with monkeypatch.context() as now:
            now.setattr(RowSpacePolicy, "metric", METRIC)
            ours.step()
        theirs.step()
        np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-6, atol=1e-8)
    assert ours.policy.taken == theirs.policy.taken > 0


METRIC = RowSpacePolicy.metric


@pytest.mark.parametrize("loss", ["logistic", "huber", "poisson"])
def test_with_weights_and_an_intercept_the_minimum_is_found(loss):
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((15, 40)), rng.integers(0, 2, 15)
    weight = rng.uniform(0.5, 2.0, 15)
    p = Problem(X, y, loss, l2=0.1, sample_weight=weight, intercept=True)
    assert RowSpacePolicy.suits(p)
    found = minimize(p, "plane", tol=1e-10)
    assert found.status == "converged"
    best = p.minimiser()
    np.testing.assert_allclose(found.w, best[:-1], atol=1e-7)
    assert found.intercept == pytest.approx(best[-1], abs=1e-7)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("stop", [0, 1, 3])
def test_a_run_goes_on_from_its_state_bit_for_bit(stop, free):
    ridge = np.append(np.full(29, 1e-3), 0.0) if free else 1e-3
    p = wide(ridge=ridge)
    straight = PlaneRun(p, np.zeros(30))
    for _ in range(stop):
        straight.step()
    state = {name: np.array(array) for name, array in straight.state_dict().items()}
    resumed = PlaneRun.from_state(p, state)
    for _ in range(4):
        assert straight.step() == resumed.step()
        assert (resumed.w == straight.w).all()
        assert resumed.value == straight.value
        assert (resumed.products, resumed.evaluations) == (straight.products, straight.evaluations)


@pytest.mark.parametrize("seed", [0, 15, 22, 24, 44])
def test_an_intercept_keeps_up_where_classes_are_apart(seed):
    """Bends become as small as l2 lets them, and with them the curvature of a column that has no
    penalty: a share of what it was at the start would hold it fast."""
    rng = np.random.default_rng(seed)
    X, y = 30.0 * rng.standard_t(1.5, (6, 21)), np.array([0, 1, 0, 1, 1, 0])
    p = Problem(X, y, "logistic", l2=1e-6, intercept=True)
    assert RowSpacePolicy.suits(p)
    found = minimize(p, "plane", tol=1e-9)
    assert found.status == "converged"
    assert found.n_iter < 40


def test_with_unlike_penalties_a_run_begins_in_the_ridges_metric_and_can_be_resumed():
    p = wide(40, 5000, ridge=np.append(np.geomspace(1e-3, 1e-1, 4999), 0.0))
    run = PlaneRun(p, np.zeros(5000))
    assert isinstance(run.metric, FactorMetric)
    assert not run.metric.newton_like
    root = run.metric.root
    np.testing.assert_allclose(root[:-1] ** 2, p.ridge[:-1])
    assert root[-1] > 0.0
    again = PlaneRun.from_state(p, run.state_dict())
    assert (again.metric.root == root).all()
    for _ in range(3):
        run.step()
        again.step()
        assert (again.w == run.w).all()


def test_least_squares_with_more_columns_than_a_gram_matrix_has_room_for():
    """Columns of unlike size: conjugate gradients alone take thousands of steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2100)) * 10.0 ** rng.uniform(-2.0, 2.0, 2100)
    p = Problem(X, rng.standard_normal(150), "squared", l2=1e-2)
    assert not p.gram_fits
    result = minimize(p, "plane", tol=1e-8, passes=300)
    assert result.status == "converged"
    exact = X.T @ np.linalg.solve(X @ X.T + 150 * 1e-2 * np.eye(150), p.y)
    np.testing.assert_allclose(p.predict(result.w), X @ exact, atol=1e-6)
