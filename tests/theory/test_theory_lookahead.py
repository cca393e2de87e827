"""The three-parameter certificate: its parts against direct sums, its promise against the truth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bocce import theory
from bocce.schedules.accelerated import lookahead_rule
from mean_square import constants, mean_square_radius, random_rows

methods = st.tuples(
    st.floats(1.1, 1e3),  # kappa
    st.floats(0.05, 1.0),  # alpha lam_max
    st.floats(0, 0.95),  # beta
    st.floats(0, 1.5),  # theta/beta
    st.floats(1, 100),  # L_max/lam_max
    st.floats(1.5, 1e3),  # kappa~
)


def arguments(method):
    kappa, a, beta, look, R, tilde = method
    return {
        "alpha": a / kappa,
        "beta": beta,
        "theta": look * beta,
        "L_max": R * kappa,
        "kappa_tilde": tilde,
        "mu": 1.0,
        "lam_max": kappa,
    }


@settings(max_examples=40, deadline=None)
@given(st.floats(0.05, 1.9), st.floats(0, 0.9), st.floats(0, 1), st.floats(0.9, 1.0))
def test_the_gain_is_the_sum_of_squares_of_the_impulse_response(x, beta, theta, r):
    """A unit of noise in g_0 moves y_1 by -alpha (1+theta), and then the method runs on."""
    gain = theory.lookahead_gain(x, beta, theta, lam=1.0, rate=r)
    w_prev, w = 0.0, -x  # w_1 - w*, from w_0 = w*; both divided by r at every step
    total = 0.0
    for _ in range(4000):
        y = w + theta * (w - w_prev)
        total += y * y
        w_prev, w = w / r, (w + beta * (w - w_prev) - x * y) / r
        if total > 1e12:
            break
    if math.isinf(gain) or gain > 1e3:
        return
    assert gain == pytest.approx(total, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(methods, st.floats(0.001, 1))
def test_without_lookahead_and_kappa_tilde_it_is_theorem_S(method, share):
    a = {**arguments(method), "theta": 0.0, "kappa_tilde": None}
    low = math.sqrt(a["beta"])
    r = low + (1 - low) * share
    S = theory.certificate(a["alpha"], a["beta"], a["L_max"], a["mu"], a["lam_max"], r)
    three = theory.lookahead_certificate(**a, rate=r)
    if S <= 0:
        assert three == 0
    elif S < 1e10:
        assert three == pytest.approx(S, rel=1e-8)
        z = 0.5 * S
        rates = (
            theory.lookahead_rate(**a, zeta2=z),
            theory.certified_rate(a["alpha"], a["beta"], z, a["L_max"], a["mu"], a["lam_max"]),
        )
        assert rates[0] == pytest.approx(rates[1], abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(methods)
def test_phi_is_the_linear_program(method):
    a = arguments(method)
    phi = theory.lookahead_phi(**a)
    lam = np.geomspace(1.0, a["lam_max"], 801)
    gain = np.array(
        [theory.lookahead_gain(a["alpha"], a["beta"], a["theta"], float(x)) for x in lam]
    )
    if not np.isfinite(gain).all():
        assert math.isinf(phi)
        return
    scale = gain.max()
    solved = linprog(
        [a["L_max"], a["kappa_tilde"]],
        A_ub=-np.column_stack([np.ones_like(lam), 1 / lam]),
        b_ub=-gain / scale,
        bounds=[(0, None)] * 2,
    )
    assert phi == pytest.approx(scale * solved.fun, rel=1e-3)
    assert phi >= scale * solved.fun * (1 - 1e-6)  # the program sees a part of the interval only


@settings(max_examples=40, deadline=None)
@given(methods)
def test_the_certificate_is_never_weaker_than_phi_and_never_hurt_by_kappa_tilde(method):
    a = arguments(method)
    z = theory.lookahead_certificate(**a)
    assert z >= (1 - 1e-9) / theory.lookahead_phi(**a)
    assert z >= (1 - 1e-9) * theory.lookahead_certificate(**{**a, "kappa_tilde": None})


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(0.05, 1.5),
    st.floats(0, 0.95),
    st.floats(0, 1.2),
    st.sampled_from([0.0, 0.3]),
    st.floats(0, 1),
)
def test_the_rate_bounds_the_true_radius_on_any_data(seed, a, beta, look, l2, share):
    X = random_rows(seed)
    c = constants(X, l2)
    A = X.T @ X / len(X) + l2 * np.eye(2)
    tilde = float(np.einsum("ni,ni->n", X, X @ np.linalg.inv(A)).max())
    alpha, theta = a / c["lam_max"], look * beta
    limit = theory.lookahead_certificate(alpha, beta, theta, kappa_tilde=tilde, **c)
    z = share * min(limit, 1.0)
    rate = theory.lookahead_rate(alpha, beta, theta, z, kappa_tilde=tilde, **c)
    if math.isinf(rate):
        assert limit == 0 or share > 0.999
        return
    assert mean_square_radius(X, l2, alpha, beta, theta, z) <= rate**2 * (1 + 1e-7)


@pytest.mark.parametrize("b", [1, 10, 100, 999])
def test_it_certifies_mass_at_small_batches_where_heavy_ball_has_no_certificate(b):
    n, kappa, R, tilde = 1000, 100.0, 20.0, 40.0
    z = theory.zeta2(n, b)
    alpha, beta, theta = lookahead_rule(kappa, 1.0, R * kappa, tilde, z)
    rate = theory.lookahead_rate(alpha, beta, theta, z, R * kappa, tilde, 1.0, kappa)
    assert rate < 1
    accelerated = (1 - 0.5 / math.sqrt(kappa)) ** 2
    paper = theory.certified_rate(1 / kappa, accelerated, z, R * kappa, 1.0, kappa)
    assert math.isinf(paper) == (b < 999)


@pytest.mark.parametrize(
    ("alpha", "beta", "theta", "L_max", "tilde", "lam_max", "rate"),
    [
        (2.0e-4, 0.92, 0.10, 507.0, 4.8, 490.0, 1.0),
        (5.9e-4, 0.07, 0.07, 171.0, 2.6, 159.0, 1.0),
        (4.5e-3, 0.94, 0.15, 297.0, 5.4, 210.0, 1.0),
        (6.7e-3, 0.886, 0.183, 156.0, 7.0, 136.0, 0.971),
    ],
)
def test_a_binding_eigenvalue_inside_the_interval_is_found(
    alpha, beta, theta, L_max, tilde, lam_max, rate
):
    """Here the ends of the spectrum alone would certify too much, by a factor up to 7."""
    z = theory.lookahead_certificate(alpha, beta, theta, L_max, tilde, 1.0, lam_max, rate)
    lam = np.geomspace(1.0, lam_max, 2001)
    gain = np.array([theory.lookahead_gain(alpha, beta, theta, float(x), rate) for x in lam])

    def least(u):
        c1, c2 = (1 - u) / L_max, u / tilde
        return rate**2 * (c1 * lam + c2) / (gain * lam * (1 - c1 * lam))

    shares = np.linspace(0, 1, 2001)
    assert z == pytest.approx(max(least(u).min() for u in shares), rel=2e-3)
    assert z < 0.5 * max(min(least(u)[[0, -1]]) for u in shares)


def test_step_decay_keeps_the_certificate():
    a = arguments((100.0, 0.8, 0.8, 1.0, 10.0, 30.0))
    values = [
        theory.lookahead_certificate(**{**a, "alpha": a["alpha"] * f}) for f in (1, 0.5, 0.1, 0.01)
    ]
    assert values == sorted(values)
    assert values[0] > 0


def test_extremes():
    stable = (0.5, 0.0, 0.0, 1.0, None, 1.0, 1.0)
    assert theory.lookahead_certificate(*stable) == math.inf  # rows all alike
    assert theory.lookahead_phi(5.0, 0.0, 0.0, 1.0, None, 1.0, 1.0) == math.inf
    assert theory.lookahead_certificate(5.0, 0.0, 0.0, 1.0, None, 1.0, 1.0) == 0.0
    assert theory.lookahead_rate(5.0, 0.0, 0.0, 0.0, 1.0, None, 1.0, 1.0) == math.inf
    assert theory.lookahead_gain(5.0, 0.0, 0.0, 1.0) == math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"theta": -0.1}, "theta is the lookahead"),
        ({"kappa_tilde": 0.0}, r"largest x_i\^T A\^-1 x_i"),
        ({"L_max": 5.0}, "L_max=5.0 must be >= lam_max=10.0"),
        ({"rate": 0.0}, "rate=0.0"),
    ],
)
def test_bad_input_is_refused(change, message):
    args = {"alpha": 0.1, "beta": 0.5, "theta": 0.5, "L_max": 100.0, "kappa_tilde": 20.0}
    with pytest.raises(ValueError, match=message):
        theory.lookahead_certificate(**{**args, "mu": 1.0, "lam_max": 10.0, **change})
