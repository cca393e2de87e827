"""The bound of Multi-SHB-CNST against exact curves, and its constant against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.theory import bound_multistage_constant, certified_rate, zeta2
from bocce.theory.multistage import stage_constant


@pytest.mark.parametrize("kappa", [5.0, 60.0])
@pytest.mark.parametrize("design", ["haar", "gaussian", "heavy"])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_bound_is_above_the_exact_error(kappa, design, noise):
    X, y, _ = bocce.data.regression(600, 4, kappa, noise_var=noise, design=design)
    p = bocce.LeastSquares(X, y)
    c = p.constants()
    held = 0
    for stages in ("fit", "authors"):
        s = bocce.schedules.multistage(400, c.L, c.mu, stages=stages, momentum="constant")
        for b in (30, 200, 500, 590):
            bound = bound_multistage_constant(
                400, c.L, c.mu, p.n, b, c.L_max, D=float(np.linalg.norm(p.minimiser())),
                chi=math.sqrt(p.noise().chi2), stages=stages,
            )  # fmt: skip
            if bound.valid:
                truth = math.sqrt(bocce.exact.expected(p, s, b).error2[-1])
                assert bound.total >= truth * (1.0 - 1e-9) - 1e-14 * p.d
                held += 1
    assert held >= 2


def test_the_noise_is_within_a_factor_of_the_truth():
    X, y, _ = bocce.data.regression(2000, 5, 30.0, noise_var=0.1)
    p = bocce.LeastSquares(X, y)
    c, b, T = p.constants(), 1000, 3000
    s = bocce.schedules.multistage(T, c.L, c.mu, stages="fit", momentum="constant")
    assert (s.beta == 0.0).sum() >= 3
    bound = bound_multistage_constant(
        T, c.L, c.mu, p.n, b, c.L_max, chi=math.sqrt(p.noise().chi2), stages="fit"
    )
    truth = math.sqrt(bocce.exact.expected(p, s, b).error2[-1])
    assert truth <= bound.total <= 10.0 * truth


@given(
    kappa=st.floats(1.0, 1e4),
    R=st.floats(1.0, 100.0),
    share=st.floats(0.0, 0.99),
    step=st.floats(0.01, 1.0),
    slower=st.floats(0.01, 1.0),
)
@settings(deadline=None)
def test_the_constant_is_that_of_the_theorem(kappa, R, share, step, slower):
    """C^2 from the sums that define G and W, and it bounds the noise-free error from rest."""
    mu, lam_max, L_max = 1.0, kappa, R * kappa
    beta = (1.0 - 0.5 / math.sqrt(kappa)) ** 2
    alpha = step / kappa
    limit = bocce.theory.certificate(alpha, beta, L_max, mu, lam_max)
    fastest = certified_rate(alpha, beta, share * min(limit, 1e6), L_max, mu, lam_max)
    rate = fastest + slower * (1.0 - fastest)
    C = stage_constant(alpha, beta, mu, lam_max, rate)
    assert 1.0 <= C < math.inf
    for lam in np.geomspace(mu, lam_max, 7):
        e, old = 1.0, 1.0
        for k in range(200):
            assert abs(e) <= C * rate**k * (1.0 + 1e-9)
            e, old = (1.0 + beta - alpha * lam) * e - beta * old, e


def test_the_constant_by_summing():
    alpha, beta, lam, rate = 0.3, 0.4, 1.7, 0.95
    H = np.array([[1 + beta - alpha * lam, -beta], [1.0, 0.0]])
    G, top, power = 0.0, 0.0, np.eye(2)
    for k in range(400):
        G += rate ** (-2 * k - 2) * power[0, 0] ** 2
        top += rate ** (-2 * k - 2) * (power @ [1.0, 1.0])[0] ** 2
        power = H @ power
    C2 = rate**2 * G * (top / G)
    assert stage_constant(alpha, beta, lam, lam, rate) ** 2 == pytest.approx(C2, rel=1e-9)


def test_too_small_a_batch_says_why():
    bound = bound_multistage_constant(1000, 100.0, 1.0, 1000, 2, L_max=1000.0)
    assert not bound.valid
    assert math.isinf(bound.total)
    assert f"{zeta2(1000, 2):.6g}" in bound.why
