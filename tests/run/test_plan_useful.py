"""The useful batch in a plan: the formula's numbers in words, or nothing without a distance."""

import numpy as np
import pytest

import bocce
from bocce import exact
from bocce.exact import batch_facts, useful_batches
from bocce.theory import useful_batch


def problem():
    X, y, _ = bocce.data.regression(n=500, d=6, kappa=100.0, noise_var=0.1)
    return bocce.LeastSquares(X, y)


def test_a_plan_says_the_useful_batch():
    p = problem()
    plan = bocce.plan(p)
    facts = batch_facts(p)
    B = useful_batch(
        L=facts.L, R2=facts.R2, gradient_noise=facts.gradient_noise, gap=0.01 * facts.gap
    )
    assert plan.useful.sgd == pytest.approx(500.0 / (1.0 + 499.0 / B))
    assert plan.useful.sgd <= plan.useful.momentum <= 500.0
    text = " ".join(str(plan).split())
    assert f"about {plan.useful.sgd:,.0f} rows without momentum" in text
    assert f"noise scale at the start would say {facts.noise_scale:.2g}." in text


def test_momentum_that_saves_nothing_is_not_praised():
    X, y, _ = bocce.data.regression(n=500, d=6, kappa=1.0, noise_var=0.1)
    found = useful_batches(bocce.LeastSquares(X, y))
    assert found.gain == pytest.approx(1.0, abs=0.01)
    assert "rows, with momentum or without" in str(found)
    assert "times fewer" not in str(found)


def test_a_plan_without_a_distance_to_go_says_nothing_of_it():
    X = np.random.default_rng(0).standard_normal((50, 3))
    assert bocce.plan(bocce.LeastSquares(X, np.zeros(50))).useful is None
    with pytest.raises(ValueError, match="the gradient at the start is 0"):
        useful_batches(bocce.LeastSquares(X, np.zeros(50)))


def test_an_intercept_is_a_column_of_ones():
    """As at the shell, where every problem has one."""
    X, y, _ = bocce.data.regression(n=500, d=6, kappa=100.0, noise_var=0.1)
    plan = bocce.plan(bocce.LeastSquares(X, y + 1.0, intercept=True))
    ones = np.ones((500, 1))
    assert plan.useful == useful_batches(bocce.LeastSquares(np.hstack([X, ones]), y + 1.0))


@pytest.mark.parametrize("function", [batch_facts, useful_batches, exact.mean_square_rate])
def test_exact_functions_say_what_to_do_with_an_intercept(function):
    X, y, _ = bocce.data.regression(n=50, d=3, kappa=10.0)
    arguments = {"alpha": 0.1, "beta": 0.5, "batch_size": 5}
    if function is not exact.mean_square_rate:
        arguments = {}
    with pytest.raises(ValueError, match="has an intercept, must have none; give X a column"):
        function(bocce.LeastSquares(X, y, intercept=True), **arguments)


def test_wide_tables_have_a_useful_batch_and_huge_ones_none():
    X, y, _ = bocce.data.regression(n=300, d=60, kappa=10.0, noise_var=0.1)
    p = bocce.LeastSquares(X, y)
    plan = bocce.plan(p)
    assert plan.exact_batch is None  # too many columns for a critical batch size
    assert plan.useful == useful_batches(p)
    n, d = 11_200, 300  # a Gram matrix of 10^9 multiplications and some
    rng = np.random.default_rng(0)
    assert bocce.plan(bocce.LeastSquares(rng.standard_normal((n, d)), rng.random(n))).useful is None
