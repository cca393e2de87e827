"""Schedules that know the batch: their limits, their certificates, and how MaSS averages."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bocce import LeastSquares, exact, schedules, theory
from bocce.schedules.accelerated import (
    lookahead_rule,
    with_step,
)
from schedule_tables import FEW, batch_constants, is_constant


@FEW
@given(batch_constants(), st.floats(1e-3, 1e4))
def test_full_batch_mass_and_rule_two_are_nesterov(constants, kappa_tilde):
    """With averages, once the memory has grown to sqrt(kappa) steps."""
    full = constants | {"b": constants["n"], "kappa_tilde": kappa_tilde}
    L, mu = constants["L"], constants["mu"]
    nesterov = schedules.nesterov(1, L, mu)
    for factory, T in (
        (schedules.mass, 1),
        (schedules.mass_averaged, math.ceil(math.sqrt(L / mu))),
    ):
        s = factory(T, **full)
        table = (s.alpha[-1], s.beta[-1], s.theta[-1])
        expected = (nesterov.alpha[0], nesterov.beta[0], nesterov.theta[0])
        assert table == pytest.approx(expected, rel=1e-9, abs=1e-12)


@FEW
@given(batch_constants())
def test_condition_number_one_needs_no_momentum(constants):
    L, n, b = constants["L"], constants["n"], constants["b"]
    zeta2 = 0.0 if n == b else (n - b) / ((n - 1) * b)
    round_one = constants | {"mu": L}
    same_rows = round_one | {"L_max": L, "kappa_tilde": 1.0}
    assert is_constant(schedules.mass(1, **same_rows), 1, 1 / L, 0, 0)
    # with lookahead rule 2 may step shorter at b = 1, where zeta0^2 = 1, never longer
    s = schedules.mass_averaged(1, **same_rows)
    assert s.alpha[0] <= 1 / L * (1 + 1e-12)
    assert is_constant(s, 1, 1 / L if zeta2 <= 0.5 else s.alpha[0], 0, 0)


@pytest.mark.parametrize("T", [3, 20, 200])
def test_a_short_run_of_heavy_ball_does_not_end_above_its_start(T):
    """kappa = 1e6 at b = n - 1: momentum made for mu would still be swinging at T."""
    rows = np.random.default_rng(0).standard_normal((200, 10)) * np.geomspace(1.0, 1e-3, 10)
    p = LeastSquares(rows, rows @ np.ones(10))
    c = p.constants()
    s = schedules.auto(T, c.L, c.mu, c.L_max, p.n, p.n - 1, family="shb")
    gap = exact.expected(p, s, p.n - 1).gap
    assert gap[-1] < 0.3 * gap[0]


def test_mass_by_hand():
    """n = 5, b = 2: z = 3/8, L_m = 4 5/8 + 12 3/8 = 7, kappa~ = 11/3: kappa_m = 2, c = sqrt(14)."""
    s = schedules.mass(2, L=4.0, mu=1.0, L_max=12.0, kappa_tilde=11 / 3, n=5, b=2)
    c = math.sqrt(14)
    e1, e2 = 1 / 7, c / (c + 1) / 14
    g = (c - 1) / (c + 1)
    assert is_constant(s, 2, e1 - e2, g, g * e1 / (e1 - e2))


@pytest.mark.parametrize("T", [1, 2, 7, 100, 1000, 20_000])
def test_lookahead_averages_after_a_few_time_constants(T):
    """c_k = min(c, k + 2), then c_K + t/3; the effective step; alpha theta L_m = beta."""
    constants = {"L": 100.0, "mu": 1.0, "L_max": 300.0, "n": 1000, "b": 100}
    s = schedules.mass_averaged(T, **constants, kappa_tilde=90.0)
    zeta2 = theory.zeta2(1000, 100)
    L_m, kappa_m = (1 - zeta2) * 100 + zeta2 * 300, (1 - zeta2) + zeta2 * 90
    c = math.sqrt(kappa_m * L_m)
    K = min(7 * c, T / 2)
    for k in range(T):
        t, grown = max(0.0, k - K), min(c, (K if k > K else k) + 2)
        effective = (1 + grown / kappa_m) / (2 * L_m)
        seen = max(1.0, kappa_m * L_m / max(1, T / 7) ** 2)
        if t > 0:
            effective = max(1 / (4 * L_m), effective / (1 + seen * effective * t / 1.5))
        assert s.beta[k] == pytest.approx((grown + t / 3 - 1) / (grown + t / 3 + 1), rel=1e-12)
        assert s.alpha[k] / (1 - s.beta[k]) == pytest.approx(effective, rel=1e-9)
        assert s.alpha[k] * s.theta[k] * L_m == pytest.approx(s.beta[k], rel=1e-12)


def test_with_enough_memory_iterates_are_averages_of_sgd():
    """Memory c = 1, 2, 3 .. and the effective step 1/(2 L_m): w_k is the mean of SGD's iterates."""
    rng = np.random.default_rng(0)
    short, T = 0.3, 40
    alpha, beta, theta = with_step(np.arange(1.0, T + 1), 0.5 * short, short)
    gradients = rng.standard_normal((T, 3, 3)), rng.standard_normal((T, 3))
    w = before = z = total = np.array([1.0, -2.0, 0.5])
    for k in range(T):
        y = w + theta[k] * (w - before)
        np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-9)  # where the gradient is taken
        g = gradients[0][k] @ y * 0.1 + gradients[1][k]
        w, before = w + beta[k] * (w - before) - alpha[k] * g, w
        z = z - short * g
        total = total + z
        np.testing.assert_allclose(w, total / (k + 2), rtol=1e-9, atol=1e-9)


def test_the_memory_of_rule_two_grows_to_what_the_batch_allows():
    """After c steps the parameters are those of rule 2."""
    constants = {"L": 100.0, "mu": 1.0, "L_max": 300.0, "n": 1000, "b": 100}
    s = schedules.mass_averaged(200, **constants, kappa_tilde=9.0)
    rule = lookahead_rule(100.0, 1.0, 300.0, 9.0, theory.zeta2(1000, 100))
    assert (s.alpha[30], s.beta[30], s.theta[30]) == pytest.approx(rule)
