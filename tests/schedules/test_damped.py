"""Rule 3: certified at every step, from the first, and optimal where that can be computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import schedules, theory
from bocce.schedules.damped import MOST_NOISE, TAIL, damped_rule, damped_table

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
@given(quiet_worlds(), st.integers(1, 5000), logs)
def test_every_step_is_certified(world, T, place):
    L, mu, L_max, tilde, zeta2 = world
    alpha, beta, theta = damped_table(T, L, mu, L_max, tilde, zeta2)
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


def test_the_tail():
    """Memory grows by a fixed share, the effective step falls to its target, steps stay steep."""
    T, L, mu, L_max, tilde, zeta2 = 400, 2.0, 2e-4, 40.0, 100.0, 1e-3
    alpha, beta, theta = damped_table(T, L, mu, L_max, tilde, zeta2)
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
