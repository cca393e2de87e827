"""The useful batch in a plan: the formula's numbers in words, or nothing without a distance."""

import numpy as np
import pytest

import bocce
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
    assert f"noise scale at the start would say {facts.noise_scale:,.0f}" in text


def test_a_plan_without_a_distance_to_go_says_nothing_of_it():
    X = np.random.default_rng(0).standard_normal((50, 3))
    assert bocce.plan(bocce.LeastSquares(X, np.zeros(50))).useful is None
    with pytest.raises(ValueError, match="the gradient at the start is 0"):
        useful_batches(bocce.LeastSquares(X, np.zeros(50)))
