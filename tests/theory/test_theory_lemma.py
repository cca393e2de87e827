"""The lemma behind Theorem 2 (docs/theory/accelerated.md): powers of the heavy-ball matrix."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import schedules


@settings(max_examples=100)
@given(st.floats(1.0, 1e6), st.floats(0.01, 1.0), st.floats(0.0, 1.0))
def test_powers_of_heavy_ball_are_bounded(kappa, a, where):
    """||H^k|| <= 2.6/s rho^k, s = sqrt(a/kappa), rho = 1 - s/2, on the whole spectrum."""
    s = math.sqrt(a / kappa)
    rho = 1 - s / 2
    x = s * s * (a / (s * s)) ** where  # alpha lam, from alpha mu to a
    H = np.array([[1 + rho**2 - x, -(rho**2)], [1.0, 0.0]]) / rho
    power = np.eye(2)
    for _ in range(40):
        power = power @ H
        assert np.linalg.norm(power, 2) <= 2.6 / s * (1 + 1e-9)


def test_the_constant_is_what_the_proof_says():
    s = np.linspace(0.0, 1.0, 10_001)
    quotient = 2 * (1 + (1 - s / 2) ** 2) / np.sqrt(3 - 1.5 * s - 9 / 16 * s**2)
    assert quotient.max() <= 2.6
    # the least imaginary part is at the slow end: compared with the other end, a = 1
    slow = 0.75 * s**2 * (4 - 2 * s - 0.75 * s**2)
    fast = ((2 - s / 2) ** 2 - 1) * (1 - s**2 / 4)
    assert (slow <= fast + 1e-12).all()


@settings(max_examples=200)
@given(st.floats(1.0, 1e6), st.floats(0.01, 1.0), st.floats(0.0, 1.0), st.integers(1, 400))
def test_the_printed_constant_covers_the_start_and_nearly_a_push(kappa, a, where, k):
    """||H^k (u, u)|| <= C_0 rho^k ||(u, u)||, and ||H^k (d, 0)|| <= sqrt(3/2) C_0 rho^k ||d||."""
    s = math.sqrt(a / kappa)
    rho = 1 - s / 2
    beta = rho**2
    h = [-(beta - (1 - math.sqrt(z)) ** 2) * (beta - (1 + math.sqrt(z)) ** 2) for z in (s * s, a)]
    C_0 = math.sqrt(2) * (1 + beta) / math.sqrt(min(h))
    x = s * s * (a / (s * s)) ** where
    power = np.linalg.matrix_power(np.array([[1 + beta - x, -beta], [1.0, 0.0]]) / rho, k)
    rounding = 1 + 1e-7
    assert np.linalg.norm(power @ np.ones(2)) <= C_0 * math.sqrt(2) * rounding
    assert np.linalg.norm(power[:, 0]) <= math.sqrt(1.5) * C_0 * rounding
    assert np.linalg.norm(power, 2) <= math.sqrt(2) * C_0 * rounding


@settings(max_examples=200)
@given(st.integers(2, 3000), st.floats(0.0, 0.99), st.floats(-1.0, 4.0))
def test_lemmas_a_and_b(T, share, log_kappa):
    """Both with tau where the paper has 2 tau."""
    tau = T**share
    gamma, ell, kappa = (tau / T) ** (1 / T), math.log(T / tau), 10.0**log_kappa
    powers = gamma ** np.arange(1.0, T + 1.0)
    assert powers.sum() >= (gamma * T - tau) / ell * (1 - 1e-9) - 1e-9
    later = np.concatenate([np.cumsum(powers[::-1])[::-1][1:], [0.0]])
    total = float((powers**2 * np.exp(-later / kappa)).sum())
    c_2 = math.exp(min(700.0, tau / (kappa * ell)))
    bound = 4 * kappa**2 * c_2 * (ell / (math.e * gamma)) ** 2 / T
    assert total <= bound * (1 + 1e-9)


def test_the_averaging_form_starts_before_the_first_gradient():
    """z_{-1} = w_0 gives the heavy-ball update; z_0 = w_0, as printed, loses the first gradient."""
    rng = np.random.default_rng(0)
    T, L, mu = 30, 4.0, 0.5
    A, noise = np.diag([0.5, 4.0]), rng.standard_normal((T, 2))
    table = schedules.shb_exponential(T, L, mu, form="average")
    gamma = T ** (-1 / T)
    eta = gamma ** np.arange(1, T + 2) / (4 * L)
    lam = (1 - gamma / 2) / (eta * mu) * (1 - (1 - eta * mu) ** np.arange(T + 1))

    def averaged(first):
        w, z = np.ones(2), np.ones(2)
        for k in range(T):
            if k >= first:
                z = z - eta[k] * (A @ w + noise[k])
            w = (lam[k + 1] * w + z) / (1 + lam[k + 1])
        return w

    w = before = np.ones(2)
    for k in range(T):
        g = A @ w + noise[k]
        w, before = w - table.alpha[k] * g + table.beta[k] * (w - before), w
    np.testing.assert_allclose(averaged(0), w, rtol=1e-10)
    assert np.linalg.norm(averaged(1) - w) > 1e-3
