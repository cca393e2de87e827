"""The plane's metric: what it solves, what it samples, and when it is bought."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as drawn
from hypothesis import strategies as st

import bocce
import plane_problems as given
from bocce.engines.base import ANY
from bocce.plane import PlaneLimits, PlaneRun, policy_for
from bocce.plane.metrics import DiagonalPolicy, FactorMetric, HessianPolicy, Identity
from bocce.plane.metrics.base import View
from bocce.plane.scores.sampled import hessian_of, sampled_hessian
from bocce.problems import ProblemLimits

LOGISTIC = given.Logistic()


def matrix(d=6, seed=0):
    A = np.random.default_rng(seed).standard_normal((3 * d, d))
    return A.T @ A / (3 * d)


def rows(n=2000, d=6, seed=0, sparse=False):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return given.Csr(sp.csr_array(X * (np.abs(X) > 1.0))) if sparse else given.Dense(X)


# -- the factor -----------------------------------------------------------------------------------


@drawn(seed=st.integers(0, 99), d=st.integers(1, 9), spread=st.integers(0, 12))
def test_it_solves_whatever_the_units_of_the_columns(seed, d, spread):
    units = np.geomspace(1.0, 10.0**spread, d)
    P = matrix(d, seed) * units * units[:, None]
    x = np.random.default_rng(seed).standard_normal(d)
    found = FactorMetric.of(P, 0.5).solve((P + 0.5 * np.eye(d)) @ x)
    assert units * found == pytest.approx(units * x, abs=1e-7 * np.abs(units * x).max())


def test_without_a_factor_it_is_the_identity():
    g = np.array([1.0, -2.0])
    assert Identity().state_dict() == {}
    assert Identity().solve(g) is g
    assert FactorMetric.of(np.eye(2), 0.0).state_dict()


def test_a_singular_matrix_and_a_blank_column_have_a_metric_all_the_same():
    P = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    x = FactorMetric.of(P, 0.0, unseen=0.25).solve(np.array([2.0, 2.0, 1.0]))
    assert np.array([x[0] + x[1], x[2]]) == pytest.approx([2.0, 4.0], rel=1e-6)
    assert FactorMetric.of(np.zeros((2, 2)), 0.0).solve(np.ones(2)) == pytest.approx([1.0, 1.0])


# -- the sample -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_the_mean_over_samples_is_the_hessian_of_all_rows(sparse):
    all_rows = rows(400, 3, sparse=sparse)
    bend = np.random.default_rng(1).random(400) ** 4
    exact = all_rows.gram(bend)
    samples = np.array([sampled_hessian(all_rows, bend, 60, turn) for turn in range(300)])
    error = samples.std(axis=0) / np.sqrt(300)
    assert (np.abs(samples.mean(axis=0) - exact) <= 4.0 * error).all()
    assert (samples.std(axis=0) > 0.0).all()


def test_the_same_turn_draws_the_same_rows():
    bend = np.linspace(0.0, 1.0, 2000)
    first, again, other = (sampled_hessian(rows(), bend, 50, turn) for turn in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_rows_without_curvature_are_never_taken():
    X = np.random.default_rng(0).standard_normal((1000, 2))
    bend = np.zeros(1000)
    bend[::100] = 1.0
    X[bend == 0.0] = np.nan
    H = sampled_hessian(given.Dense(X), bend, 40, 0)
    assert pytest.approx(X[::100].T @ X[::100] / 1000, rel=0.5) == H


def test_columns_that_a_sample_misses_are_set_right():
    X = np.zeros((5000, 3))
    X[:, 0] = np.random.default_rng(0).standard_normal(5000)
    X[:, 1] = np.random.default_rng(1).standard_normal(5000)
    X[7, 2] = 1.0
    bend = np.ones(5000)
    csr = given.Csr(sp.csr_array(X))
    H = sampled_hessian(csr, bend, 50, 0)
    assert H[2, 2] == pytest.approx(1.0 / 5000)
    assert np.diag(H)[:2] == pytest.approx(csr.squares(bend)[:2], rel=0.9)


# -- the choice -----------------------------------------------------------------------------------


def chooser(n=100_000, d=100, loss=LOGISTIC):
    kind = type("Rows", (), {"n": n, "d": d, "cost": float(n * d)})
    facts = {"n": n, "rows": kind, "loss": loss, "shape": (d,), "limits": ProblemLimits()}
    return HessianPolicy(type("P", (), {**facts, "in_parts": False, "handed_on": None}))


def updated(choice, X, bend, ridge):
    """The metric that a policy takes where the rows have these second derivatives."""
    sums = {"hessian_diagonal": lambda: X.squares(bend), "row_curvature": lambda: bend}
    scores = SimpleNamespace(hessian=lambda sample: hessian_of(X, bend, sample), **sums)
    choice.regret = np.inf
    at = {"ridge": np.array(ridge), "gradient": np.zeros(X.d), "gradient_ratio": np.nan}
    run = SimpleNamespace(problem=None, scores=scores, metric=Identity(), goal=ANY, **at)
    return choice.update(View(run))


def waits(choice, shrinks, most=10_000):
    """Steps before a Hessian is taken where each shrinks the gradient so."""
    for k in range(most):
        if choice.should_refresh(shrinks if k else np.nan):
            return k
    return None


def test_where_plain_steps_shrink_the_gradient_as_well_it_is_never_bought():
    assert waits(chooser(20_000, 1000), 0.14) is None


@drawn(d=st.integers(10, 2000), power=st.integers(2, 6), shrinks=st.floats(0.2, 1.0))
def test_no_more_is_lost_by_waiting_than_a_hessian_costs(d, power, shrinks):
    choice = chooser(10**power, d)
    waited = waits(choice, shrinks)
    rate = np.log(shrinks) / np.log(choice.expected)
    lost = waited * choice.step * (1.0 - rate)
    assert lost <= choice.price_of(choice.rows) + choice.step


def test_a_cheap_hessian_is_bought_before_the_first_step():
    assert waits(chooser(1_000_000, 5), 0.5) == 0


def test_a_hessian_of_all_rows_that_costs_no_more_than_a_step_is_taken_at_every_step():
    small, wide = chooser(1000, 20), chooser(1000, 200)
    for choice in (small, wide):
        choice.rows = choice.n
        choice.on_refresh()
    assert small.price_of(small.n) <= small.step < wide.price_of(wide.n)
    assert all(small.should_refresh(shrank) for shrank in (1e-3, 1e-6))
    assert waits(wide, 1e-3, 100) is None
    small.in_memory = False  # a read from a file, or a message
    assert waits(small, 1e-3, 100) is None


def test_on_small_data_the_errors_are_squared():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 5))
    y = np.sign(X @ np.ones(5) + rng.standard_normal(400))
    plane = PlaneRun(bocce.Logistic(X, y, l2=1e-3), np.zeros(5))
    norms = [plane.norm]
    while norms[-1] > 1e-14 * norms[0] and len(norms) < 9:
        plane.step()
        norms.append(plane.norm)
    fell = np.log(np.array(norms[1:]) / norms[0])
    assert len(norms) <= 7
    assert (fell[1:] <= np.maximum(1.6 * fell[:-1], np.log(1e-14))).all()


def test_a_quadratic_takes_all_rows_where_that_pays_and_never_again():
    choice = chooser(100_000, 50, given.Squared())
    assert choice.whole
    assert waits(choice, 0.9) == 0
    choice.on_refresh()
    assert waits(choice, 0.99) is None
    assert not chooser(1_000_000, 2000, given.Squared()).whole


def test_beyond_so_many_columns_there_is_no_factor():
    p = given.problem(sp.csr_array((2000, 5000)), np.ones(2000), LOGISTIC, 1e-3)
    assert isinstance(policy_for(p), DiagonalPolicy)
    assert isinstance(
        policy_for(given.problem(np.eye(10), np.ones(10), LOGISTIC, 1e-3)), HessianPolicy
    )


def test_a_hessian_of_little_use_is_followed_by_one_of_more_rows():
    choice = chooser()
    first = choice.rows
    choice.on_refresh()
    choice.should_refresh(0.9)
    choice.on_refresh()
    assert choice.rows == min(choice.n, 4 * first)
    for _ in range(3):
        choice.should_refresh(0.9)
    choice.on_refresh()
    assert choice.rows == min(choice.n, 4 * first)


@drawn(shrinks=st.floats(0.3, 0.95), remaining=st.floats(1e-12, 0.5))
def test_near_the_end_of_a_run_it_waits_but_never_for_long(shrinks, remaining):
    """It is bought when steps have lost its price, and lose it once more before the end."""
    choice = chooser()
    price = choice.price_of(choice.rows)
    a_step = choice.step * (1.0 - np.log(shrinks) / np.log(choice.expected))
    choice.should_refresh(np.nan, remaining)
    for _k in range(1, 10_000):
        ahead = np.log(remaining) / np.log(shrinks) * a_step
        bought = choice.should_refresh(shrinks, remaining)
        assert bought == (choice.regret >= (price if ahead >= price * (1 - 1e-12) else 2.0 * price))
        if bought:
            break
    assert choice.regret <= 2.0 * price + a_step
    assert chooser().should_refresh(np.nan, remaining) == chooser().should_refresh(np.nan)


def test_it_goes_on_from_its_state():
    one, other = chooser(), chooser()
    one.should_refresh(np.nan)
    one.on_refresh()
    one.should_refresh(0.6)
    other.load_state_dict(one.state_dict(), {})
    assert one.state_dict() == other.state_dict()
    for shrank in (0.9, 0.8, 0.99):
        assert one.should_refresh(shrank) == other.should_refresh(shrank)
    assert one.state_dict() == other.state_dict()


def test_the_metric_of_all_rows_is_newtons():
    X = rows(300, 4)
    bend = np.random.default_rng(2).random(300)
    choice = chooser(300, 4)
    choice.rows = 300
    g = np.arange(4.0)
    exact = np.linalg.solve(X.gram(bend) + 0.1 * np.eye(4), g)
    assert updated(choice, X, bend, 0.1).solve(g) == pytest.approx(exact)
    assert choice.taken == 1


def test_a_hessian_makes_a_badly_scaled_problem_short():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 15)) * np.geomspace(1.0, 1e-3, 15)
    y = np.sign(X @ (rng.standard_normal(15) / np.geomspace(1.0, 1e-3, 15)))
    y[::7] *= -1.0
    p = given.problem(X, y, given.Logistic(), 1e-9)
    steps = {}
    for metric in ("identity", "auto"):
        plane = PlaneRun(p, np.zeros(15), metric=metric)
        first = plane.norm
        while plane.norm > 1e-6 * first and plane.k < 300:
            plane.step()
        steps[metric] = plane.k
    assert steps["auto"] <= 15
    assert steps["identity"] >= 5 * steps["auto"]


def test_many_rows_begin_with_the_minimum_over_a_sample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 3))
    y = X @ [2.0, -1.0, 0.5] + rng.logistic(size=4_000) > 0
    p = bocce.Logistic(X, y, l2=1e-3)
    few = PlaneLimits(sample_numbers=1000, sample_rows=100)
    sampled, plain = (PlaneRun(p, np.zeros(3), limits=limits) for limits in (few, PlaneLimits()))
    plain.step()
    sampled.step()
    assert sampled.passes == plain.passes + 1  # the sample's steps, in passes over all rows
    assert max(sampled.value, plain.value) < p.value(np.zeros(3))
    alone = p.on(np.arange(0, 4_000, 16)).minimiser()
    cosine = sampled.w @ alone / np.linalg.norm(sampled.w) / np.linalg.norm(alone)
    assert cosine > 0.9999  # the first step goes straight there
    warm = PlaneRun(p, alone, limits=few)  # a caller's own start is nearer than what a sample says
    warm.step()
    assert warm.passes == plain.passes
