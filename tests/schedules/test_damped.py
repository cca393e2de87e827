"""Rule 3: certified at every step, from the first, and optimal where that can be computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import schedules, theory
from bocce.schedules.damped import (
    CLOSE,
    CLOSING_MOST,
    CLOSING_STEPS,
    MOST_NOISE,
    TAIL,
    closing_table,
    damped_rule,
    damped_table,
    tail_table,
)

logs = st.floats(0.0, 1.0)


@st.composite
def quiet_worlds(draw):
    """L, mu, L_max, kappa~ and zeta0^2 with zeta0^2 L_max <= L/4; kappa~ may be any number."""
    kappa = 10 ** (6 * draw(logs))
    R = 10 ** (4 * draw(logs))
    tilde = draw(st.sampled_from([1.0, R, R * kappa])) * 10 ** draw(logs)
    zeta2 = min(1.0, MOST_NOISE / R * 10 ** (-6 * draw(logs)))
    return 7.0, 7.0 / kappa, 7.0 * R, tilde, zeta2


@settings(max_examples=60, deadline=None)
@given(quiet_worlds(), st.floats(0.0, 1.0))
def test_the_rule_is_certified_also_for_a_mu_that_is_too_large(world, share):
    L, mu, L_max, tilde, zeta2 = world
    rule = damped_rule(L, mu * (L / mu) ** share, L_max, tilde, zeta2)
    three = rule.alpha, 1.0 - rule.slack, rule.theta
    assert theory.lookahead_certificate(*three, L_max, tilde, mu, L) >= zeta2


@settings(max_examples=60, deadline=None)
@given(quiet_worlds(), st.integers(1, 5000), logs, st.sampled_from([closing_table, tail_table]))
def test_every_step_is_certified(world, T, place, table):
    L, mu, L_max, tilde, zeta2 = world
    alpha, beta, theta = table(T, L, mu, L_max, tilde, zeta2)
    for k in {0, min(2, T - 1), round(place * (T - 1)), T - 1}:
        three = alpha[k], beta[k], theta[k]
        assert theory.lookahead_certificate(*three, L_max, tilde, mu, L) >= zeta2


def test_the_lookahead_is_the_one_that_allows_the_largest_step():
    """In the limit beta -> 1: no theta has a smaller 1/alpha in the inequality of the docstring."""
    L, mu, L_max, tilde, zeta2 = 1.0, 1e-12, 30.0, 200.0, 0.004
    rule = damped_rule(L, mu, L_max, tilde, zeta2)
    p, q = zeta2 * tilde, zeta2 * L_max
    assert rule.slack < 1e-5

    def inverse(theta):
        return 0.25 + 0.5 * theta + q * (theta * (1 + theta) + 0.25 + 0.5 * theta) / (2 * theta - p)

    assert 1 / rule.alpha == pytest.approx(inverse(rule.theta), rel=1e-5)
    others = np.linspace(0.51 * p, 5 * p, 400)
    assert 1 / rule.alpha <= inverse(others).min() * (1 + 1e-5)


def test_the_slowest_direction_is_critically_damped():
    rule = damped_rule(100.0, 1.0, 300.0, 20.0, 0.01)
    assert math.sqrt(1.0 - rule.slack) == pytest.approx(1.0 - math.sqrt(rule.alpha * 1.0))


@settings(max_examples=60, deadline=None)
@given(quiet_worlds(), st.floats(0.0, 1.0))
def test_a_momentum_that_is_bounded_is_certified(world, least):
    L, mu, L_max, tilde, zeta2 = world
    rule = damped_rule(L, mu, L_max, tilde, zeta2, least)
    assert rule.slack >= least
    three = rule.alpha, 1.0 - rule.slack, rule.theta
    assert theory.lookahead_certificate(*three, L_max, tilde, mu, L) >= zeta2


def test_the_accelerated_part_closes_and_becomes_an_average():
    """1 - beta is 3/(steps left) before K; after K alpha falls as 1/t, and theta grows with t."""
    T, L, mu, L_max, tilde, zeta2 = 400, 2.0, 0.02, 40.0, 100.0, 1e-3
    alpha, beta, theta = closing_table(T, L, mu, L_max, tilde, zeta2)
    rule = damped_rule(L, mu, L_max, tilde, zeta2)
    ends = (2.0 * CLOSE.after / rule.slack, CLOSE.latest * T)
    K = sum(x**-CLOSE.corner for x in ends) ** (-1.0 / CLOSE.corner)
    assert min(ends) > K
    before, after = np.arange(math.floor(K) - 5, math.floor(K)), np.arange(math.ceil(K), T)
    slack = 1.0 - beta
    assert slack[before] == pytest.approx(np.minimum(CLOSE.reset, CLOSE.closing / (K - before)))
    unit = 1.0 / (L + zeta2 * L_max)
    assert alpha[after] * (1.0 + CLOSE.falling * (after - K)) == pytest.approx(unit)
    assert CLOSE.reset >= slack[after].max() > 50.0 * slack[-1]
    assert (alpha * theta)[-1] == pytest.approx(CLOSE.inner * beta[-1] * unit, rel=0.02)
    longest = max(CLOSE.effective * unit, CLOSE.forgetting / (mu * (after[-1] - K)))
    assert (alpha / slack)[-1] <= longest * (1.0 + 1e-12)


def test_a_long_run_on_all_rows_is_polyaks_but_for_its_ends():
    T, L, mu = 300, 4.0, 0.04
    alpha, beta, theta = closing_table(T, L, mu, 2.0 * L, 5.0, 0.0)
    polyak = schedules.polyak(1, L, mu)
    middle = slice(20, T - 20)
    assert alpha[middle] == pytest.approx(polyak.alpha[0])
    assert beta[middle] == pytest.approx(polyak.beta[0])
    assert not theta.any()
    assert 1.0 - beta[-1] == pytest.approx(CLOSE.reset)


def test_a_run_too_short_for_mu_is_damped_for_its_length():
    """1 - beta is at least 6/T, so that kappa = 1e6 and 1e8 give the same table."""
    tables = [closing_table(200, 1.0, mu, 3.0, 9.0, 0.01) for mu in (1e-6, 1e-8)]
    np.testing.assert_allclose(*tables, rtol=1e-3)
    assert (1.0 - tables[0][1]).min() < CLOSE.run / 200


def test_which_table_is_taken():
    def taken(T, mu):
        given_ = (T, 4.0, mu, 8.0, 3.0, 0.01)
        same = [
            np.array_equal(damped_table(*given_), f(*given_)) for f in (closing_table, tail_table)
        ]
        assert sum(same) == 1
        return (closing_table, tail_table)[same.index(True)]

    assert taken(CLOSING_STEPS - 1, 0.04) is tail_table
    assert taken(CLOSING_STEPS, 0.04) is closing_table
    tau = 2.0 / damped_rule(4.0, 0.04, 8.0, 3.0, 0.01).slack
    assert taken(math.floor(CLOSING_MOST * tau), 0.04) is closing_table
    assert taken(math.ceil(CLOSING_MOST * tau), 0.04) is tail_table


def test_the_tail():
    """Memory grows by a fixed share, the effective step falls to its target, steps stay steep."""
    T, L, mu, L_max, tilde, zeta2 = 400, 2.0, 2e-4, 40.0, 100.0, 1e-3
    alpha, beta, theta = tail_table(T, L, mu, L_max, tilde, zeta2)
    K = math.ceil(TAIL.latest * T)
    late = slice(K + 1, T)
    effective = alpha / (1.0 - beta)
    assert (np.diff(effective[K:]) <= 0.0).all()
    unit = 1.0 / (L + zeta2 * L_max)
    assert effective[-1] == pytest.approx(TAIL.target * unit, rel=0.05)
    memory = 2.0 / (1.0 - beta[late]) - 1.0
    assert np.diff(memory) == pytest.approx(TAIL.growth)
    steep = alpha[late] * (1.0 + 2.0 * theta[late])
    assert steep.max() * L < 4.0
    assert alpha[-1] * theta[-1] == pytest.approx(TAIL.inner * unit)


def test_more_noise_takes_rule_two():
    known = {"L": 1.0, "mu": 0.01, "L_max": 50.0, "n": 1000, "kappa_tilde": 60.0}
    for b, rule_two in ((20, True), (900, False)):
        s = schedules.auto(100, b=b, **known)
        general = schedules.auto(100, b=b, **known, quadratic=False)
        assert (s == general) is rule_two
