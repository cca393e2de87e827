"""A plan forecasts a method from the method's own table."""

import math

import numpy as np
import pytest

import bocce
from bocce import exact, theory

NAMES = ("sgd", "shb", "hb", "nesterov", "2p-shb")


@pytest.fixture(scope="module")
def p():
    X, y, _ = bocce.data.regression(n=2000, d=10, kappa=500.0)
    return bocce.LeastSquares(X, y)


def longest(table):
    k = int(np.argmax(table.alpha / (1.0 - table.beta)))
    return float(table.alpha[k]), float(table.beta[k]), float(table.theta[k])


@pytest.mark.parametrize("b", [10, 30, 300])
@pytest.mark.parametrize("name", NAMES)
def test_exact_moments_of_the_method_s_own_table(p, name, b):
    plan = bocce.plan(p, b, 500, method=name)
    curve = exact.expected(p, name, b, T=500)
    table = bocce.schedules.REGISTRY[name].build(500, p.constants())
    found = plan.expectation
    assert found.by == "exact"
    assert found.gap == pytest.approx(curve.gap[-1] / curve.gap[0], rel=1e-9)
    alpha, beta, theta = longest(table)
    if alpha * 500.0 < 2.0 * (1.0 + beta) / (1.0 + 2.0 * theta) * (1.0 - 1e-9):
        critical = exact.critical_batch_size(p, alpha, beta, theta)
        assert found.critical == pytest.approx(critical, rel=1e-9)
    assert found.diverges(b, p.n) == (b <= found.critical)
    if found.diverges(b, p.n):
        assert plan.words.startswith(f"{name} diverges")
        assert "is enough" not in str(plan)
        assert "Certified" not in str(plan)


def test_the_issue_s_plan(p):
    plan = bocce.plan(p, 30, 500, method="shb")
    assert plan.words.startswith("shb diverges below 77 rows, and b = 30: take at least 77 rows")
    assert f"grows {plan.expectation.gap:.2g} times in 500 steps" in str(plan).replace("\n", " ")
    assert plan.expectation.gap > 1e15
    assert str(plan).split("\n\n")[1].startswith("shb diverges below 77 rows")
    assert plan.steps is None


def test_every_method_has_its_own_forecast(p):
    words = [bocce.plan(p, 10, 500, method=name).words for name in NAMES]
    assert len(set(words)) == len(NAMES)


def test_the_steps_needed_are_those_of_the_curve(p):
    plan = bocce.plan(p, 600, 2000, method="shb", accuracy=1e-4)
    gap = exact.expected(p, "shb", 600, T=2000).gap
    assert gap[plan.steps] <= 1e-4 * gap[0] < gap[plan.steps - 1]
    assert f"T = 2000 is enough: 0.0001 is reached after {plan.steps:,} steps" in plan.words


def test_an_intercept_is_one_more_column():
    X, y, _ = bocce.data.regression(n=300, d=4, kappa=50.0, noise_var=0.1)
    with_one = bocce.LeastSquares(X, y + 1.0, intercept=True)
    wider = bocce.LeastSquares(np.column_stack([X, np.ones(300)]), y + 1.0)
    found = bocce.plan(with_one, 40, 200, method="shb").expectation
    same = bocce.plan(wider, 40, 200, method="shb").expectation
    assert found.gap == pytest.approx(same.gap, rel=1e-9)
    assert found.critical == pytest.approx(same.critical, rel=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_another_loss_is_judged_near_its_minimum(intercept, sparse):
    """The critical batch is that of the rows sqrt(c_i) x_i."""
    import scipy.sparse as sp

    X, y, _ = bocce.data.regression(n=400, d=4, kappa=30.0, noise_var=1.0, seed=1)
    p = bocce.Logistic(sp.csr_array(X) if sparse else X, y > 0, l2=0.1, intercept=intercept)
    w = bocce.minimize(p, tol=1e-10)
    z = X @ w.w + w.intercept
    root = np.sqrt(np.exp(-np.logaddexp(0.0, z) - np.logaddexp(0.0, -z)))
    rows = np.column_stack([X, np.ones(400)]) if intercept else X
    local = bocce.LeastSquares(rows * root[:, None], np.zeros(400), l2=0.1)
    plan = bocce.plan(p, 5, 100, method="shb")
    table = bocce.minimize(p, "shb", T=100, batch_size=5).schedule
    truth = exact.critical_batch_size(local, *longest(table))
    assert plan.expectation.by == "local"
    assert plan.expectation.critical == pytest.approx(truth, rel=1e-4)
    assert "near the minimum" in plan.words
    assert "nothing is proved" in plan.words
    assert "guard" not in plan.words  # that is auto's


def test_many_columns_are_certified():
    X, y, _ = bocce.data.regression(n=300, d=60, kappa=20.0, noise_var=0.1)
    p = bocce.LeastSquares(X, y)
    found = bocce.plan(p, 290, 100, method="shb").expectation
    assert found.by == "certified"
    start = p.value(np.zeros(60)) - p.value(p.minimiser())
    bound = theory.certify_run(p, "shb", 290, of="gap", T=100)
    assert found.gap == pytest.approx(bound.total / start)
    low = bocce.plan(p, 3, 100, method="shb")
    c = p.constants()
    step = bocce.schedules.shb(1, c.L, c.mu)
    rows = theory.certified_batch_size(
        p.n, float(step.alpha[0]), float(step.beta[0]), c.L_max, c.mu, c.L
    )
    assert low.expectation.certified_rows == pytest.approx(rows)
    assert f"certified to be stable from {math.ceil(rows):,} rows on" in low.words


def test_a_step_too_long_for_all_rows_is_said(p):
    """With theta = 0 and beta = 0 the edge is alpha L = 2."""
    from bocce.planning.forecast import expectation
    from bocce.planning.reasons import Expected

    wild = bocce.Schedule(2.5 / p.constants().L, 0.0, T=10)
    found = expectation(p, wild, p.n, None, 1e-6)
    assert found.critical == math.inf
    assert found.diverges(p.n, p.n)
    said = next(Expected(found, "wild", p.n, p.n, 10, 1e-6).sentences())
    assert said.startswith("wild diverges at every batch size")


def unscaled(l2, intercept=True):
    rng = np.random.default_rng(0)
    X = rng.normal([5e4, 40.0, 0.3, 1e6], [2e4, 12.0, 0.1, 3e5], (500, 4))
    return bocce.LeastSquares(X, X @ [1e-4, 0.1, 2.0, 1e-6], l2=l2, intercept=intercept)


def test_unscaled_columns_are_not_recommended_a_batch():
    plan = bocce.plan(unscaled(0.01))
    assert plan.recommended is None
    page = " ".join(str(plan).split())
    assert "No batch size is recommended" in page
    assert "standardise the columns" in page
    assert "A little l2" not in page


@pytest.mark.parametrize(("l2", "said"), [(0.0, "a little l2"), (1e-9, "more l2 than 1e-09")])
def test_the_remedy_knows_the_l2_that_is_given(l2, said):
    X = np.random.default_rng(0).standard_normal((60, 3))
    p = bocce.Logistic(np.column_stack([X, X[:, 0]]), X[:, 0] > 0, l2=l2, intercept=True)
    assert said in bocce.plan(p, tol=1e-14).words.lower()
