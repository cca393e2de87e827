"""The lemma behind Theorem 2 (docs/theory/accelerated.md): powers of the heavy-ball matrix."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st


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
