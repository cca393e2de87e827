"""Rule 3: certified at every step, from the first, and optimal where that can be computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import schedules, theory
from bocce.schedules.damped import SHAPE, SamplingNoise, damped_rule, damped_table, suits

logs = st.floats(0.0, 1.0)


def noise_of(L, L_max, tilde, zeta2):
    return SamplingNoise(zeta2 * L_max / L, zeta2 * tilde, tilde * L / L_max)


@st.composite
def worlds(draw):
    """L, mu, L_max, kappa~ and zeta0^2; kappa~ may be any number."""
    kappa = 10 ** (6 * draw(logs))
    R = 10 ** (4 * draw(logs))
    tilde = draw(st.sampled_from([1.0, R, R * kappa])) * 10 ** draw(logs)
    return 7.0, 7.0 / kappa, 7.0 * R, tilde, 10 ** (-7 * draw(logs))


@settings(max_examples=200, deadline=None)
@given(worlds(), st.floats(1e-6, 1.0), st.floats(-3.0, 4.0), st.booleans())
def test_the_longest_step_is_certified(world, slack, size, ahead):
    """At every momentum and lookahead, not only those that the rule takes."""
    L, mu, L_max, tilde, zeta2 = world
    theta = 10.0**size if ahead else 0.0
    longest = noise_of(L, L_max, tilde, zeta2).longest(np.array(slack), np.array(theta))
    three = (1.0 - 1e-9) * float(longest) / L, 1.0 - slack, theta
    assert theory.lookahead_certificate(*three, L_max, tilde, mu, L) >= zeta2


@settings(max_examples=60, deadline=None)
@given(worlds(), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_rule_is_certified_also_for_a_mu_that_is_too_large(world, share, least):
    L, mu, L_max, tilde, zeta2 = world
    more = noise_of(L, L_max, tilde, SHAPE.margin * zeta2)
    rule = damped_rule(L, mu * (L / mu) ** share, more, least)
    assert rule.slack >= least
    three = rule.alpha, 1.0 - rule.slack, rule.theta
    assert theory.lookahead_certificate(*three, L_max, tilde, mu, L) >= zeta2


@settings(max_examples=100, deadline=None)
@given(worlds(), st.integers(1, 5000), logs)
def test_every_step_is_certified(world, T, place):
    L, mu, L_max, tilde, zeta2 = world
    alpha, beta, theta = damped_table(T, L, mu, L_max, tilde, zeta2)
    for k in {0, min(2, T - 1), round(place * (T - 1)), T - 1}:
        three = (1.0 - 1e-9) * alpha[k], beta[k], theta[k]
        assert theory.lookahead_certificate(*three, L_max, tilde, mu, L) >= zeta2


def test_the_lookahead_is_the_one_that_allows_the_longest_step():
    """In the limit beta -> 1, where alpha L = 4/(1 + p) (sqrt(1 + q) - sqrt(q))^2."""
    noise, slack = SamplingNoise(0.12, 0.8, 0.8 / 0.12), np.array(1e-9)
    theta = noise.lookahead(slack)
    longest = noise.longest(slack, theta)
    assert longest == pytest.approx(4 / 1.8 * (math.sqrt(1.12) - math.sqrt(0.12)) ** 2, rel=1e-6)
    assert noise.longest(np.full(400, slack), np.linspace(0.41, 5.0, 400)).max() <= longest * (
        1 + 1e-6
    )


def test_the_slowest_direction_is_critically_damped():
    rule = damped_rule(100.0, 1.0, noise_of(100.0, 300.0, 20.0, 0.01))
    assert math.sqrt(1.0 - rule.slack) == pytest.approx(1.0 - math.sqrt(rule.alpha * 1.0))


def test_the_accelerated_part_closes_and_becomes_an_average():
    """1 - beta is 3/(steps left) before K; after K alpha falls as 1/t, and theta grows with t."""
    T, L, mu, L_max, tilde, zeta2 = 400, 2.0, 0.02, 40.0, 100.0, 1e-3
    alpha, beta, theta = damped_table(T, L, mu, L_max, tilde, zeta2)
    rule = damped_rule(L, mu, noise_of(L, L_max, tilde, SHAPE.margin * zeta2))
    ends = (SHAPE.after * 2.0 / rule.slack + SHAPE.share * T, SHAPE.latest * T)
    K = sum(x**-SHAPE.corner for x in ends) ** (-1.0 / SHAPE.corner)
    assert min(ends) > K
    before, after = np.arange(math.floor(K) - 5, math.floor(K)), np.arange(math.ceil(K), T)
    slack = 1.0 - beta
    assert slack[before] == pytest.approx(np.minimum(SHAPE.reset, SHAPE.closing / (K - before)))
    unit = 1.0 / (L + SHAPE.weight * zeta2 * L_max)
    assert alpha[after] * (1.0 + SHAPE.falling * (after - K)) == pytest.approx(unit)
    assert SHAPE.reset >= slack[after].max() > 50.0 * slack[-1]
    assert (alpha * theta)[-1] == pytest.approx(SHAPE.inner * beta[-1] * unit)
    longest = max(unit, SHAPE.forgetting / (mu * (after[-1] - K)))
    assert (alpha / slack)[-1] <= longest * (1.0 + 1e-12)


def test_a_long_run_on_all_rows_is_polyaks_but_for_its_ends():
    T, L, mu = 300, 4.0, 0.04
    alpha, beta, theta = damped_table(T, L, mu, 2.0 * L, 5.0, 0.0)
    polyak = schedules.polyak(1, L, mu)
    middle = slice(20, T - 20)
    assert alpha[middle] == pytest.approx(polyak.alpha[0])
    assert beta[middle] == pytest.approx(polyak.beta[0])
    assert not theta.any()
    assert 1.0 - beta[-1] == pytest.approx(SHAPE.reset)


def test_a_run_too_short_for_mu_is_damped_for_its_length():
    """1 - beta is at least 6/T, so that kappa = 1e6 and 1e8 give the same table."""
    tables = [damped_table(200, 1.0, mu, 3.0, 9.0, 0.01) for mu in (1e-6, 1e-8)]
    np.testing.assert_allclose(*tables, rtol=1e-3)
    assert (1.0 - tables[0][1]).min() == pytest.approx(SHAPE.run / 200, rel=0.5)


@pytest.mark.parametrize(
    ("T", "b", "quadratic"), [(100, 200, False), (49, 200, True), (100, 20, True)]
)
def test_other_losses_and_short_runs_and_small_batches_take_rule_two(T, b, quadratic):
    """At b = 20 zeta0^2 L_max is 2.5 L."""
    known = {"L": 1.0, "mu": 0.01, "L_max": 50.0, "n": 1000, "kappa_tilde": 60.0}
    s = schedules.auto(T, b=b, **known, quadratic=quadratic)
    columns = schedules.adaptive.lookahead_table(T, 1.0, 0.01, 50.0, 60.0, theory.zeta2(1000, b))
    np.testing.assert_array_equal([s.alpha, s.beta, s.theta], columns)
    assert s != schedules.auto(T, b=200, **known) or T < 50


def test_a_short_run_on_all_rows_is_damped_if_it_has_five_time_constants():
    assert [suits(T, 16.0, 1.0, 90.0, zeta2=0.0) for T in (14, 15)] == [False, True]
    assert [suits(T, 16.0, 1.0, 90.0, zeta2=1e-6) for T in (49, 50)] == [False, True]
