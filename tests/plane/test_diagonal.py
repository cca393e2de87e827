"""The diagonal as a metric where a Hessian has no room: when it is tried, and what comes of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as drawn
from hypothesis import strategies as st

import plane_problems as given
from bocce.plane import PlaneRun
from bocce.plane.metrics import DiagonalPolicy, FactorMetric, Identity
from bocce.plane.metrics.diagonal import promises
from bocce.problems import PathCache, ProblemLimits

LOGISTIC, SQUARED = given.Logistic(), given.Squared()


def words(n=3000, d=400, entries=20, seed=0):
    """Columns as rare as words are."""
    rng = np.random.default_rng(seed)
    columns = (d ** rng.random((n, entries)) - 1.0).astype(int)
    starts = np.arange(0, n * entries + 1, entries)
    X = sp.csr_array((rng.random(n * entries), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    z = X @ rng.standard_normal(d)
    return X, np.where(z + rng.standard_normal(n) > 0.0, 1.0, -1.0)


def without_factor(p):
    """The problem as if it had too many columns for a Hessian."""
    return p.with_fields(limits=ProblemLimits(factor_columns=0))


def problem(loss=LOGISTIC, ridge=1e-4, **shape):
    X, y = words(**shape)
    return without_factor(given.problem(X, y, loss, ridge))


def steps_to(plane, tol=1e-5, most=500):
    goal = tol * plane.norm
    while plane.norm > goal and plane.k < most:
        plane.step()
    return plane.k


@drawn(seed=st.integers(0, 99), d=st.integers(1, 9), ridge=st.floats(0.0, 2.0))
def test_it_solves_as_the_matrix_does(seed, d, ridge):
    rng = np.random.default_rng(seed)
    squares, g = rng.random(d) + 1e-3, rng.standard_normal((d, 2))
    metric = FactorMetric.of(squares, ridge)
    assert not metric.newton_like
    np.testing.assert_allclose(metric.solve(g), (g.T / (squares + ridge)).T, rtol=1e-14)
    np.testing.assert_allclose(
        metric.solve(g), FactorMetric.of(np.diag(squares), ridge).solve(g), 1e-10
    )


def test_a_column_that_no_row_has_is_as_curved_as_the_others():
    found = FactorMetric.of(np.array([1.0, 0.0, 3.0]), 0.0).solve(np.ones(3))
    np.testing.assert_allclose(found, [1.0, 0.5, 1.0 / 3.0])


def conjugate_gradient_steps(H, b, tol=1e-5):
    """Steps until b . w / 2 is within ``tol`` of its largest value."""
    least = 0.5 * b @ np.linalg.solve(H, b)
    w, r, p = np.zeros(b.size), b.copy(), b.copy()
    for step in range(10_000):
        if 0.5 * b @ w >= (1.0 - tol) * least:
            return step
        t = (r @ r) / (p @ H @ p)
        w, before, r = w + t * p, r @ r, r - t * H @ p
        p = r + (r @ r) / before * p
    raise AssertionError("no end of steps")


@pytest.mark.parametrize(("rows", "promised"), [(60, False), (125, False), (1_000, True)])
def test_its_promise_is_kept_by_conjugate_gradients(rows, promised):
    """Of few rows the identity keeps gradients in their span, and the diagonal does not."""
    rng = np.random.default_rng(rows)
    d, ridge = 400, 1e-5
    often = np.arange(1.0, d + 1.0) ** -0.9
    X = (rng.random((rows, d)) < often) * rng.lognormal(size=(rows, d))
    y = X @ rng.standard_normal(d)
    curvature = np.square(X).mean(axis=0)
    steps = []
    for P in (np.ones(d), curvature + ridge):
        scaled = X / np.sqrt(P)
        H = scaled.T @ scaled / rows + np.diag(ridge / P)
        steps.append(conjugate_gradient_steps(H, scaled.T @ y / rows))
    assert promises(curvature, np.full(1, ridge), rows) == promised
    assert (2 * steps[1] < steps[0]) == promised


def test_rare_columns_take_a_third_of_the_steps():
    p = problem()
    plain = steps_to(PlaneRun(p, np.zeros(400), metric="identity"))
    plane = PlaneRun(p, np.zeros(400))
    assert isinstance(plane.policy, DiagonalPolicy)
    assert 3 * steps_to(plane) < plain
    assert plane.metric.root is not None
    assert plane.metric.factor is None


def test_columns_that_are_all_alike_stay_in_the_identity():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 200))
    p = without_factor(given.problem(X, np.sign(X @ rng.standard_normal(200)), LOGISTIC, 1e-5))
    plane = PlaneRun(p, np.zeros(200))
    steps_to(plane)
    assert isinstance(plane.metric, Identity)
    assert plane.policy.next_price > plane.policy.full_price  # it was tried all the same


def test_steps_that_halve_the_gradient_are_never_interrupted():
    choice = DiagonalPolicy(problem())
    assert not any(choice.should_refresh(0.5) for _ in range(100))


@drawn(shrinks=st.lists(st.floats(0.05, 2.0), min_size=1, max_size=300))
def test_comparisons_in_vain_cost_no_more_than_was_lost(shrinks):
    """Each waits until steps have lost its price (the first, half of it), so together they cost
    twice what was lost at most; and their number grows as a logarithm."""
    choice, made, lost = DiagonalPolicy(problem(n=50)), 0, 0.0
    for shrank in shrinks:
        lost += choice.step * max(0.0, 1.0 - max(0.0, np.log(shrank) / np.log(0.5)))
        if choice.should_refresh(shrank):
            made += 1
            choice.regret, choice.next_price = 0.0, 2.0 * choice.next_price
    assert made * choice.full_price <= 2.0 * lost + 1e-9
    assert made <= 1 + np.log2(1.0 + 2.0 * len(shrinks) * choice.step / choice.full_price)


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED, given.SquaredHinge(), given.Huber(0.5)])
def test_f_never_rises_and_the_minimum_is_found(loss):
    p = problem(loss, ridge=1e-3, n=500, d=60)
    plane = PlaneRun(p, np.zeros(60))
    values = [plane.value]
    while plane.norm > 1e-9 and plane.k < 400:
        plane.step()
        values.append(plane.value)
    assert (np.diff(values) <= 1e-14 * values[0]).all()
    assert np.abs(given.gradient(p, plane.w)).max() < 1e-8


@pytest.mark.parametrize("stop", [2, 4, 6, 9])
def test_a_run_goes_on_bit_for_bit(stop):
    p = problem()
    straight = PlaneRun(p, np.zeros(400))
    for _ in range(stop):
        straight.step()
    resumed = PlaneRun.from_state(p, {k: np.array(v) for k, v in straight.state_dict().items()})
    for _ in range(8):
        straight.step()
        resumed.step()
        assert (straight.w == resumed.w).all()
    assert not isinstance(straight.metric, Identity)  # the states around it were among these


def test_the_next_run_on_the_same_rows_begins_with_it():
    p = problem().with_fields(handed_on=PathCache())
    first = PlaneRun(p, np.zeros(400))
    steps = steps_to(first)
    again = PlaneRun(p, np.zeros(400))
    again.step()
    assert not isinstance(again.metric, Identity)
    assert steps_to(PlaneRun(p, np.zeros(400))) < steps
