"""Theorem S: sharp on the diagonal problem, safe on any data, exact over the interval."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import theory
from mean_square import constants, mean_square_radius, random_rows

spectra = st.tuples(st.floats(1, 1e4), st.floats(1, 1e3), st.floats(0.05, 3.9), st.floats(0, 0.999))


@settings(max_examples=100, deadline=None)
@given(spectra, st.floats(0, 1))
def test_the_minimum_over_the_interval_is_exact(spectrum, where):
    kappa, R, a, beta = spectrum
    R = max(R, 1.001)  # at R = 1 the quotient is infinite at lam_max
    alpha = a / kappa
    low = math.sqrt(beta)
    r = low + (1 - low) * (0.01 + 0.99 * where)
    value = theory.certificate(alpha, beta, R * kappa, 1.0, kappa, r)
    lam = np.concatenate([np.geomspace(1, kappa, 2001), np.linspace(1, kappa, 2001)])
    lam = np.clip(lam, 1, kappa)
    t, b2 = (1 + beta - alpha * lam) / r, beta / r**2
    top = r**2 * (1 - b2) * ((1 + b2) ** 2 - t**2)
    bottom = (1 + b2) * alpha**2 * lam * (R * kappa - lam)
    inside = bottom > 0
    grid = (top[inside] / bottom[inside]).min() if inside.any() else math.inf
    noise = 1e-12 / alpha**2  # rounding of the plain formula above
    if value > 0:
        assert value == pytest.approx(grid, rel=1e-9, abs=noise)
    else:
        assert grid <= noise


@settings(max_examples=60, deadline=None)
@given(spectra, st.floats(0.01, 0.98), st.floats(0.01, 0.98))
def test_the_certificate_grows_with_the_rate(spectrum, x, y):
    kappa, R, a, beta = spectrum
    low = math.sqrt(beta)
    r1, r2 = sorted(low + (1 - low) * share for share in (x, y))
    one = theory.certificate(a / kappa, beta, R * kappa, 1.0, kappa, r1)
    two = theory.certificate(a / kappa, beta, R * kappa, 1.0, kappa, r2)
    # below 0 the value certifies nothing and its size has no meaning
    assert one <= 0 or one <= two * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(spectra, st.floats(0.0, 1.0))
def test_the_certified_rate_inverts_the_certificate(spectrum, share):
    kappa, R, a, beta = spectrum
    args = {"L_max": R * kappa, "mu": 1.0, "lam_max": kappa}
    limit = theory.certificate(a / kappa, beta, **args)
    if not 0 < limit < 1e12:
        assert limit > 0 or math.isinf(theory.certified_rate(a / kappa, beta, 0.01, **args))
        return
    z = share * limit
    r = theory.certified_rate(a / kappa, beta, z, **args)
    assert math.sqrt(beta) <= r <= 1
    if r > math.sqrt(beta):
        assert theory.certificate(a / kappa, beta, **args, rate=r) >= z * (1 - 1e-6) - 1e-9
    assert math.isinf(theory.certified_rate(a / kappa, beta, limit * 1.001, **args))


@settings(max_examples=40, deadline=None)
@given(st.floats(1, 1e4), st.floats(0.05, 3.5), st.floats(0, 0.99))
def test_at_full_batch_the_rate_is_the_spectral_radius(kappa, a, beta):
    rate = theory.certified_rate(a / kappa, beta, 0.0, L_max=kappa, mu=1.0, lam_max=kappa)
    radius = max(
        np.abs(np.linalg.eigvals([[1 + beta - a / kappa * lam, -beta], [1, 0]])).max()
        for lam in (1.0, kappa)
    )
    if radius < 1 - 1e-9:
        assert rate == pytest.approx(radius, abs=1e-7)
    elif radius > 1 + 1e-9:
        assert rate == math.inf


@settings(max_examples=60, deadline=None)
@given(st.integers(8, 10**6), st.floats(1, 1e6), st.floats(0.5, 3.9), st.floats(0, 0.999))
def test_equality_on_the_diagonal_problem(n, kappa, a, beta):
    """There row i has curvature n lam_i along coordinate i alone, so L_max = n lam_max, and the
    mean-square operator of a coordinate is 3x3. With alpha L_max >= 2(1+beta) the coordinate of
    largest curvature is the worst, and for it A_i^2 = L_max A_i."""
    limit = theory.certificate(a / kappa, beta, n * kappa, 1.0, kappa)
    if limit <= 1e-12:
        return
    radii = []
    for lam in (1.0, kappa):
        t = 1 + beta - a / kappa * lam
        spread = (a / kappa * lam) ** 2 * limit * (n - 1)  # Var of alpha n lam 1{i in B}
        operator = [
            [spread + t * t, 2 * t, 1.0],
            [-beta * t, -beta, 0.0],
            [beta**2, 0.0, 0.0],
        ]
        radii.append(np.abs(np.linalg.eigvals(operator)).max())
    assert max(radii) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("kappa", [1.0, 3.0, 100.0])
def test_the_paper_s_step_on_the_diagonal_problem_gives_the_exact_lower_bound(kappa):
    n = 1000
    beta = (1 - 0.5 / math.sqrt(kappa)) ** 2
    certified = theory.certified_batch_size(n, 1 / kappa, beta, n * kappa, 1.0, kappa)
    assert certified == pytest.approx(theory.lower_bound_threshold(n, kappa), rel=1e-12)


def test_theorem_S_part_ii():
    """a = 1: zeta0^2 < (1-beta)(1+2 beta)/((1+beta)(R-1)) when alpha L_max >= 2(1+beta)."""
    kappa, R = 50.0, 7.0
    beta = (1 - 0.5 / math.sqrt(kappa)) ** 2
    value = theory.certificate(1 / kappa, beta, R * kappa, 1.0, kappa)
    assert value == pytest.approx((1 - beta) * (1 + 2 * beta) / ((1 + beta) * (R - 1)), rel=1e-12)
    assert value == pytest.approx(1.5 / (R * math.sqrt(kappa)), rel=0.3)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(0.05, 1.9),
    st.floats(0, 0.95),
    st.sampled_from([0.0, 0.3]),
    st.floats(0, 1),
)
def test_the_certified_rate_bounds_the_true_radius_on_any_data(seed, a, beta, l2, share):
    X = random_rows(seed)
    c = constants(X, l2)
    alpha = a / c["lam_max"]
    limit = theory.certificate(alpha, beta, **c)
    if limit <= 0:
        return
    z = share * limit
    rate = theory.certified_rate(alpha, beta, z, **c)
    assert mean_square_radius(X, l2, alpha, beta, 0.0, z) <= rate**2 * (1 + 1e-7)


def test_the_stationary_bound_falls_with_root_a():
    kappa = 1e4

    def floor(a):
        alpha = a / kappa
        beta = (1 - 0.5 * math.sqrt(alpha)) ** 2
        return theory.bound_stationary(alpha, beta, 1e-9, 2 * kappa, 1.0, kappa, chi2=1.0).noise

    assert floor(1.0) / floor(1 / 16) == pytest.approx(4.0, rel=0.02)
    assert floor(1.0) == pytest.approx(0.5 * math.sqrt(1 / kappa) * 1e-9, rel=0.02)


def test_beyond_the_certificate_there_is_no_floor():
    bound = theory.bound_stationary(0.1, 0.7, 0.9, L_max=100.0, mu=1.0, lam_max=10.0, chi2=1.0)
    assert (bound.noise, bound.valid) == (math.inf, False)
    assert "is not below the certified" in bound.why
    unstable = theory.bound_stationary(0.5, 0.7, 0.0, L_max=100.0, mu=1.0, lam_max=10.0, chi2=1.0)
    assert not unstable.valid


def test_extremes():
    # one curvature and rows all alike: there is no noise, every batch is as good as n
    assert theory.certificate(0.5, 0.1, L_max=1.0, mu=1.0, lam_max=1.0) == math.inf
    assert theory.certified_batch_size(100, 0.5, 0.1, 1.0, 1.0, 1.0) == 0.0
    # a step that diverges even at full batch
    assert theory.certificate(5.0, 0.1, L_max=2.0, mu=1.0, lam_max=1.0) < 0
    assert theory.certified_batch_size(100, 5.0, 0.1, 2.0, 1.0, 1.0) == math.inf
    assert theory.certified_rate(5.0, 0.1, 0.0, 2.0, 1.0, 1.0) == math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.0}, "alpha is the step size"),
        ({"beta": 1.0}, "beta=1.0"),
        ({"L_max": 5.0}, r"L_max=5.0 must be >= lam_max=10.0"),
        ({"mu": 20.0}, "mu=20.0"),
        ({"rate": 0.5}, r"rate=0.5 .*never contracts faster than sqrt\(beta\)"),
        ({"rate": 1.1}, "rate=1.1"),
    ],
)
def test_bad_input_is_refused(change, message):
    args = {"alpha": 0.1, "beta": 0.7, "L_max": 100.0, "mu": 1.0, "lam_max": 10.0}
    with pytest.raises(ValueError, match=message):
        theory.certificate(**{**args, **change})
